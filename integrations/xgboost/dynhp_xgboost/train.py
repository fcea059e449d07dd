"""Training as by ``xgboost.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from dynhp import History
from dynhp.loops import LoopOptions, with_options
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
    space: SpaceLike,
    adapt_every: int | None = None,
    try_for: float,
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
        space: the parameters to adapt, and their values, such as ``{"max_depth": [2, 4, 6]}``.
        adapt_every: after how many rounds of boosting values are tried again, or ``when=``.
        try_for: the rounds of boosting of a try.
        evals: validation data with names; metrics are called ``name-metric``, as XGBoost prints
            them: ``minimize="val-logloss"``.
        obj: an objective of your own.
        custom_metric: a metric of your own.
        options: all others as in ``dynhp.adapt``: ``minimize``, ``maximize`` or ``criterion``;
            ``proposer``, ``selection``, ``keep``, ``keep_best``, ``initial``, ``seed``,
            ``callbacks``, ``check``, ``tolerance``, ``dry_run``.

    >>> import numpy as np
    >>> X = np.arange(40.0).reshape(-1, 1); y = np.sin(X[:, 0])
    >>> train, val = xgb.DMatrix(X[::2], y[::2]), xgb.DMatrix(X[1::2], y[1::2])
    >>> booster, history = adapted_train(
    ...     {"max_depth": 2}, train, 6, space={"max_depth": [1, 2, 4]}, evals=[(val, "val")],
    ...     minimize="val-rmse", adapt_every=3, try_for=1)
    >>> booster.num_boosted_rounds(), len(history)
    (6, 2)
    """
    trainer = xgboost_trainer(
        params, data, space=space, evals=evals, obj=obj, custom_metric=custom_metric
    )
    history = adapt_trainer(
        trainer, rounds, space=space, adapt_every=adapt_every, try_for=try_for, **options
    )
    return trainer.booster, history
