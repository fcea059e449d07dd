"""The callbacks of ``xgboost.train``: schedules of the shrinkage, and what looks at the run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import xgboost as xgb
from xgboost.callback import (
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
)

from dynhp.errors import SettingsError, shown
from dynhp.records import Metrics
from dynhp.spaces import Space
from dynhp_xgboost.integration import SHRINKAGES

__all__ = ["Told", "require_apart", "sorted_out"]


class Sorted(NamedTuple):
    """Callbacks by what they do."""

    schedules: list[LearningRateScheduler]  # followed in tries too
    looking: list[TrainingCallback]


def sorted_out(
    callbacks: Any, *, verbose_eval: Any, early_stopping_rounds: Any, maximize: bool | None
) -> Sorted:
    """Which of the callbacks set the shrinkage, and which look on; with those asked for otherwise.

    >>> sorted_out([LearningRateScheduler([0.1])], verbose_eval=5, early_stopping_rounds=None,
    ...            maximize=None).looking
    [<xgboost.callback.EvaluationMonitor object at 0x...>]
    """
    given = [] if callbacks is None else callbacks
    every = list(given) if isinstance(given, Iterable) else [given]
    if every == [given] or not all(isinstance(each, TrainingCallback) for each in every):
        raise SettingsError(
            "callbacks must be a list of callbacks of XGBoost, such as "
            f"xgboost.callback.EarlyStopping(rounds=5), got {shown(callbacks)}; what looks at the "
            "run of dynhp is given as on_event"
        )
    if verbose_eval:
        every.append(EvaluationMonitor(period=1 if verbose_eval is True else verbose_eval))
    if early_stopping_rounds:
        every.append(EarlyStopping(rounds=early_stopping_rounds, maximize=maximize))
    every = list(dict.fromkeys(every))
    schedules = [each for each in every if type(each) is LearningRateScheduler]
    return Sorted(schedules, [each for each in every if each not in schedules])


def require_apart(space: Space, schedules: Sequence[LearningRateScheduler]) -> None:
    """Refuse schedules of a shrinkage that is adapted."""
    adapted = [name for name in space if name in SHRINKAGES]
    if schedules and adapted:
        raise SettingsError(
            f"LearningRateScheduler sets what is adapted, {adapted[0]}; take it out of the "
            "callbacks or out of the space"
        )


class Told:
    """Tells callbacks of the main line, round by round, as ``xgboost.train`` does.

    They see a copy of the booster as it was after their round, and can change nothing of it but its
    attributes: what they set would be missing in the tries.

    Args:
        callbacks: what is told.
        booster: gives the booster at any time.
        begin: another booster, as it is at the start.
        rounds: the planned rounds.
    """

    def __init__(
        self,
        callbacks: Sequence[TrainingCallback],
        booster: Callable[[], xgb.Booster],
        *,
        begin: xgb.Booster,
        rounds: int,
    ) -> None:
        self.log: dict[str, dict[str, list[float]]] = OrderedDict()
        self._callbacks = callbacks
        self._booster = booster
        self._seen = begin  # by those of XGBoost's own that look at its attributes alone
        self._begin = begin.num_boosted_rounds()
        self._rounds = rounds
        for callback in callbacks:
            self._look(callback, begin, callback.before_training, begin)
        if self._before(0):
            raise SettingsError(
                f"callbacks may end the run after any round, and one of {shown(list(callbacks))} "
                "does so before the first; leave it out"
            )

    def cannot_go_back(self) -> list[TrainingCallback]:
        """The callbacks that cannot forget a round: all but those that print."""
        return [each for each in self._callbacks if type(each) is not EvaluationMonitor]

    def __call__(self, epoch: int, metrics: Metrics) -> bool:
        """One more round of the main line; true if a callback ends the run there."""
        for name, value in metrics.items():
            data, dash, metric = name.partition("-")
            if dash:  # else it is of a wrapper of the trainer
                series = self.log.setdefault(data, OrderedDict()).setdefault(metric, [])
                series[epoch:] = [value]  # where the main line has gone back, so does the log
        ends = any(
            self._tell(callback, "after_iteration", epoch, epoch + 1)
            for callback in self._callbacks
        )
        return ends or (epoch + 1 < self._rounds and self._before(epoch + 1))

    def finish(self, booster: xgb.Booster) -> xgb.Booster:
        """The booster as callbacks leave it after the training."""
        booster.set_attr(**self._seen.attributes())
        for callback in self._callbacks:
            booster = callback.after_training(booster)
        return booster

    def _before(self, epoch: int) -> bool:
        return any(
            self._tell(callback, "before_iteration", epoch, epoch) for callback in self._callbacks
        )

    def _tell(self, callback: TrainingCallback, method: str, epoch: int, rounds: int) -> bool:
        if getattr(type(callback), method) is getattr(TrainingCallback, method):
            return False  # which does nothing
        own = type(callback) in (EarlyStopping, EvaluationMonitor)
        model = self._seen if own else self._after(rounds)
        ends = self._look(callback, model, getattr(callback, method), model, epoch, self.log)
        self._seen.set_attr(**model.attributes())
        return bool(ends)

    def _look(
        self, callback: TrainingCallback, model: xgb.Booster, look: Callable[..., Any], *given: Any
    ) -> Any:
        before = model.save_config()
        result = look(*given)
        if model.save_config() != before:
            raise SettingsError(
                "callbacks may look at the booster and change nothing, because tries are trained "
                f"without them; {shown(callback)} does. A shrinkage that follows the round is set "
                "by xgboost.callback.LearningRateScheduler(...), which tries follow too"
            )
        return result

    def _after(self, rounds: int) -> xgb.Booster:
        """A copy of the booster as it was after so many rounds."""
        booster, trees = self._booster(), self._begin + rounds
        copy = booster.copy() if booster.num_boosted_rounds() == trees else booster[:trees]
        copy.set_attr(**self._seen.attributes())
        return copy
