"""A booster of LightGBM as a trainer: an epoch is a round of boosting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb

from dynhp import Space
from dynhp.errors import SettingsError, advise, shown
from dynhp.spaces import SpaceLike
from dynhp.wrappers import Retrained
from dynhp_lightgbm.boosters import BoosterModel, HeldOut, LightGBMTask, UndoableModel
from dynhp_lightgbm.callbacks import require_apart
from dynhp_lightgbm.integration import SHRINKAGES
from dynhp_lightgbm.parameters import (
    chosen_value,
    drawing,
    in_force,
    require_adaptable,
    require_params,
)

__all__ = ["LightGBMTrainer", "lightgbm_trainer"]


class LightGBMTrainer(Retrained):
    """A trainer whose state is the values of its rounds; ``lightgbm_trainer`` makes one.

    >>> from dynhp_lightgbm.example import make
    >>> trainer = make(); trainer.train_k(2, {"num_leaves": 4, "lambda_l2": 1.0})
    >>> trainer.booster.current_iteration()
    2
    """

    model: BoosterModel

    def __init__(self, task: LightGBMTask, make: Callable[[], BoosterModel]) -> None:
        super().__init__(make)
        self.kinds = {name: "shrinkage" for name in task.names if name in SHRINKAGES}

    @property
    def booster(self) -> lgb.Booster:
        """The booster as it is now."""
        return self.model.booster


def lightgbm_trainer(
    params: Mapping[str, Any],
    train_set: lgb.Dataset,
    num_boost_round: int = 100,
    *,
    space: SpaceLike,
    valid_sets: lgb.Dataset | Sequence[lgb.Dataset],
    valid_names: str | Sequence[str] | None = None,
    feval: Any = None,
    init_model: str | Path | lgb.Booster | None = None,
    schedules: Sequence[Callable[..., None]] = (),
) -> LightGBMTrainer:
    """A trainer for ``DynamicGridAdapter`` whose epoch is a round; ``.booster`` is the booster.

    A state is the values of all rounds. The way back undoes rounds and trains what is missing.
    Where the parameters draw random numbers (rows, columns, dropped trees), LightGBM's generators
    cannot be read or set, and the way back is trained again from the first round: exact and slow.
    So it is where validation data were freed, which are needed to undo rounds to the last bit.

    Args:
        params: as for ``lightgbm.train``.
        train_set: to train on.
        num_boost_round: the rounds that are planned; LightGBM notes them, and schedules need them.
        space: the parameters to adapt, and their values.
        valid_sets: validation data, made with ``reference=train_set``.
        valid_names: their names; metrics are called ``name-metric``.
        feval: a metric of your own, or a list of them.
        init_model: a model to go on from.
        schedules: what ``lightgbm.reset_parameter`` gave, followed in tries too.

    >>> import numpy as np
    >>> X = np.arange(80.0).reshape(-1, 1); data = lgb.Dataset(X, X[:, 0] > 40)
    >>> trainer = lightgbm_trainer({"objective": "binary", "verbosity": -1}, data,
    ...                            space={"num_leaves": [2, 4]}, valid_sets=data)
    >>> trainer.train_k(3, {"num_leaves": 2}); trainer.booster.current_iteration()
    3
    """
    space = space if isinstance(space, Space) else Space(space)
    given = require_params(params)
    sets = _require_data(train_set, valid_sets)
    require_apart(space, schedules)
    raw = {id(each): each.data for each in sets}  # LightGBM lets go of it
    task = _task(
        given,
        train_set,
        num_boost_round,
        valid_sets=sets,
        valid_names=valid_names,
        feval=feval,
        init_model=init_model,
        names=tuple(space),
        schedules=tuple(schedules),
    )
    booster = task.booster()
    known = in_force(booster)
    require_adaptable(space, known, booster)
    measured = [(name, each, raw[id(each)]) for name, each in task.valid_sets.items()]
    reason = _not_undoable([each for *_, each in measured], drawing(space, known))
    if reason is None:
        held_out = [HeldOut(*each) for each in measured]
        return LightGBMTrainer(task, lambda: UndoableModel(task, held_out))
    advise(
        f"{reason}, so every way back to a round is trained again from the first one. That is "
        "exact, and costs about candidates × rounds² / (2 × adapt_every) rounds"
    )
    return LightGBMTrainer(task, lambda: BoosterModel(task))


class _Ready(Exception):
    """A booster is ready to be trained, with what LightGBM made of all arguments."""


def _task(
    params: dict[str, Any],
    train_set: lgb.Dataset,
    num_boost_round: int,
    *,
    names: tuple[str, ...],
    schedules: tuple[Callable[..., None], ...],
    **others: Any,
) -> LightGBMTask:
    """What ``lightgbm.train`` makes of its arguments, taken from it before the first round."""

    def take(env: Any) -> None:
        raise _Ready(env)

    vars(take).update(before_iteration=True, order=-math.inf)
    try:
        lgb.train(params, train_set, num_boost_round, callbacks=[take], **others)
    except _Ready as ready:
        [env] = ready.args
    booster = env.model
    on_training = any(each is train_set for each in others["valid_sets"])
    sets = {booster._train_data_name: train_set} if on_training else {}
    objective = chosen_value(params, "objective")
    return LightGBMTask(
        params=env.params,
        data=train_set,
        valid_sets=sets | dict(zip(booster.name_valid_sets, booster.valid_sets, strict=True)),
        names=names,
        begin=env.begin_iteration,
        rounds=env.end_iteration - env.begin_iteration,
        feval=others["feval"],
        fobj=objective if callable(objective) else None,
        schedules=schedules,
    )


def _not_undoable(raw: Sequence[Any], drawn: Sequence[str]) -> str | None:
    """Why rounds cannot be undone exactly, None where they can."""
    if drawn:
        return f"{', '.join(drawn)}: LightGBM draws from generators that cannot be set back"
    if not all(hasattr(each, "shape") for each in raw):
        return (
            "valid_sets: the data themselves are needed to undo rounds, and LightGBM has let go of "
            "them (make the Datasets with free_raw_data=False)"
        )
    return None


def _require_data(train_set: object, valid_sets: Any) -> list[lgb.Dataset]:
    if not isinstance(train_set, lgb.Dataset):
        raise SettingsError(
            f"train_set must be a Dataset, got {shown(train_set)}; lightgbm.Dataset(X, y)"
        )
    alone = isinstance(valid_sets, lgb.Dataset)
    sets = [valid_sets] if alone else [] if valid_sets is None else list(valid_sets)
    if not sets or not all(isinstance(each, lgb.Dataset) for each in sets):
        raise SettingsError(
            "tries are judged on validation data, so valid_sets must be a Dataset or a list of "
            f"them, got {shown(valid_sets)}; give valid_sets=[lightgbm.Dataset(X_val, y_val, "
            "reference=train_set)], or eval_set=[(X_val, y_val)] to an estimator"
        )
    if all(each is train_set for each in sets):
        advise(
            "valid_sets: tries are judged by the data they are trained on, which rewards "
            "overfitting; hold some data out"
        )
    return sets
