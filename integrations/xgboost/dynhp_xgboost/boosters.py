"""Boosters of XGBoost that train round by round, and the two ways back to an earlier round."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import xgboost as xgb

from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Metrics, Value
from dynhp.wrappers import Retrained
from dynhp_xgboost.integration import SHRINKAGES
from dynhp_xgboost.parameters import in_force

__all__ = ["BoostingTask", "DrawingBooster", "Evals", "GrownBooster", "LoadedBooster"]
__all__ += ["RetrainedBooster"]

Evals: TypeAlias = Sequence[tuple[xgb.DMatrix, str]]
"""Validation data and their names, as for ``xgboost.train``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingTask:
    """What stays the same all through a run of boosting."""

    params: Mapping[str, Any]
    data: xgb.DMatrix
    evals: Evals
    names: tuple[str, ...]  # of the parameters under adaptation
    obj: Callable[..., Any] | None = None
    custom_metric: Callable[..., Any] | None = None
    begin: bytes = b""  # the model that the training goes on from
    config: str | None = None  # of that model, where it was trained in this process
    schedules: Sequence[xgb.callback.LearningRateScheduler] = ()

    def booster(self, trees: bytes = b"", seed: int | None = None) -> xgb.Booster:
        """A new booster, with these trees and this seed where they are given."""
        cache = [self.data, *(data for data, _ in self.evals)]
        params = dict(self.params) if seed is None else {**self.params, "seed": seed}
        model = trees or self.begin
        booster = xgb.Booster(params, cache, bytearray(model) if model else None)
        if self.config is not None:
            booster.load_config(self.config)
            booster.set_param({} if seed is None else {"seed": seed})
        return booster

    def schedule(self, booster: xgb.Booster, rounds: int) -> None:
        """Set what schedules say after so many rounds, which is nothing before the first."""
        for schedule in self.schedules if rounds else ():
            schedule.after_iteration(booster, rounds - 1, {})

    @property
    def kinds(self) -> dict[str, str]:
        """What kinds of hyperparameters these are."""
        return {name: "shrinkage" for name in self.names if name in SHRINKAGES}


class GrownBooster:
    """A booster that is only ever trained on, so that its hidden generators go on as they would."""

    def __init__(self, task: BoostingTask) -> None:
        self.task = task
        self.kinds = task.kinds
        self.booster = task.booster()
        self.rounds = 0

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Add ``k`` rounds of trees."""
        for name in hyperparameters:
            if name not in self.task.names:
                raise SettingsError(
                    f"unknown hyperparameter {shown(name)}{nearest(name, self.task.names)}"
                )
        self.booster.set_param(dict(hyperparameters))
        for _ in range(k):
            self.booster.update(self.task.data, self.rounds, fobj=self.task.obj)
            self.rounds += 1
            self.task.schedule(self.booster, self.rounds)

    def metrics(self) -> Metrics:
        """What XGBoost measures on the validation data, such as ``val-logloss``."""
        task = self.task
        line = self.booster.eval_set(
            list(task.evals),
            self.rounds,
            task.custom_metric,
            output_margin=task.obj is not None,
        )
        pairs = (part.rsplit(":", 1) for part in line.split("\t")[1:])
        return {name: float(value) for name, value in pairs}

    def hyperparameters(self) -> dict[str, Value]:
        """What the booster's own configuration says."""
        known = in_force(self.booster)
        return {name: known[name] for name in self.task.names}

    def model(self) -> bytes:
        """The trees in XGBoost's own bytes."""
        return bytes(self.booster.save_raw("ubj")) if self.rounds else b""

    def digest(self) -> str:
        """A digest of the trees."""
        return hashlib.sha256(self.model()).hexdigest()


class LoadedBooster(GrownBooster):
    """A trainer that gets back to a round by loading the trees into a new booster."""

    def get_state(self) -> tuple[int, bytes]:
        """The rounds so far, and the trees."""
        return self.rounds, self.model()

    def set_state(self, state: tuple[int, bytes]) -> None:
        """Load the trees into a new booster: the old one has caches of others."""
        self.rounds, trees = state
        self.booster = self.task.booster(trees)
        self.task.schedule(self.booster, self.rounds)


class DrawingBooster(GrownBooster):
    """A trainer whose rounds draw by their number (``seed_per_iteration``).

    A booster draws once more when it is new, so each round begins with a new one.
    """

    def __init__(self, task: BoostingTask) -> None:
        super().__init__(task)
        self._seed: int | None = None

    def get_state(self) -> tuple[int, bytes, int | None]:
        """The rounds so far, the trees, and a seed that is not that of the parameters."""
        return self.rounds, self.model(), self._seed

    def set_state(self, state: tuple[int, bytes, int | None]) -> None:
        """Load the trees into a new booster."""
        self.rounds, trees, self._seed = state
        self.booster = self.task.booster(trees, self._seed)
        self.task.schedule(self.booster, self.rounds)

    def reseed(self, seed: int) -> None:
        """Draw otherwise from now on."""
        self._seed = seed % 2**31

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Add ``k`` rounds of trees."""
        for _ in range(k):
            self.set_state(self.get_state())
            super().train_k(1, hyperparameters)
        super().train_k(0, hyperparameters)


class RetrainedBooster(Retrained):
    """A trainer that gets back to a round by training the rounds before it again."""

    model: GrownBooster

    def __init__(self, task: BoostingTask) -> None:
        super().__init__(lambda: GrownBooster(task))
        self.task = task
        self.kinds = task.kinds

    @property
    def booster(self) -> xgb.Booster:
        """The booster as it is now."""
        return self.model.booster
