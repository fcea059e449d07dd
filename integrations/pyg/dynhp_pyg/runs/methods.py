"""The ways to choose hyperparameters: each is one set of arguments of the same adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dynhp import (
    DynamicGridAdapter,
    Float,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Space,
    Trainer,
    highest,
    paper,
)
from dynhp.adapter import Callback
from dynhp.planning import ema_race
from dynhp.proposers import Drawn, Proposer
from dynhp_pyg.runs.spec import LinkRun

__all__ = ["adapter_for"]

_BY_FACTORS = {"learning_rate_scale"}  # drawn evenly on a scale of factors, not of differences


_BASELINE = {"check": "off"}  # it costs what it always did: a repeat would be a model more


def adapter_for(
    settings: LinkRun,
    trainer: Trainer,
    *,
    callbacks: Sequence[Callback] = (),
    check: Literal["first", "off"] = "first",
) -> DynamicGridAdapter:
    """Make the adapter that carries out ``settings.method``; baselines are never checked.

    - adagrid: the paper's method, the whole grid; neighbors, interpolation: its future work;
    - one_axis: the whole grid of one hyperparameter after the other, where there are several;
    - recommended: what research recommends for a learning rate: racing, by averaged weights;
    - complete: a run for each value from one start; the run whose checkpoint validates best;
    - random: a new value each epoch, uniform between the smallest and the largest of the grid;
    - fixed: always the initial values; placebo: as many tries as the grid, all of one value.

    >>> from dynhp_pyg.runs.example import tiny_split
    >>> from dynhp_pyg.model.trainer import LinkPredictionTrainer
    >>> trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    >>> adapter_for(LinkRun(method="placebo", epochs=20), trainer).proposer
    Placebo(k=9)
    """
    grid = Space({name: Ordered(*values) for name, values in settings.space.items()})
    arguments: dict[str, Any] = {
        **paper(settings.adapt_every, settings.try_for, settings.criterion),
        **_changes(settings, grid),
    }
    return DynamicGridAdapter(
        trainer,
        arguments.pop("space", grid),
        initial=settings.initial,
        epochs=settings.epochs,
        seed=settings.seed,
        callbacks=callbacks,
        **{"check": check, **arguments},
    )


def _changes(settings: LinkRun, grid: Space) -> dict[str, Any]:
    """The arguments of a method that differ from the paper's."""
    if settings.method == "complete":
        best = highest("best_val_auc")
        lengths = {"adapt_every": settings.epochs, "try_for": settings.epochs}
        return {**lengths, **_BASELINE, "criterion": best}
    if settings.method == "random":
        space = {name: _interval(name, values) for name, values in settings.space.items()}
        return {"space": space, "proposer": Drawn(), "adapt_every": 1, "try_for": 1, **_BASELINE}
    if settings.method == "fixed":
        # One candidate: the adapter then trains exactly as the plain loop does.
        values = {name: Ordered(value) for name, value in settings.initial.items()}
        return {"space": values, **_BASELINE}
    if settings.method == "recommended":
        name = "learning_rate_scale"
        advice = ema_race(name, epochs=settings.epochs, default=1.0)
        # The settings' values instead of the recommended ones.
        return {**advice, "space": grid, "randomness": settings.randomness}
    proposers: dict[str, Proposer] = {
        "adagrid": FullGrid(),
        "one_axis": OneAxis(),
        "neighbors": Neighbors(),
        "interpolation": Interpolation(),
        "placebo": Placebo(len(grid.grid())),
    }
    # Left to the proposer where nothing else is asked for: a placebo's copies are independent.
    randomness = "independent" if settings.randomness == "independent" else None
    return {"proposer": proposers[settings.method], "randomness": randomness}


def _interval(name: str, values: Sequence[float]) -> Float | Ordered:
    low, high = float(min(values)), float(max(values))
    if low == high:
        return Ordered(low)
    return Float(low, high, log=name in _BY_FACTORS and low > 0)
