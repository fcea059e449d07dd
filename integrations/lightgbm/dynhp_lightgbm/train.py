"""Training as by ``lightgbm.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lightgbm as lgb

from dynhp import History
from dynhp.loops import LoopOptions, with_options
from dynhp.spaces import SpaceLike
from dynhp.wrappers import adapt_trainer
from dynhp_lightgbm.trainer import lightgbm_trainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["adapted_train"]


@with_options
def adapted_train(
    params: Mapping[str, Any],
    data: lgb.Dataset,
    rounds: int,
    *,
    space: SpaceLike,
    adapt_every: int | None = None,
    try_for: float,
    valid_sets: Sequence[lgb.Dataset],
    valid_names: Sequence[str] | None = None,
    feval: Callable[..., Any] | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[lgb.Booster, History]:
    """Train a booster like ``lightgbm.train``, and adapt parameters every few rounds of boosting.

    Gives an ordinary booster with all trees, and the history. The parameters in ``params`` are in
    force at the start.

    Args:
        params: as for ``lightgbm.train``.
        data: to train on.
        rounds: the rounds of boosting of the final model.
        space: the parameters to adapt, and their values, such as ``{"num_leaves": [7, 15, 31]}``.
        adapt_every: after how many rounds of boosting values are tried again, or ``when=``.
        try_for: the rounds of boosting of a try.
        valid_sets: validation data, made with ``reference=data``.
        valid_names: their names; metrics are called ``name-metric``:
            ``minimize="val-binary_logloss"``.
        feval: a metric of your own.
        options: all others as in ``dynhp.adapt``: ``minimize``, ``maximize`` or ``criterion``;
            ``proposer``, ``selection``, ``keep``, ``keep_best``, ``initial``, ``seed``,
            ``callbacks``, ``check``, ``tolerance``, ``dry_run``.

    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1); y = np.sin(X[:, 0] / 9)
    >>> train = lgb.Dataset(X[::2], y[::2])
    >>> val = lgb.Dataset(X[1::2], y[1::2], reference=train)
    >>> booster, history = adapted_train(
    ...     {"verbosity": -1, "num_leaves": 4}, train, 6, space={"num_leaves": [2, 4, 8]},
    ...     valid_sets=[val], minimize="valid_0-l2", adapt_every=3, try_for=1)
    >>> booster.num_trees(), len(history)
    (6, 2)
    """
    trainer = lightgbm_trainer(
        params,
        data,
        space=space,
        valid_sets=valid_sets,
        valid_names=valid_names,
        feval=feval,
        rounds=rounds,
    )
    history = adapt_trainer(
        trainer, rounds, space=space, adapt_every=adapt_every, try_for=try_for, **options
    )
    # As lightgbm.train hands it out: with its trees, without the training data.
    booster = trainer.booster
    booster.model_from_string(booster.model_to_string()).free_dataset()
    return booster, history
