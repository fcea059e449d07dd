"""Presets for when something happens: a lower rate on a plateau, a rescue when training breaks."""

from __future__ import annotations

import math
import sys
from typing import Literal, TypedDict

from dynhp._checks import require_count, require_name, require_number
from dynhp.criteria import Criterion, lowest, smoothed
from dynhp.errors import SettingsError, shown
from dynhp.main_line import Snapshots
from dynhp.proposers import Ladder, Proposer
from dynhp.spaces import Ordered
from dynhp.triggers import OnPlateau, OnSpike, Trigger

__all__ = ["WatchingArguments", "plateau", "rescue"]


class WatchingArguments(TypedDict):
    """Keyword arguments of ``DynamicGridAdapter`` and ``adapt``."""

    space: dict[str, Ordered]
    initial: dict[str, float]
    criterion: Criterion
    when: Trigger
    try_for: int
    proposer: Proposer
    start_from: Literal["best", "before"]
    snapshots: Snapshots
    max_rounds: int
    max_rescues: int


def plateau(
    name: str,
    *,
    default: float,
    loss: str = "val_loss",
    patience: int = 5,
    factor: float = 3.0,
    steps: int = 5,
    max_rounds: int | None = None,
) -> WatchingArguments:
    """Lower a rate on a plateau, from the best state, and only where the lower one proves better.

    As ``ReduceLROnPlateau`` does, but each lower value must win a try of ``patience`` epochs from
    the best state so far against staying.

    Args:
        name: the hyperparameter's name, such as "lr".
        default: its value at the start, the highest.
        loss: the name of the validation loss, reported after every epoch.
        patience: so many epochs without an improvement are a plateau; a try is as long.
        factor: each value is the one above it divided by this.
        steps: how many lower values there are; a round tries the next one.
        max_rounds: the most rounds; by default as many as there are lower values.

    >>> plateau("lr", default=0.1, steps=2)["space"]
    {'lr': Ordered(0.0111, 0.0333, 0.1)}
    """
    patience = require_count("plateau: patience", patience)
    return WatchingArguments(
        space=_ladder_down("plateau", name, default, factor, steps),
        initial={name: float(default)},
        criterion=smoothed(lowest(loss)),
        when=OnPlateau(loss, patience=patience),
        try_for=patience,
        proposer=Ladder(1),
        start_from="best",
        snapshots=Snapshots(),
        max_rounds=require_count(
            "plateau: max_rounds", steps if max_rounds is None else max_rounds
        ),
        max_rescues=0,
    )


def rescue(
    name: str,
    *,
    default: float,
    loss: str = "val_loss",
    spike: float = 3.0,
    window: int = 10,
    down: int = 3,
    factor: float = 3.0,
    steps: int = 6,
    try_for: int = 3,
    max_rescues: int = 5,
    every: int = 1,
    lag: int = 0,
) -> WatchingArguments:
    """Do nothing until training breaks; then go back to the last healthy state and try lower rates.

    It breaks where the loss is not finite or spikes, and where training raises (in a loop: inside
    ``with epoch:``). The value in force is tried too, past the data that broke it where the trainer
    can be reseeded. A run in which nothing breaks is the plain run, and costs no epoch more.

    Args:
        name: the hyperparameter's name, such as "lr".
        default: its value at the start, the highest.
        loss: the name of the loss, reported after every epoch.
        spike: so many times the median of the last values is a spike.
        window: how many of the last values that are.
        down: how many lower values a rescue tries.
        factor: each value is the one above it divided by this.
        steps: how many lower values there are in all.
        try_for: the epochs of a try.
        max_rescues: after so many rescues the next failure ends the run, in a healthy state.
        every: how many epochs lie between snapshots; two are held, or more where ``lag`` needs it.
        lag: 1 where the loss is measured before the last update of an epoch, as training losses
            often are: then the state is already worse than the loss says.

    >>> arguments = rescue("lr", default=0.1, loss="train_loss")
    >>> arguments["when"].metric, arguments["max_rescues"], arguments["proposer"]
    ('train_loss', 5, Ladder(down=3))
    """
    return WatchingArguments(
        space=_ladder_down("rescue", name, default, factor, steps),
        initial={name: float(default)},
        criterion=lowest(loss),
        when=OnSpike(loss, window=window, factor=spike, lag=lag),
        try_for=require_count("rescue: try_for", try_for),
        proposer=Ladder(down),
        start_from="before",
        snapshots=Snapshots(k=2 + lag, every=every),
        max_rounds=0,
        max_rescues=require_count("rescue: max_rescues", max_rescues),
    )


def _ladder_down(
    preset: str, name: str, default: float, factor: float, steps: int
) -> dict[str, Ordered]:
    """The default and the values below it, each a factor lower, as they are written by hand."""
    require_name(f"{preset}: name", name)
    rule = "be a positive number"
    require_number(f"{preset}: default", default, rule, lambda value: 0 < value < math.inf)
    rule = "be a number above 1"
    require_number(f"{preset}: factor", factor, rule, lambda value: 1 < value < math.inf)
    steps = require_count(f"{preset}: steps", steps)
    if math.log(default) - steps * math.log(factor) < math.log(sys.float_info.min):
        raise SettingsError(
            f"{preset}: the lowest value must be a number above 0, got {shown(default)} divided "
            f"{steps} times by {shown(factor)}; use fewer steps"
        )
    lower = [float(f"{default / factor**step:.3g}") for step in range(steps, 0, -1)]
    return {name: Ordered(*lower, float(default))}
