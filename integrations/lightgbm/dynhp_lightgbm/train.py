"""Training as by ``lightgbm.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lightgbm as lgb

from dynhp import History
from dynhp.loops import LoopOptions, policy_and_others, with_options
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
    space: SpaceLike | None = None,
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
        space: the parameters to adapt, and their values, such as ``{"num_leaves": [7, 15, 31]}``,
            unless the policy has them.
        valid_sets: validation data, made with ``reference=data``.
        valid_names: their names; metrics are called ``name-metric``:
            ``minimize="val-binary_logloss"``.
        feval: a metric of your own.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, such as ``adapt_every`` and
            ``try_for`` in rounds of boosting; ``keep_best``, ``callbacks``, ``progress``.

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
    policy, others = policy_and_others(space, options, caller="adapted_train")
    trainer = lightgbm_trainer(
        params,
        data,
        space=policy.space,
        valid_sets=valid_sets,
        valid_names=valid_names,
        feval=feval,
        rounds=rounds,
    )
    history = adapt_trainer(trainer, rounds, policy=policy, **others)
    # As lightgbm.train hands it out: with its trees, without the training data.
    booster = trainer.booster
    booster.model_from_string(booster.model_to_string()).free_dataset()
    return booster, history
