"""Training as by ``xgboost.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from dynhp import History
from dynhp.adapter import Callback
from dynhp.loops import RunOptions, policy_and_others, with_options
from dynhp.spaces import SpaceLike
from dynhp.wrappers import adapt_trainer, require_onward
from dynhp_xgboost.boosters import Evals
from dynhp_xgboost.callbacks import Told, sorted_out
from dynhp_xgboost.trainer import Model, xgboost_trainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["adapted_train"]


@with_options
def adapted_train(
    params: Mapping[str, Any],
    dtrain: xgb.DMatrix,
    num_boost_round: int = 10,
    *,
    evals: Evals | None = None,
    obj: Callable[..., Any] | None = None,
    early_stopping_rounds: int | None = None,
    evals_result: dict[str, Any] | None = None,
    verbose_eval: bool | int | None = False,
    xgb_model: Model | None = None,
    callbacks: Sequence[xgb.callback.TrainingCallback] | None = None,
    custom_metric: Callable[..., Any] | None = None,
    space: SpaceLike | None = None,
    on_event: Callback | Sequence[Callback] = (),
    **options: Unpack[RunOptions],
) -> tuple[xgb.Booster, History]:
    """Train a booster like ``xgboost.train``, and adapt parameters every few rounds of boosting.

    It takes what ``xgboost.train`` takes, and gives what that gives, and the history. The
    parameters in ``params`` are in force at the start. Nothing is printed unless ``verbose_eval``
    says so.

    Args:
        params: as for ``xgboost.train``.
        dtrain: to train on.
        num_boost_round: the rounds of boosting of the final model.
        evals: validation data with names, by which tries are judged; metrics are called
            ``name-metric``, as XGBoost prints them: ``minimize="val-logloss"``.
        obj: an objective of your own.
        early_stopping_rounds: stop the run when as many rounds have brought nothing; with
            ``maximize=True`` or ``False``, as for ``xgboost.train``, where XGBoost cannot know.
        evals_result: a dictionary for what is measured on the main line.
        verbose_eval: whether, or how often, what is measured is printed.
        xgb_model: a model to go on from.
        callbacks: those of XGBoost. They see the main line alone, in order: the rounds of a try
            when it is kept. ``LearningRateScheduler`` is followed in tries too.
        custom_metric: a metric of your own.
        space: the parameters to adapt, and their values, such as ``{"max_depth": [2, 4, 6]}``,
            unless the policy has them.
        on_event: functions of an event of the run, as ``callbacks`` of ``dynhp.adapt``.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, such as ``adapt_every`` and
            ``try_for`` in rounds of boosting; ``keep_best``, ``progress``.

    >>> import numpy as np
    >>> X = np.arange(40.0).reshape(-1, 1); y = np.sin(X[:, 0])
    >>> train, val = xgb.DMatrix(X[::2], y[::2]), xgb.DMatrix(X[1::2], y[1::2])
    >>> booster, history = adapted_train(
    ...     {"max_depth": 2}, train, 6, evals=[(val, "val")], space={"max_depth": [1, 2, 4]},
    ...     minimize="val-rmse", adapt_every=3, try_for=1)
    >>> booster.num_boosted_rounds(), len(history)
    (6, 2)
    """
    given: dict[str, Any] = {**options, "callbacks": on_event}
    # A name that XGBoost has too: whether a metric is better when it is higher.
    higher = given.pop("maximize") if isinstance(given.get("maximize"), bool) else None
    policy, others = policy_and_others(space, given, caller="adapted_train")
    told_of = sorted_out(
        callbacks,
        verbose_eval=verbose_eval,
        early_stopping_rounds=early_stopping_rounds,
        maximize=higher,
    )
    trainer = xgboost_trainer(
        params,
        dtrain,
        space=policy.space,
        evals=evals,  # type: ignore[arg-type]  # refused there, if it is None
        obj=obj,
        custom_metric=custom_metric,
        xgb_model=xgb_model,
        schedules=told_of.schedules,
    )
    begin = trainer.task.booster()
    told = Told(told_of.looking, lambda: trainer.booster, begin=begin, rounds=num_boost_round)
    require_onward(policy, told.cannot_go_back())
    look = told if told_of.looking or evals_result is not None else None
    history = adapt_trainer(trainer, num_boost_round, policy=policy, look=look, **others)
    booster = told.finish(trainer.booster)
    if evals_result is not None:
        evals_result.update(told.log)
    return booster, history
