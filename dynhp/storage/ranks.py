"""Which checkpoint the ranks of one run, each with a folder of its own, go on from together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from dynhp.errors import CheckpointError

__all__ = ["Agrees", "newest_of_all"]


@runtime_checkable
class Agrees(Protocol):
    """Optional: a trainer that runs on several ranks and can exchange values with the others.

    A kill reaches ranks at different moments, so that one may have saved what another has not;
    ``agree`` lets them go on from what all of them have. ``dynhp_torch.Distributed`` has it.
    """

    def agree(self, said: Any) -> list[Any]:
        """What every rank passes here, in the order of the ranks."""
        ...


def newest_of_all(ranks: Sequence[Sequence[int]], folder: str) -> int | None:
    """The newest checkpoint that every rank holds; None where the run has not begun on one.

    >>> newest_of_all([[4, 3], [3, 2]], "saved")
    3
    """
    common = set.intersection(*map(set, ranks))
    if common:
        return max(common)
    # Ranks are one checkpoint apart at most: where one has none, the others have the very first.
    if all(max(held, default=0) == 0 for held in ranks):
        return None
    by_rank = ", ".join(f"rank {rank}: {list(held)}" for rank, held in enumerate(ranks))
    raise CheckpointError(
        f"all ranks must hold a checkpoint of the same round, got by rank the rounds {by_rank}; "
        f"{folder!r} is this rank's folder. Save with keep=2 or more, put back the folder that is "
        "missing, or choose new folders for all ranks"
    )
