"""Boosters of LightGBM that train round by round, and that undo rounds where this is exact."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb

from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Metrics, Value
from dynhp_lightgbm.parameters import in_force

__all__ = ["BoosterModel", "LightGBMTask", "UndoableModel"]

_DIGITS = 10  # of metrics that a booster shows after it has undone rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class LightGBMTask:
    """What stays the same all through a run of boosting."""

    params: Mapping[str, Any]
    data: lgb.Dataset
    valid_sets: Sequence[lgb.Dataset]
    valid_names: Sequence[str]
    names: tuple[str, ...]  # of the parameters under adaptation
    feval: Callable[..., Any] | None = None

    def booster(self) -> lgb.Booster:
        """A booster without trees, as ``lightgbm.train`` makes it."""
        booster = lgb.Booster(dict(self.params), self.data)
        for name, data in zip(self.valid_names, self.valid_sets, strict=True):
            if data is self.data:
                booster.set_train_data_name(name)
            else:
                booster.add_valid(data, name)
        return booster

    def measure(self, booster: lgb.Booster) -> Metrics:
        """What LightGBM measures on the validation data, such as ``val-binary_logloss``."""
        on_training = any(data is self.data for data in self.valid_sets)
        results = [
            *(booster.eval_train(self.feval) if on_training else ()),
            *booster.eval_valid(self.feval),
        ]
        return {f"{result[0]}-{result[1]}": float(result[2]) for result in results}


class BoosterModel:
    """A booster that is only ever trained on, so that its hidden generators go on as they would."""

    def __init__(self, task: LightGBMTask) -> None:
        self.task = task
        self.booster = task.booster()
        self._trees = [0]  # the rounds of the booster after each round of ours: it may add none
        self._values = self.hyperparameters()

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Add ``k`` rounds of trees."""
        for name in hyperparameters:
            if name not in self.task.names:
                raise SettingsError(
                    f"unknown hyperparameter {shown(name)}{nearest(name, self.task.names)}"
                )
        # Only what changes is set: to set anything at all makes LightGBM draw columns anew.
        new = {name: v for name, v in hyperparameters.items() if v != self._values[name]}
        if new:
            self.booster.reset_parameter(new)
            self._values |= new
        for _ in range(k):
            self._update()
            self._trees.append(self.booster.current_iteration())

    def _update(self) -> None:
        self.booster.update()

    def metrics(self) -> Metrics:
        """What LightGBM measures on the validation data."""
        return self.task.measure(self.booster)

    def hyperparameters(self) -> dict[str, Value]:
        """What the booster's own configuration says."""
        known = in_force(self.booster)
        return {name: known[name] for name in self.task.names}

    def digest(self) -> str:
        """A digest of the trees."""
        trees, _, _ = self.booster.model_to_string().partition("\nparameters:")
        return hashlib.sha256(trees.encode()).hexdigest()


class UndoableModel(BoosterModel):
    """A booster without generators, which can undo its last rounds.

    LightGBM undoes a round by subtracting its trees, which leaves the last bits of the scores
    different. On training data the scores are computed anew: that happens when a booster gets other
    training data, so a second copy of the data takes turns with the first. On validation data they
    stay as they are, and metrics are rounded to what is sure.
    """

    def __init__(self, task: LightGBMTask) -> None:
        super().__init__(task)
        self._stale = False  # whether rounds were undone since the last one was trained
        self._other: lgb.Dataset | None = None

    def roll_back(self, epochs: int) -> None:
        """Undo that many rounds."""
        del self._trees[len(self._trees) - epochs :]
        while self.booster.current_iteration() > self._trees[-1]:
            self.booster.rollback_one_iter()
        self._stale = True

    def _update(self) -> None:
        if not self._stale:
            return super()._update()
        if self._other is None:
            self._other = self.task.data.subset(range(self.task.data.num_data()))
        now, self._other = self._other, self.booster.train_set
        self.booster.update(train_set=now)
        self._stale = False
        return None

    def metrics(self) -> Metrics:
        """What LightGBM measures on the validation data, without the bits that are not sure."""
        return {name: float(f"{value:.{_DIGITS}g}") for name, value in super().metrics().items()}
