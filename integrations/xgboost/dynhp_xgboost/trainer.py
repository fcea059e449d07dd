"""A booster of XGBoost as a trainer: an epoch is a round of boosting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import xgboost as xgb

from dynhp import Space, Trainer
from dynhp.errors import SettingsError, advise, shown
from dynhp.spaces import SpaceLike
from dynhp_xgboost.boosters import (
    BoostingTask,
    DrawingBooster,
    Evals,
    LoadedBooster,
    RetrainedBooster,
)
from dynhp_xgboost.parameters import drawing, in_force, renamed, require_adaptable, require_params

__all__ = ["XGBoostTrainer", "xgboost_trainer"]


class XGBoostTrainer(Trainer, Protocol):
    """A trainer that has a booster; ``xgboost_trainer`` makes one.

    >>> from dynhp_xgboost.example import make
    >>> trainer: XGBoostTrainer = make()
    >>> trainer.train_k(2, {"max_depth": 1, "reg_lambda": 1.0}); len(trainer.booster.get_dump())
    2
    """

    @property
    def booster(self) -> xgb.Booster:
        """The booster as it is now."""
        ...


def xgboost_trainer(
    params: Mapping[str, Any],
    data: xgb.DMatrix,
    *,
    space: SpaceLike,
    evals: Evals,
    obj: Callable[..., Any] | None = None,
    custom_metric: Callable[..., Any] | None = None,
) -> XGBoostTrainer:
    """A trainer for ``DynamicGridAdapter`` whose epoch is a round; ``.booster`` is the booster.

    Where the parameters draw random numbers (rows, columns, dropped trees), XGBoost keeps a
    generator that cannot be read or set. Then the way back to a state is trained again from the
    first round, which is exact and slow. With ``seed_per_iteration=True`` in ``params`` each round
    draws by its number instead, from a booster that is loaded anew: fast, with other draws than
    those of ``xgboost.train``.

    Args:
        params: as for ``xgboost.train``.
        data: to train on.
        space: the parameters to adapt, and their values.
        evals: validation data with names; metrics are called ``name-metric``.
        obj: an objective of your own.
        custom_metric: a metric of your own.

    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(-1, 1); data = xgb.DMatrix(X, label=X[:, 0] > 9)
    >>> trainer = xgboost_trainer({"objective": "binary:logistic"}, data,
    ...                           space={"max_depth": [1, 2]}, evals=[(data, "val")])
    >>> trainer.train_k(3, {"max_depth": 1}); trainer.booster.num_boosted_rounds()
    3
    """
    space = space if isinstance(space, Space) else Space(space)
    given = renamed(require_params(params), space)
    _require_data(data, evals)
    task = BoostingTask(
        params=given,
        data=data,
        evals=tuple(evals),
        names=tuple(space),
        obj=obj,
        custom_metric=custom_metric,
    )
    known = in_force(task.booster())
    require_adaptable(space, known, data)
    drawn = drawing(space, known)
    if not drawn:
        return LoadedBooster(task)
    if known.get("seed_per_iteration"):
        return DrawingBooster(task)
    advise(
        f"{', '.join(drawn)}: XGBoost draws from a generator that cannot be set back, so every "
        "way back to a round is trained again from the first one. That is exact, and costs about "
        "candidates × rounds² / (2 × adapt_every) rounds; with seed_per_iteration=True in params "
        "it costs nothing (the draws are then others than those of xgboost.train)"
    )
    return RetrainedBooster(task)


def _require_data(data: object, evals: Any) -> None:
    if not isinstance(data, xgb.DMatrix):
        raise SettingsError(f"data must be a DMatrix, got {shown(data)}; xgboost.DMatrix(X, y)")
    pairs = [] if isinstance(evals, xgb.DMatrix) or evals is None else list(evals)
    for pair in pairs or [None]:
        if not (isinstance(pair, tuple | list) and isinstance(pair[0], xgb.DMatrix)):
            raise SettingsError(
                "tries are judged on validation data, so evals must be a list of (data, name), "
                f"got {shown(evals)}; give evals=[(xgboost.DMatrix(X_val, y_val), 'val')]"
            )
    if all(each is data for each, _ in pairs):
        advise(
            "evals: tries are judged by the data they are trained on, which rewards overfitting; "
            "hold some data out, as in evals=[(validation, 'val')]"
        )
