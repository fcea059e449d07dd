"""A booster of LightGBM as a trainer: an epoch is a round of boosting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm as lgb

from dynhp import Space
from dynhp.errors import SettingsError, advise, shown
from dynhp.spaces import SpaceLike
from dynhp.wrappers import Retrained
from dynhp_lightgbm.boosters import BoosterModel, HeldOut, LightGBMTask, UndoableModel
from dynhp_lightgbm.integration import SHRINKAGES
from dynhp_lightgbm.parameters import drawing, in_force, require_adaptable, require_params

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
    data: lgb.Dataset,
    *,
    space: SpaceLike,
    valid_sets: Sequence[lgb.Dataset],
    valid_names: Sequence[str] | None = None,
    feval: Callable[..., Any] | None = None,
    rounds: int | None = None,
) -> LightGBMTrainer:
    """A trainer for ``DynamicGridAdapter`` whose epoch is a round; ``.booster`` is the booster.

    A state is the values of all rounds. The way back undoes rounds and trains what is missing.
    Where the parameters draw random numbers (rows, columns, dropped trees), LightGBM's generators
    cannot be read or set, and the way back is trained again from the first round: exact and slow.
    So it is where validation data were freed, which are needed to undo rounds to the last bit.

    Args:
        params: as for ``lightgbm.train``.
        data: to train on.
        space: the parameters to adapt, and their values.
        valid_sets: validation data, made with ``reference=data``.
        valid_names: their names; metrics are called ``name-metric``.
        feval: a metric of your own.
        rounds: the rounds of the final model, where they are known; LightGBM notes them.

    >>> import numpy as np
    >>> X = np.arange(80.0).reshape(-1, 1); data = lgb.Dataset(X, X[:, 0] > 40)
    >>> trainer = lightgbm_trainer({"objective": "binary", "verbosity": -1}, data,
    ...                            space={"num_leaves": [2, 4]}, valid_sets=[data])
    >>> trainer.train_k(3, {"num_leaves": 2}); trainer.booster.current_iteration()
    3
    """
    space = space if isinstance(space, Space) else Space(space)
    given = require_params(params)
    _require_data(data, valid_sets)
    names = _names(valid_sets, valid_names)
    raw = [each.data for each in valid_sets]  # LightGBM lets go of it
    # Data take over what the parameters say about them, as they do in lightgbm.train.
    lgb.train(given, data, 1, valid_sets=list(valid_sets), valid_names=names, feval=feval)
    task = LightGBMTask(
        params=given if rounds is None else {**given, "num_iterations": rounds},
        data=data,
        valid_sets=tuple(valid_sets),
        valid_names=names,
        names=tuple(space),
        feval=feval,
    )
    booster = task.booster()
    known = in_force(booster)
    require_adaptable(space, known, booster)
    if (reason := _not_undoable(raw, drawing(space, known))) is None:
        held_out = [HeldOut(*each) for each in zip(names, valid_sets, raw, strict=True)]
        return LightGBMTrainer(task, lambda: UndoableModel(task, held_out))
    advise(
        f"{reason}, so every way back to a round is trained again from the first one. That is "
        "exact, and costs about candidates × rounds² / (2 × adapt_every) rounds"
    )
    return LightGBMTrainer(task, lambda: BoosterModel(task))


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


def _require_data(data: object, valid_sets: Any) -> None:
    if not isinstance(data, lgb.Dataset):
        raise SettingsError(f"data must be a Dataset, got {shown(data)}; lightgbm.Dataset(X, y)")
    sets = [] if valid_sets is None or isinstance(valid_sets, lgb.Dataset) else list(valid_sets)
    if not sets or not all(isinstance(each, lgb.Dataset) for each in sets):
        raise SettingsError(
            "tries are judged on validation data, so valid_sets must be a list of Datasets, got "
            f"{shown(valid_sets)}; give valid_sets=[lightgbm.Dataset(X_val, y_val, reference=data)]"
        )
    if all(each is data for each in sets):
        advise(
            "valid_sets: tries are judged by the data they are trained on, which rewards "
            "overfitting; hold some data out"
        )


def _names(valid_sets: Sequence[lgb.Dataset], valid_names: Any) -> list[str]:
    if valid_names is None:
        return [f"valid_{place}" for place in range(len(valid_sets))]
    names = [valid_names] if isinstance(valid_names, str) else list(valid_names)
    if len(names) != len(valid_sets):
        raise SettingsError(
            f"valid_names must name each of the {len(valid_sets)} valid_sets, got {shown(names)}"
        )
    return names
