"""What proposers keep of a long history, so that it is not gone through again in every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dynhp.records import Round

__all__ = ["Memory", "Replayed"]


class Memory(dict[str, Any]):
    """What can be worked out again at any time: copies and pickles of it are empty.

    >>> import copy
    >>> copy.deepcopy(Memory(lr=3))
    {}
    """

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()


class Replayed(NamedTuple):
    """What the first rounds of a history came to, on an axis that has its turn every so often."""

    axis: object
    turns: int
    history: Sequence[Round]
    rounds: int  # how many of its rounds there were
    last: Round | None  # of these
    result: float

    def goes_on(self, axis: object, turns: int, history: Sequence[Round]) -> bool:
        """Whether this is the same history with more rounds in it, and the axis has its turn."""
        # The very same list, which grows: an equal one would have to be compared whole.
        if self.history is not history or self.axis is not axis or self.turns != turns:
            return False
        more = len(history) - self.rounds
        if more < 0 or more % turns:
            return False
        # In tuples, because the same round is the same even where a metric of it is nan.
        return not self.rounds or (history[self.rounds - 1],) == (self.last,)
