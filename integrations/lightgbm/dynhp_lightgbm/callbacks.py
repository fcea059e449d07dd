"""The callbacks of ``lightgbm.train``: schedules, and what looks at the main line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn

import lightgbm as lgb

from dynhp.errors import SettingsError, shown
from dynhp.records import Metrics
from dynhp.spaces import Space
from dynhp_lightgbm.boosters import BoosterModel
from dynhp_lightgbm.parameters import chosen_value

__all__ = ["Told", "require_apart", "sorted_out"]

_SCHEDULE = type(lgb.reset_parameter())
_RECORD = type(lgb.record_evaluation({}))
_RESULT: Any = getattr(lgb.basic, "EvalResult", lambda *values: values)  # a tuple before 4.7


class Sorted(NamedTuple):
    """Callbacks by what they do."""

    schedules: list[Callable[..., None]]  # these set parameters, also in tries
    before: list[Callable[..., None]]  # in the order in which LightGBM calls them
    after: list[Callable[..., None]]


def sorted_out(callbacks: Any, params: dict[str, Any]) -> Sorted:
    """Which of the callbacks set parameters, and which look on; with what ``params`` ask for.

    Args:
        callbacks: as for ``lightgbm.train``.
        params: as for ``lightgbm.train``; ``early_stopping_round`` asks for a callback.

    >>> sorted_out([lgb.reset_parameter(learning_rate=[0.1]), lgb.log_evaluation()], {}).before
    []
    """
    listed = [] if callbacks is None else callbacks
    if not isinstance(listed, Iterable) or not all(map(_is_callback, each := list(listed))):
        raise SettingsError(
            "callbacks must be a list of callbacks of LightGBM, such as lightgbm.early_stopping(5),"
            f" got {shown(callbacks)}; what looks at the run of dynhp is given as on_event"
        )
    placed = [(getattr(one, "order", n - len(each)), one) for n, one in enumerate(each)]
    if rounds := chosen_value(params, "early_stopping_round", 0):
        stopping = lgb.early_stopping(
            rounds,
            first_metric_only=params.get("first_metric_only", False),
            verbose=chosen_value(params, "verbosity", 1) > 0,
            min_delta=params.get("early_stopping_min_delta", 0.0),
        )
        placed.append((stopping.order, stopping))
    ordered = [one for _, one in sorted(placed, key=itemgetter(0))]
    looking = [one for one in ordered if type(one) is not _SCHEDULE]
    return Sorted(
        schedules=[one for one in ordered if type(one) is _SCHEDULE],
        before=[one for one in looking if getattr(one, "before_iteration", False)],
        after=[one for one in looking if not getattr(one, "before_iteration", False)],
    )


def _is_callback(callback: Any) -> bool:
    return callable(callback) and not type(callback).__module__.startswith("dynhp")


def require_apart(space: Space, schedules: Sequence[Any]) -> None:
    """Refuse schedules of parameters that are adapted."""
    for schedule in schedules:
        for name in schedule.kwargs:
            same = [each for each in space if name in lgb.basic._ConfigAliases.get(each)]
            if same:
                raise SettingsError(
                    f"lightgbm.reset_parameter({name}=...) sets what is adapted, {same[0]}; take "
                    "it out of the callbacks or out of the space"
                )


class Told:
    """Tells callbacks of the main line, round by round, as ``lightgbm.train`` does.

    LightGBM's own see the booster. Others see a copy of the booster as it was after their round,
    and can change nothing: what they set would be missing in the tries.

    Args:
        sorted_out: what is told.
        model: gives the model at any time.
    """

    def __init__(self, sorted_out: Sorted, model: Callable[[], BoosterModel]) -> None:
        self._before, self._after = sorted_out.before, sorted_out.after
        self._model = model
        self._task = model().task
        self._params = dict(self._task.params)
        self._next = 0
        self.best_iteration = 0
        self.best_score: Any = None  # what was measured then, once a callback has stopped the run
        self._tell(self._before, 0, None)

    def __bool__(self) -> bool:
        """Whether anything is to be told."""
        return bool(self._before or self._after)

    def cannot_go_back(self) -> list[Callable[..., None]]:
        """The callbacks that cannot forget a round: all but records."""
        return [each for each in (*self._before, *self._after) if type(each) is not _RECORD]

    def __call__(self, epoch: int, metrics: Metrics) -> bool:
        """One more round of the main line; true if a callback ends the run there."""
        if epoch < self._next:
            self._forget(epoch)
        self._next = epoch + 1
        results = [
            _RESULT(result[0], result[1], metrics[f"{result[0]}-{result[1]}"], result[3])
            for result in self._kinds
        ]
        try:
            self._tell(self._after, epoch, results)
        except lgb.callback.EarlyStopException as stopped:
            self.best_iteration = stopped.best_iteration + 1
            self.best_score = stopped.best_score
            return True
        if epoch + 1 < self._task.rounds:
            self._tell(self._before, epoch + 1, None)
        return False

    def _forget(self, epoch: int) -> None:
        """The main line has gone back: what records have of this round and later ones is undone."""
        records: list[Any] = [each for each in self._after if type(each) is _RECORD]
        for record in records:
            for measured in record.eval_result.values():
                for series in measured.values():
                    del series[epoch:]

    @cached_property
    def _kinds(self) -> list[Any]:
        """What is measured: names, and whether higher is better."""
        return self._model().results()

    def _tell(self, callbacks: list[Callable[..., None]], epoch: int, results: Any) -> None:
        begin = self._task.begin
        ended = epoch + (results is not None)
        given = {
            "params": self._params,
            "iteration": begin + epoch,
            "begin_iteration": begin,
            "end_iteration": begin + self._task.rounds,
            "evaluation_result_list": results,
        }
        for callback in callbacks:
            if type(callback).__module__.startswith("lightgbm."):
                callback(lgb.callback.CallbackEnv(model=self._model().booster, **given))
            else:
                callback(_Env(self._model, ended, callback, given))


class _Env:
    """What a callback of the user's own sees: as LightGBM's, with a copy of the booster."""

    def __init__(
        self,
        model: Callable[[], BoosterModel],
        ended: int,
        callback: Callable[..., None],
        given: dict[str, Any],
    ) -> None:
        self._model = model
        self._ended = ended
        self._callback = callback
        vars(self).update(given)

    @cached_property
    def model(self) -> lgb.Booster:
        """The booster after as many rounds."""
        text = self._model().text_after(self._ended)
        return _Copy(text, self._callback)


class _Copy(lgb.Booster):
    """A booster that is only looked at; LightGBM itself would crash where this one refuses."""

    def __init__(self, text: str, callback: Callable[..., None]) -> None:
        super().__init__(model_str=text)
        self._callback = callback

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SettingsError(
            "callbacks may look at the booster and change or measure nothing, because tries are "
            f"trained without them; {shown(self._callback)} does. Parameters that follow the round "
            "are set by lightgbm.reset_parameter(...), which tries follow too; what was measured "
            "is in env.evaluation_result_list"
        )

    reset_parameter = update = rollback_one_iter = _refuse
    eval = eval_train = eval_valid = add_valid = set_leaf_output = shuffle_models = _refuse
