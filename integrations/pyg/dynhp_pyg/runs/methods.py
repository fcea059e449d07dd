"""The ways to choose hyperparameters: each is one policy of the same adapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from dynhp import (
    DynamicGridAdapter,
    Float,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Policy,
    Space,
    Trainer,
    highest,
    paper,
)
from dynhp.adapter import Callback
from dynhp.planning import ema_race
from dynhp.proposers import Proposer
from dynhp.proposers.grid import Drawn
from dynhp.triggers import Every
from dynhp_pyg.runs.spec import WITH_TRIES, LinkRun, Randomness

__all__ = ["adapter_for", "policy_of"]

_BY_FACTORS = {"learning_rate_scale"}  # drawn evenly on a scale of factors, not of differences


def adapter_for(
    settings: LinkRun,
    trainer: Trainer,
    *,
    callbacks: Sequence[Callback] = (),
    check: Literal["first", "off"] = "first",
) -> DynamicGridAdapter:
    """Make the adapter that carries out ``settings.method``; baselines are never checked.

    >>> from dynhp_pyg.runs.example import tiny_split
    >>> from dynhp_pyg.model.trainer import LinkPredictionTrainer
    >>> trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=20)
    >>> adapter_for(LinkRun(method="placebo", epochs=20), trainer).policy.proposer
    Placebo(k=9)
    """
    return DynamicGridAdapter(
        trainer,
        policy=policy_of(settings, check=check),
        epochs=settings.epochs,
        callbacks=callbacks,
    )


def policy_of(settings: LinkRun, *, check: Literal["first", "off"] = "first") -> Policy:
    """The policy of ``settings.method``; baselines are never checked.

    - adagrid: the paper's method, the whole grid; neighbors, interpolation: its future work;
    - one_axis: the whole grid of one hyperparameter after the other, where there are several;
    - recommended: what research recommends for a learning rate: racing, by averaged weights;
    - complete: a run for each value from one start; the run whose checkpoint validates best;
    - random: a new value each epoch, uniform between the smallest and the largest of the grid;
    - fixed: always the initial values; placebo: as many tries as the grid, all of one value.

    >>> policy_of(LinkRun(method="complete", epochs=20)).when
    Every(n=20)
    """
    # A baseline costs what it always did: a repeat would be a model more.
    checked = check if settings.method in WITH_TRIES else "off"
    return replace(
        _of_method(settings), initial=settings.initial, seed=settings.seed, check=checked
    )


def _of_method(settings: LinkRun) -> Policy:
    grid = Space({name: Ordered(*values) for name, values in settings.space.items()})
    if settings.method == "complete":
        best = highest("best_val_auc")
        whole = Every(settings.epochs)
        return Policy(space=grid, criterion=best, when=whole, try_for=settings.epochs)
    if settings.method == "random":
        space = {name: _interval(name, values) for name, values in settings.space.items()}
        return replace(paper(space, 1, 1, criterion=settings.criterion), proposer=Drawn())
    if settings.method == "recommended":
        advice = ema_race("learning_rate_scale", epochs=settings.epochs, default=1.0)
        # The settings' values instead of the recommended ones.
        return replace(advice, space=grid, randomness=settings.randomness)
    if settings.method == "fixed":
        # One candidate: the adapter then trains exactly as the plain loop does.
        grid = Space({name: Ordered(value) for name, value in settings.initial.items()})
    policy = paper(grid, settings.adapt_every, settings.try_for, criterion=settings.criterion)
    proposers: dict[str, Proposer] = {
        "fixed": FullGrid(),
        "adagrid": FullGrid(),
        "one_axis": OneAxis(),
        "neighbors": Neighbors(),
        "interpolation": Interpolation(),
        "placebo": Placebo(len(grid.grid())),
    }
    # Left to the proposer where nothing else is asked for: a placebo's copies are independent.
    randomness: Randomness | None = None
    if settings.randomness == "independent":
        randomness = "independent"
    return replace(policy, proposer=proposers[settings.method], randomness=randomness)


def _interval(name: str, values: Sequence[float]) -> Float | Ordered:
    low, high = float(min(values)), float(max(values))
    if low == high:
        return Ordered(low)
    return Float(low, high, log=name in _BY_FACTORS and low > 0)
