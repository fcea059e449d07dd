"""Training as by ``xgboost.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from dynhp import History
from dynhp.loops import LoopOptions, policy_and_others, with_options
from dynhp.spaces import SpaceLike
from dynhp.wrappers import adapt_trainer
from dynhp_xgboost.boosters import Evals
from dynhp_xgboost.trainer import xgboost_trainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["adapted_train"]


@with_options
def adapted_train(
    params: Mapping[str, Any],
    data: xgb.DMatrix,
    rounds: int,
    *,
    space: SpaceLike | None = None,
    evals: Evals,
    obj: Callable[..., Any] | None = None,
    custom_metric: Callable[..., Any] | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[xgb.Booster, History]:
    """Train a booster like ``xgboost.train``, and adapt parameters every few rounds of boosting.

    Gives an ordinary booster with all trees, and the history. The parameters in ``params`` are in
    force at the start.

    Args:
        params: as for ``xgboost.train``.
        data: to train on.
        rounds: the rounds of boosting of the final model.
        space: the parameters to adapt, and their values, such as ``{"max_depth": [2, 4, 6]}``,
            unless the policy has them.
        evals: validation data with names; metrics are called ``name-metric``, as XGBoost prints
            them: ``minimize="val-logloss"``.
        obj: an objective of your own.
        custom_metric: a metric of your own.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, such as ``adapt_every`` and
            ``try_for`` in rounds of boosting; ``keep_best``, ``callbacks``, ``progress``.

    >>> import numpy as np
    >>> X = np.arange(40.0).reshape(-1, 1); y = np.sin(X[:, 0])
    >>> train, val = xgb.DMatrix(X[::2], y[::2]), xgb.DMatrix(X[1::2], y[1::2])
    >>> booster, history = adapted_train(
    ...     {"max_depth": 2}, train, 6, space={"max_depth": [1, 2, 4]}, evals=[(val, "val")],
    ...     minimize="val-rmse", adapt_every=3, try_for=1)
    >>> booster.num_boosted_rounds(), len(history)
    (6, 2)
    """
    policy, others = policy_and_others(space, options, caller="adapted_train")
    trainer = xgboost_trainer(
        params, data, space=policy.space, evals=evals, obj=obj, custom_metric=custom_metric
    )
    history = adapt_trainer(trainer, rounds, policy=policy, **others)
    return trainer.booster, history
