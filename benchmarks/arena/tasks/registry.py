"""All tasks by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from benchmarks.arena.stepped import Averaging, MakeOptimizer, SteppedTrainer
from benchmarks.arena.tasks.contract import LearningTask
from benchmarks.arena.tracked import MeasuredTrainer, Tracked

__all__ = ["TASKS", "WITHOUT_DATA", "is_torch", "make_trainer"]

_TORCH = {
    "clothes-mlp": "images:clothes_mlp",
    "clothes-cnn": "images:clothes_cnn",
    "clothes-resnet": "images:clothes_resnet",
    "digits-mlp": "images:digits_mlp",
    "digits-noisy": "images:digits_noisy",
    "characters-transformer": "text:characters_transformer",
    "characters-gru": "text:characters_gru",
    "characters-few": "text:characters_few",
    "links-cora": "links:links_cora",
    "links-citeseer": "links:links_citeseer",
    "links-usair": "links:links_usair",
    "regression-mlp": "tables:regression",
    "cancer-mlp": "tables:cancer",
    "cartpole": "cartpole:cartpole",
    "clouds-pointnet": "shapes:clouds_pointnet",
    "masks-unet": "shapes:masks_unet",
    "spirals-flow": "numbers:spirals_flow",
    "weather-tcn": "numbers:weather_tcn",
    "visits-factors": "visits:visits_factors",
    "products-sage": "nodes:products_sage",
    "photograph-siren": "photographs:photograph_siren",
}
TASKS = (*_TORCH, "boosting-diabetes")
WITHOUT_DATA = ("digits-mlp", "links-cora", "links-citeseer", "regression-mlp")
WITHOUT_DATA += ("cartpole", "boosting-diabetes")
"""Those that need no data beside what packages bring."""


def is_torch(task: str) -> bool:
    """Whether an optimiser of torch trains it."""
    return task in _TORCH


def make_trainer(
    task: str,
    *,
    seed: int,
    steps: int,
    factors: Sequence[float] | None = None,
    optimizer: MakeOptimizer | None = None,
    averaged: Averaging | None = None,
) -> Tracked:
    """Make the trainer of a task as it is before its first epoch."""
    inner: MeasuredTrainer
    if is_torch(task):
        make = _imported(_TORCH[task])
        inner = SteppedTrainer(
            make, seed=seed, steps=steps, factors=factors, optimizer=optimizer, averaged=averaged
        )
    else:
        from benchmarks.arena.tasks.boosting import BoostedTrainer

        inner = BoostedTrainer(seed=seed, steps=steps, factors=factors)
    return Tracked(inner)


def _imported(path: str) -> Callable[[int], LearningTask]:
    """Imported late: a run of one task needs the packages of no other."""
    module, name = path.split(":")
    make: Callable[[int], LearningTask] = getattr(
        import_module(f"benchmarks.arena.tasks.{module}"), name
    )
    return make
