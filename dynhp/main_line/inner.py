"""The best epoch inside of a try: its state is held, because the main line has it if that is kept.

What a try ends in is kept anyway. Its epochs before that have states too, and one of them may be
the best of the main line, from which ``start_from="best"`` begins the next round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dynhp.criteria.contract import Criterion, score
from dynhp.records import Metrics, Progress
from dynhp.trainer import State

__all__ = ["InnerBest", "InnerRule", "InnerState", "KeptAndInner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerState:
    """A state inside of a try: after how many epochs of the main line, its score, and itself.

    Its fields are on disk: never rename them.
    """

    epoch: int
    score: float
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRule:
    """Which state inside of a job is held: the best one, where it is better than ``bar``.

    Each epoch is judged by itself, as those of the main line are. With the job it goes to workers,
    so what is in it must be picklable there.

    >>> from dynhp import lowest
    >>> rule = InnerRule(criterion=lowest("loss"), start=4, planned=20, bar=-0.5)
    >>> rule.worth(1, {"loss": 0.4}), rule.worth(1, {"loss": 0.5})
    (-0.4, None)
    """

    criterion: Criterion
    start: int  # the epochs of the main line where the job begins
    planned: int | None
    bar: float  # the score of the best state that is held already

    def of_job(self, begun: int, epochs: int, best: InnerState | None) -> InnerRule | None:
        """The rule for so many epochs of a try more; None: there is nothing inside of them."""
        if epochs == 1:  # after which it ends
            return None
        return replace(self, start=self.start + begun, bar=self.bar if best is None else best.score)

    def worth(self, epochs: int, metrics: Metrics, best: InnerState | None = None) -> float | None:
        """The score after so many epochs; None where that is no better than what there is."""
        bar = self.bar if best is None else best.score
        worth = score(self.criterion, [metrics], Progress(self.start + epochs, self.planned))
        return worth if math.isfinite(worth) and worth > bar else None

    def state(self, epochs: int, worth: float, state: State) -> InnerState:
        """The state after so many epochs."""
        return InnerState(epoch=self.start + epochs, score=worth, state=state)


class InnerBest:
    """The best state inside of a job while that is carried out, at most one at a time.

    None is left where the job ends in a better one, which is kept anyway.
    """

    def __init__(self, rule: InnerRule, epochs: int, get_state: Callable[[], State]) -> None:
        self._rule, self._epochs, self._get_state = rule, epochs, get_state
        self.best: InnerState | None = None

    def look(self, epoch: int, metrics: Metrics) -> None:
        """Look at an epoch of the job, from 1; those of a tail are of no main line."""
        if epoch > self._epochs:
            return
        worth = self._rule.worth(epoch, metrics)
        if worth is None:
            return
        self._rule = replace(self._rule, bar=worth)
        self.best = None  # dropped first, so that one state less is held
        if epoch < self._epochs:
            self.best = self._rule.state(epoch, worth, self._get_state())

    def beside(self, kept: Callable[[], State]) -> Callable[[], State]:
        """What hands out the state that is kept of the job, and the best one beside it, if any."""
        best = self.best
        return kept if best is None else lambda: KeptAndInner(kept(), best)


@dataclass(frozen=True, slots=True)
class KeptAndInner:
    """What is kept of a job whose end is not its best epoch: that state, and the best inside of it.

    Its fields are on disk: never rename them.
    """

    state: State
    inner: InnerState
