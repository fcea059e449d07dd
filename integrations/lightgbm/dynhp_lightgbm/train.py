"""Training as by ``lightgbm.train``, with parameters that are adapted on the way."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightgbm as lgb

from dynhp import History
from dynhp.adapter import Callback
from dynhp.errors import SettingsError, shown
from dynhp.loops import RunOptions, policy_and_others, with_options
from dynhp.spaces import SpaceLike
from dynhp.wrappers import adapt_trainer, require_onward
from dynhp_lightgbm.boosters import BoosterModel
from dynhp_lightgbm.callbacks import Told, sorted_out
from dynhp_lightgbm.parameters import require_params
from dynhp_lightgbm.trainer import lightgbm_trainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["adapted_train"]


@with_options
def adapted_train(
    params: Mapping[str, Any],
    train_set: lgb.Dataset,
    num_boost_round: int = 100,
    valid_sets: lgb.Dataset | Sequence[lgb.Dataset] | None = None,
    valid_names: str | Sequence[str] | None = None,
    feval: Any = None,
    init_model: str | Path | lgb.Booster | None = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    *,
    space: SpaceLike | None = None,
    on_event: Callback | Sequence[Callback] = (),
    **options: Unpack[RunOptions],
) -> tuple[lgb.Booster, History]:
    """Train a booster like ``lightgbm.train``, and adapt parameters every few rounds of boosting.

    It takes what ``lightgbm.train`` takes, and gives what that gives, and the history. The
    parameters in ``params`` are in force at the start.

    Args:
        params: as for ``lightgbm.train``, objectives of your own and early stopping included.
        train_set: to train on.
        num_boost_round: the rounds of boosting of the final model.
        valid_sets: validation data, made with ``reference=train_set``, by which tries are judged.
        valid_names: their names; metrics are called ``name-metric``:
            ``minimize="val-binary_logloss"``.
        feval: a metric of your own, or a list of them.
        init_model: a model to go on from.
        keep_training_booster: whether the booster that is returned can be trained further.
        callbacks: those of LightGBM. They see the main line alone, in order: the rounds of a try
            when it is kept. ``reset_parameter`` is followed in tries too.
        space: the parameters to adapt, and their values, such as ``{"num_leaves": [7, 15, 31]}``,
            unless the policy has them.
        on_event: functions of an event of the run, as ``callbacks`` of ``dynhp.adapt``.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, such as ``adapt_every`` and
            ``try_for`` in rounds of boosting; ``keep_best``, ``progress``.

    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1); y = np.sin(X[:, 0] / 9)
    >>> train = lgb.Dataset(X[::2], y[::2])
    >>> val = lgb.Dataset(X[1::2], y[1::2], reference=train)
    >>> booster, history = adapted_train(
    ...     {"verbosity": -1, "num_leaves": 4}, train, 6, valid_sets=[val],
    ...     space={"num_leaves": [2, 4, 8]}, minimize="valid_0-l2", adapt_every=3, try_for=1)
    >>> booster.num_trees(), len(history)
    (6, 2)
    """
    given = {**options, "callbacks": on_event}
    policy, others = policy_and_others(space, given, caller="adapted_train")
    if keep_training_booster and others.get("keep_best"):
        raise SettingsError(
            "keep_training_booster=True gives a booster that trains on from its last round, and "
            f"keep_best={shown(others['keep_best'])} goes back to an earlier one; leave one of "
            "them out, or train on with init_model=booster"
        )
    told_of = sorted_out(callbacks, require_params(params))
    trainer = lightgbm_trainer(
        params,
        train_set,
        num_boost_round,
        space=policy.space,
        valid_sets=valid_sets,  # type: ignore[arg-type]  # refused there, if it is None
        valid_names=valid_names,
        feval=feval,
        init_model=init_model,
        schedules=told_of.schedules,
    )
    told = Told(told_of, lambda: trainer.model)
    require_onward(policy, told.cannot_go_back())
    rounds = trainer.model.task.rounds
    history = adapt_trainer(trainer, rounds, policy=policy, look=told if told else None, **others)
    booster = _handed_out(trainer.model, told, keep_training_booster=keep_training_booster)
    return booster, history


def _handed_out(model: BoosterModel, told: Told, *, keep_training_booster: bool) -> lgb.Booster:
    """The booster as ``lightgbm.train`` hands it out."""
    booster = model.booster
    booster.best_iteration = min(told.best_iteration, booster.current_iteration())
    booster.best_score = defaultdict(OrderedDict)
    for result in told.best_score or model.results():
        booster.best_score[result[0]][result[1]] = result[2]
    if keep_training_booster:
        return model.handed_out()
    # With its trees, without the training data.
    return booster.model_from_string(booster.model_to_string()).free_dataset()
