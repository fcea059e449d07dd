"""What a round does with tails and corrections, settled when it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp.tails.contract import Correction, Tail, corrected, tail_values
from dynhp.tails.lengths import HasLengths, require_one_stage, restarts, tail_epochs

__all__ = ["NO_TAIL", "TailRules", "tail_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TailRules:
    """The tail of each try, whether a try's state is kept, and what becomes of the winner's value.

    >>> NO_TAIL.keeps, NO_TAIL.of_job(Candidate({"lr": 0.1}), checked=True)
    (True, {})
    """

    tail: Tail | None = None
    epochs: int = 0
    keeps: bool = True  # whether the main line goes on from a try, not from the origin
    then: Correction | None = None
    space: Space | None = None

    def of_job(self, candidate: Candidate, *, checked: bool) -> dict[str, Any]:
        """What a job of this candidate has besides, where there is a tail."""
        if self.tail is None:
            return {}
        values = tail_values(self.tail, candidate, self.epochs)
        return {"tail": values, "keeps": self.keeps, "compared": self.keeps and checked}

    def corrected(self, winner: Candidate | None) -> Candidate | None:
        """What the winner's values become; None where they stay, or where there is no winner."""
        if winner is None or self.space is None:
            return None
        return corrected(self.then, winner, self.space)

    def require_stages(self, stages: Sequence[object]) -> None:
        """Refuse tries with a tail that are judged before it."""
        if self.tail is not None:
            require_one_stage(stages)


NO_TAIL = TailRules()


def tail_rules(adapter: HasLengths, space: Space) -> TailRules:
    """The rules of a round with tries that begins now."""
    return TailRules(
        tail=adapter.tail,
        epochs=tail_epochs(adapter),
        keeps=adapter.tail is None or not restarts(adapter),
        then=None if adapter.dry_run else adapter.then,
        space=space,
    )
