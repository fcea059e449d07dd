"""Scores and metrics of the weights that an engine has, each computed once until they change."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynhp.errors import SettingsError
from dynhp_pyg.checks import one_of
from dynhp_pyg.model.average import Average
from dynhp_pyg.model.engines.evaluation import StageName, positives_of
from dynhp_pyg.model.engines.factory import Engine
from dynhp_pyg.model.metrics import average_precision, binary_cross_entropy, finite_or_nan, roc_auc
from dynhp_pyg.model.state import frozen, load, sides, snapshot
from dynhp_pyg.splits.make import Split

__all__ = ["NO_SCORES", "Measurements", "Sides", "Validation"]

Sides: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The scores of positives and of negatives."""

_EMPTY = frozen(np.empty(0, dtype=np.float32))
NO_SCORES: Sides = (_EMPTY, _EMPTY)


class Validation(NamedTuple):
    """The scores of the validation pairs, and their AUC."""

    sides: Sides
    auc: float


class Measurements:
    """Measures an engine's weights; ``forget`` must be called when they have changed."""

    def __init__(
        self, engine: Engine, split: Split, *, average: Average | None, with_average_precision: bool
    ) -> None:
        self._engine, self._split, self._average = engine, split, average
        self._with_average_precision = with_average_precision
        self._only: frozenset[str] | None = None
        self._metrics: dict[str, float] | None = None
        self._validation: Validation | None = None

    def forget(self) -> None:
        """Drop what was measured."""
        self._metrics = self._validation = None

    def only(self, names: Collection[str] | None) -> None:
        """Leave all other metrics out; None measures all again."""
        if isinstance(names, str):
            raise SettingsError(f"names must be a collection of names, got {names!r}; pass a list")
        for name in names or ():
            one_of("a metric of this trainer", name, self._measures(NO_SCORES, math.nan))
        self._only, self._metrics = None if names is None else frozenset(names), None

    def metrics(self, fitted: Sides, best_val_auc: float) -> dict[str, float]:
        """Give the metrics by name, with those of training from the last step's scores."""
        if self._metrics is None:
            self._metrics = {
                name: finite_or_nan(measure())
                for name, measure in self._measures(fitted, best_val_auc).items()
                if self._only is None or name in self._only
            }
        return dict(self._metrics)

    def validation(self) -> Validation:
        """Score the validation pairs."""
        if self._validation is None:
            scores = self._scores("validation")
            self._validation = Validation(scores, roc_auc(*scores))
        return self._validation

    def test(self) -> dict[str, float]:
        """Measure the present weights on the test pairs."""
        scores = self._scores("test")
        return {
            "test_auc": roc_auc(*scores),
            "test_ap": average_precision(*scores),
            "test_loss": finite_or_nan(binary_cross_entropy(*scores)),
        }

    def _measures(self, fitted: Sides, best_val_auc: float) -> dict[str, Callable[[], float]]:
        """Give the function that measures each metric, in the order of the metrics."""
        measures: dict[str, Callable[[], float]] = {
            "train_auc": lambda: roc_auc(*fitted),
            "train_loss": lambda: binary_cross_entropy(*fitted),
            "val_auc": lambda: self.validation().auc,
            "val_loss": lambda: binary_cross_entropy(*self.validation().sides),
            "best_val_auc": lambda: best_val_auc,
        }
        if self._average is not None:
            averaged = cache(self._scores_of_average)
            measures["ema_val_auc"] = lambda: roc_auc(*averaged())
            measures["ema_val_loss"] = lambda: binary_cross_entropy(*averaged())
        if self._with_average_precision:
            measures["train_ap"] = lambda: average_precision(*fitted)
            measures["val_ap"] = lambda: average_precision(*self.validation().sides)
        return measures

    def _scores_of_average(self) -> Sides:
        assert self._average is not None
        present = snapshot(self._engine.parameters)
        try:
            load(self._engine.parameters, snapshot(self._average.weights))
            return self._scores("validation")
        finally:
            load(self._engine.parameters, present)

    def _scores(self, stage: StageName) -> Sides:
        return sides(self._engine.scores(stage), positives_of(self._split, stage))
