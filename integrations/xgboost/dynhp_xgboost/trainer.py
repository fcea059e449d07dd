"""A booster of XGBoost as a trainer: an epoch is a round of boosting."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import xgboost as xgb

from dynhp import Space, Trainer
from dynhp.errors import SettingsError, advise, shown
from dynhp.spaces import SpaceLike
from dynhp_xgboost.boosters import (
    BoostingTask,
    DrawingBooster,
    Evals,
    GrownBooster,
    LoadedBooster,
    RetrainedBooster,
)
from dynhp_xgboost.callbacks import require_apart
from dynhp_xgboost.parameters import drawing, in_force, renamed, require_adaptable, require_params

__all__ = ["Model", "XGBoostTrainer", "xgboost_trainer"]


Model: TypeAlias = str | os.PathLike[str] | xgb.Booster | bytearray
"""A model to go on from, as for ``xgboost.train``."""


class XGBoostTrainer(Trainer, Protocol):
    """A trainer that has a booster, and a task; ``xgboost_trainer`` makes one.

    >>> from dynhp_xgboost.example import make
    >>> trainer: XGBoostTrainer = make()
    >>> trainer.train_k(2, {"max_depth": 1, "reg_lambda": 1.0}); len(trainer.booster.get_dump())
    2
    """

    task: BoostingTask

    @property
    def booster(self) -> xgb.Booster:
        """The booster as it is now."""
        ...


def xgboost_trainer(
    params: Mapping[str, Any],
    dtrain: xgb.DMatrix,
    *,
    space: SpaceLike,
    evals: Evals,
    obj: Callable[..., Any] | None = None,
    custom_metric: Callable[..., Any] | None = None,
    xgb_model: Model | None = None,
    schedules: Sequence[xgb.callback.LearningRateScheduler] = (),
) -> XGBoostTrainer:
    """A trainer for ``DynamicGridAdapter`` whose epoch is a round; ``.booster`` is the booster.

    Where the parameters draw random numbers (rows, columns, dropped trees), XGBoost keeps a
    generator that cannot be read or set. Then the way back to a state is trained again from the
    first round, which is exact and slow. With ``seed_per_iteration=True`` in ``params`` each round
    draws by its number instead, from a booster that is loaded anew: fast, with other draws than
    those of ``xgboost.train``.

    Args:
        params: as for ``xgboost.train``.
        dtrain: to train on.
        space: the parameters to adapt, and their values.
        evals: validation data with names; metrics are called ``name-metric``.
        obj: an objective of your own.
        custom_metric: a metric of your own.
        xgb_model: a model to go on from.
        schedules: of the shrinkage, followed in tries too.

    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(-1, 1); data = xgb.DMatrix(X, label=X[:, 0] > 9)
    >>> trainer = xgboost_trainer({"objective": "binary:logistic"}, data,
    ...                           space={"max_depth": [1, 2]}, evals=[(data, "val")])
    >>> trainer.train_k(3, {"max_depth": 1}); trainer.booster.num_boosted_rounds()
    3
    """
    space = space if isinstance(space, Space) else Space(space)
    given = renamed(require_params(params), space)
    _require_data(dtrain, evals)
    require_apart(space, schedules)
    begin, config = _begun(xgb_model, given)
    task = BoostingTask(
        params=given,
        data=dtrain,
        evals=[(data, name) for data, name in evals],
        names=tuple(space),
        obj=obj,
        custom_metric=custom_metric,
        begin=begin,
        config=config,
        schedules=tuple(schedules),
    )
    known = in_force(task.booster())
    require_adaptable(space, known, dtrain)
    drawn = drawing(space, known)
    if not drawn:
        return LoadedBooster(task)
    if known.get("seed_per_iteration"):
        return DrawingBooster(task)
    if begin and not _repeats(task):
        raise SettingsError(
            f"{', '.join(drawn)}: XGBoost does not repeat such a training from this xgb_model, but "
            "draws from wherever the generator of the process is; give seed_per_iteration=True in "
            "params or, from XGBoost 3.2 on, the model alone, xgb_model=booster.save_raw()"
        )
    advise(
        f"{', '.join(drawn)}: XGBoost draws from a generator that cannot be set back, so every "
        "way back to a round is trained again from the first one. That is exact, and costs about "
        "candidates × rounds² / (2 × adapt_every) rounds; with seed_per_iteration=True in params "
        "it costs nothing (the draws are then others than those of xgboost.train)"
    )
    return RetrainedBooster(task)


def _begun(xgb_model: Model | None, params: Mapping[str, Any]) -> tuple[bytes, str | None]:
    """The model to go on from, as it is now, and its configuration if it is one of this process."""
    if xgb_model is None:
        return b"", None
    if isinstance(xgb_model, xgb.Booster):
        begun = xgb.Booster(dict(params), [], xgb_model)
        return bytes(begun.save_raw("ubj")), begun.save_config()
    return bytes(xgb.Booster(model_file=xgb_model).save_raw("ubj")), None


def _repeats(task: BoostingTask) -> bool:
    """Whether boosters made alike draw alike: not all that go on from a model seed it."""
    models = []
    for _ in range(2):
        booster = GrownBooster(task)
        booster.train_k(3, {})
        models.append(booster.digest())
    return models[0] == models[1]


def _require_data(dtrain: object, evals: Any) -> None:
    if not isinstance(dtrain, xgb.DMatrix):
        raise SettingsError(f"dtrain must be a DMatrix, got {shown(dtrain)}; xgboost.DMatrix(X, y)")
    pairs = [] if isinstance(evals, xgb.DMatrix) or evals is None else list(evals)
    for pair in pairs or [None]:
        if not (isinstance(pair, tuple | list) and isinstance(pair[0], xgb.DMatrix)):
            raise SettingsError(
                "tries are judged on validation data, so evals must be a list of (data, name), "
                f"got {shown(evals)}; give evals=[(xgboost.DMatrix(X_val, y_val), 'val')], or "
                "eval_set=[(X_val, y_val)] to an estimator"
            )
    if all(each is dtrain for each, _ in pairs):
        advise(
            "evals: tries are judged by the data they are trained on, which rewards overfitting; "
            "hold some data out, as in evals=[(validation, 'val')]"
        )
