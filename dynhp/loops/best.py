"""The best epoch of a loop's main line: remembered together with the state after it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from dynhp.criteria import Criterion
from dynhp.criteria.combined import changes_with_progress
from dynhp.criteria.contract import better_score
from dynhp.criteria.metric import chosen_criterion
from dynhp.errors import SettingsError
from dynhp.executors.attempt import move_to
from dynhp.loops.parts import Part, Parts
from dynhp.records import Metrics, Progress
from dynhp.trainer import State


@dataclass(frozen=True, slots=True, kw_only=True)
class BestEpoch:
    """The best epoch of the main line so far; ``Loop.best`` gives it.

    Attributes:
        epoch: its number, from 0.
        metrics: what was measured after it.
        score: what the criterion made of these metrics, as a series of one.
        state: the state after it.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> loop = adapt(3, state=[model], space={"lr": [0.5, 2.5]}, minimize="loss",
    ...              adapt_every=3, try_for=1, keep_best=True)
    >>> for epoch in loop:
    ...     model.train_k(1, {"lr": 2.5} if epoch == 2 else epoch.values)
    ...     epoch.report(loss=model.metrics()["loss"])
    >>> loop.best
    BestEpoch(epoch=1, metrics={'loss': 0.03125}, score=-0.03125)
    >>> loop.restore_best(); model.metrics()
    {'loss': 0.03125}
    """

    epoch: int
    metrics: Metrics
    score: float
    state: State = field(repr=False, compare=False)


class BestKeeper:
    """Remembers the best epoch of the line under way, as a part of that line's state.

    So the best epoch of a try is dropped with the try, and kept with the winner.

    >>> from dynhp import lowest
    >>> weights = [1.0]
    >>> part = Part(get=lambda: weights[0], set=lambda state: weights.__setitem__(0, state))
    >>> keeper = BestKeeper(lowest("loss"), Parts([part]), planned=9)
    >>> keeper.judge(0, {"loss": 0.5}); weights[0] = 7.0; keeper.judge(1, {"loss": 0.8})
    >>> keeper.best, keeper.best.state
    (BestEpoch(epoch=0, metrics={'loss': 0.5}, score=-0.5), (1.0,))
    """

    def __init__(self, criterion: Criterion, parts: Parts, *, planned: int) -> None:
        self.best: BestEpoch | None = None
        self._criterion = criterion
        self._parts = parts
        self._planned = planned

    def part(self) -> Part:
        """The memory as a part of the state."""
        return Part(
            get=lambda: self.best, set=partial(setattr, self, "best"), name="the best epoch"
        )

    def judge(self, epoch: int, metrics: Metrics) -> None:
        """Save the current state if this epoch is the best so far."""
        progress = Progress(epoch + 1, self._planned)
        than = -math.inf if self.best is None else self.best.score
        worth = better_score(self._criterion, metrics, progress, than=than)
        if worth is not None:
            self.best = None  # dropped first, so that one state less is held
            state = self._parts.get_state()
            self.best = BestEpoch(epoch=epoch, metrics=metrics, score=worth, state=state)

    def restore(self) -> None:
        """Put everything back to the state after the best epoch, if there is one."""
        if self.best is not None:
            move_to(self._parts, self.best.state)


def best_criterion(keep_best: bool | Criterion | None, criterion: Criterion) -> Criterion | None:
    """The criterion that the argument ``keep_best`` asks for, None if nothing is to be kept."""
    if keep_best is False or keep_best is None:
        return None
    if keep_best is True and changes_with_progress(criterion):
        raise SettingsError(
            f"keep_best=True compares all epochs by one criterion, but {criterion!r} changes "
            "during the run; give a fixed one, as in keep_best=lowest('val_loss')"
        )
    return criterion if keep_best is True else chosen_criterion(keep_best, None, None)
