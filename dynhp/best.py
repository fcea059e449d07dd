"""The best epoch of a line: the rule that finds it, and the state after it while that is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dynhp.criteria import Criterion
from dynhp.criteria.contract import score
from dynhp.criteria.metric import chosen_criterion
from dynhp.errors import SettingsError
from dynhp.records import Metrics, Progress
from dynhp.records.metrics import fixed_metrics
from dynhp.trainer import State

__all__ = ["BestEpoch", "BestKeeper", "BestRule", "best_criterion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRule:
    """When an epoch is the best so far: its score is finite and better than ``bar``.

    Each epoch is judged by itself, as a series of one; ties keep the earlier epoch. Wherever a best
    state is kept, this rule decides. It goes to workers with a job, so what is in it must be
    picklable.

    >>> from dynhp import lowest
    >>> rule = BestRule(criterion=lowest("loss"), bar=-0.5)
    >>> rule.worth(3, {"loss": 0.4}), rule.worth(3, {"loss": 0.5})
    (-0.4, None)
    """

    criterion: Criterion
    planned: int | None = None  # the epochs of the main line
    bar: float = -math.inf  # the score of the best state that there is already

    def worth(self, epochs: int, metrics: Metrics, best: float | None = None) -> float | None:
        """Return the score of these metrics if they make this epoch the best so far, else None.

        ``epochs`` counts the epochs of the main line up to it; ``best`` is the score to beat in
        place of ``bar``.
        """
        value = score(self.criterion, [metrics], Progress(epochs, self.planned))
        to_beat = self.bar if best is None else best
        return value if math.isfinite(value) and value > to_beat else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # only a trainer may compare states
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
    state: State = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", fixed_metrics(self.metrics))


class BestKeeper:
    """Keeps the best epoch of a line under way, with its state: at most one state at a time.

    It belongs to the state of the line: the best epoch of a try is dropped with the try, and kept
    with the winner.

    >>> from dynhp import lowest
    >>> keeper = BestKeeper(BestRule(criterion=lowest("loss")))
    >>> keeper.judge(0, {"loss": 0.5}, lambda: "first"); keeper.judge(1, {"loss": 0.8}, lambda: "")
    >>> keeper.best, keeper.best.state
    (BestEpoch(epoch=0, metrics={'loss': 0.5}, score=-0.5), 'first')
    """

    def __init__(self, rule: BestRule, *, where: Sequence[str] = ()) -> None:
        self.best: BestEpoch | None = None
        self._rule = rule
        self._where = where  # epochs without these metrics are passed over

    def judge(self, epoch: int, metrics: Metrics, get_state: Callable[[], State] | None) -> None:
        """Keep this epoch, whose number counts from 0, if it is the best so far.

        Pass None as ``get_state`` if the caller keeps this epoch's state itself; an older best is
        then only dropped.
        """
        if any(name not in metrics for name in self._where):
            return
        best = None if self.best is None else self.best.score
        worth = self._rule.worth(epoch + 1, metrics, best)
        if worth is None:
            return
        self.best = None  # dropped first, so that one state less is held
        if get_state is not None:
            self.best = BestEpoch(epoch=epoch, metrics=metrics, score=worth, state=get_state())


def best_criterion(keep_best: bool | Criterion | None, criterion: Criterion) -> Criterion | None:
    """The criterion that the argument ``keep_best`` asks for, None if nothing is to be kept."""
    if keep_best is False or keep_best is None:
        return None
    from dynhp.criteria.combined import changes_with_progress  # few runs keep it

    if keep_best is True and changes_with_progress(criterion):
        raise SettingsError(
            f"keep_best=True compares all epochs by one criterion, but {criterion!r} changes "
            "during the run; give a fixed one, as in keep_best=lowest('val_loss')"
        )
    return criterion if keep_best is True else chosen_criterion(keep_best, None, None)
