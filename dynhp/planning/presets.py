"""Presets: plain functions that return the adapter's arguments for a known purpose."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from dynhp._checks import (
    require_count,
    require_name,
    require_number,
    require_whole,
    require_word,
)
from dynhp.advice import LEAVE_ALONE, kind_of
from dynhp.criteria import highest, lowest, phased, smallest_gap, smoothed
from dynhp.errors import LeaveItAlone, SettingsError, nearest, shown
from dynhp.planning.arguments import Arguments, LadderArguments, Recommendation
from dynhp.proposers import Climb, FullGrid, Neighbors
from dynhp.selection import Best, BestByMargin, Racing
from dynhp.spaces import Around, Ordered
from dynhp.spaces.axis import short_float
from dynhp.tails import annealed, scale
from dynhp.triggers import At

__all__ = ["ema_race", "paper", "recommended"]

TYPICAL_RATE = 0.03
"""The middle of the values tried where no default is given."""

LADDER_SHARE = 0.05
"""How much of the run one try of the ladder takes."""


def paper(
    alpha: int,
    beta: int,
    criterion: Literal["validation", "gap"] = "validation",
    *,
    train: str = "train_auc",
    validation: str = "val_auc",
) -> Arguments:
    """The settings of the AdaGrid paper: full grid, the better mean over the try epochs wins.

    Args:
        alpha: the epochs of a round.
        beta: the epochs of a try.
        criterion: what is judged: the "validation" metric, or its "gap" to the training metric.
        train: the name of the training metric.
        validation: the name of the validation metric.

    >>> paper(10, 1)["criterion"]
    smoothed(highest('val_auc'), None)
    """
    alpha, beta = require_count("alpha", alpha), require_count("beta", beta)
    require_word("criterion", criterion, ("validation", "gap"))
    judge = highest(validation) if criterion == "validation" else smallest_gap(train, validation)
    return Arguments(
        criterion=smoothed(judge),
        adapt_every=alpha,
        try_for=beta,
        proposer=FullGrid(),
        selection=Best(),
    )


@overload
def recommended(
    kind: Literal["learning_rate", "lr"],
    *,
    epochs: int | None = ...,
    default: float | None = ...,
    name: str | None = ...,
    loss: str | None = ...,
    force: bool = ...,
) -> LadderArguments: ...


@overload
def recommended(
    kind: str,
    *,
    epochs: int | None = ...,
    default: float | None = ...,
    name: str | None = ...,
    loss: str | None = ...,
    force: bool = ...,
) -> Any: ...


def recommended(
    kind: str,
    *,
    epochs: int | None = None,
    default: float | None = None,
    name: str | None = None,
    loss: str | None = None,
    force: bool = False,
) -> Any:
    """What research recommends for this kind of hyperparameter, around a default value.

    For a learning rate: a ladder before the run. Rates a factor of the square root of 10 apart are
    tried on copies of the first state for a 20th of the run each, warmed up and annealed to zero,
    and judged by the mean training loss of the last third: the default and one ten times as high,
    then neighbours of the best until both are worse. The best is divided by the square root of 10,
    because short annealed tries favour rates that are too high for a long run. The run starts with
    it from its first state; give it a schedule that ends at zero, such as ``wsd``.

    Args:
        kind: the kind of hyperparameter, such as "learning_rate".
        epochs: the planned epochs; for a learning rate, where it is left out, those of the run.
        default: where to start. Where it is left out, a learning rate starts at the one in force
            (the optimiser's, say), or at 0.03 where none is known.
        name: the hyperparameter's name; ``kind`` where it is left out.
        loss: the loss that tries are judged by: "train_loss" for a learning rate, else "val_loss".
        force: give cautious settings in place of the advice to leave it alone.

    >>> arguments = recommended("learning_rate", epochs=100, default=0.03)
    >>> arguments["space"], arguments["tail"].length(100)
    ({'learning_rate': Around(0.03)}, 5)
    """
    known = {"learning_rate", *LEAVE_ALONE}
    if not isinstance(kind, str) or kind_of(kind) not in known:
        raise SettingsError(
            f"recommended: nothing is known about {shown(kind)}{nearest(kind, known)}"
        )
    name = require_name("recommended: name", kind if name is None else name)
    if kind_of(kind) == "learning_rate":
        return _ladder(name, epochs, default, "train_loss" if loss is None else loss)
    if not force:
        raise LeaveItAlone(
            f"{kind}: leave it alone; {LEAVE_ALONE[kind_of(kind)]}. Nothing tried beat the default "
            "value; force=True gives cautious settings, to be used with a Shadow"
        )
    planned, middle = _around("recommended", epochs, default)
    return _cautious(name, planned, middle, "val_loss" if loss is None else loss)


def _around(preset: str, epochs: int | None, default: float | None) -> tuple[int, float]:
    """The planned epochs and the value in the middle, checked."""
    epochs = require_whole(f"{preset}: epochs", epochs, least=4)
    return epochs, _require_positive(preset, default)


def _require_positive(preset: str, default: float | None) -> float:
    rule = "be a positive number"
    return require_number(f"{preset}: default", default, rule, lambda value: 0 < value < math.inf)


def _ladder(name: str, epochs: int | None, default: float | None, loss: str) -> LadderArguments:
    start = _require_positive("recommended", TYPICAL_RATE if default is None else default)
    tail = annealed(name, epochs=LADDER_SHARE)
    if epochs is not None:
        planned = require_whole("recommended: epochs", epochs, least=1)
        tail = annealed(name, epochs=tail.length(planned))
    arguments = LadderArguments(
        space={name: Around(start)},
        criterion=smoothed(lowest(loss), 1 / 3),
        when=At([0]),
        try_for=0,
        tail=tail,
        keep="value",
        then=scale(short_float(math.sqrt(0.1)), name),
        proposer=Climb(),
        selection=Best(),
    )
    if default is not None:  # else what is in force would be the start all the same
        arguments["initial"] = {name: float(start)}
    return arguments


def ema_race(
    name: str, *, epochs: int, default: float | None = None, loss: str = "val_loss"
) -> Recommendation:
    """Race five learning rates a factor of about 3 apart, four times in a run.

    They are judged by averaged weights (``ema_`` + loss) until 60 % of the run, then by ordinary
    ones. It helped on some tasks and harmed on others: compare with leaving the rate alone.

    Args:
        name: the hyperparameter's name, such as "lr".
        epochs: the planned epochs.
        default: the value in the middle; 0.03 where it is left out.
        loss: the name of the validation loss.

    >>> arguments = ema_race("lr", epochs=40, default=0.03)
    >>> arguments["space"], arguments["adapt_every"], arguments["try_for"]
    ({'lr': Ordered(0.003, 0.0095, 0.03, 0.095, 0.3)}, 10, 5)
    """
    epochs, default = _around("ema_race", epochs, TYPICAL_RATE if default is None else default)
    return Recommendation(
        space={require_name("ema_race: name", name): Ordered(*_steps(default, low=0.1, high=10.0))},
        criterion=phased(lowest(f"ema_{loss}"), lowest(loss), at=0.6),
        adapt_every=math.ceil(epochs / 4),
        try_for=max(1, round(epochs / 8)),
        proposer=FullGrid(),
        # Measured with runs of 40 epochs, racing after each; longer runs race after the same share.
        selection=Racing(keep=0.5, every=max(1, round(epochs / 40))),
    )


def _cautious(name: str, epochs: int, default: float, loss: str) -> Recommendation:
    # These kinds are shares: above the default there is nothing from 1 on.
    steps = _steps(default, low=0.25, high=4.0)
    return Recommendation(
        space={name: Ordered(*(step for step in steps if step <= default or step < 1))},
        criterion=lowest(loss),
        adapt_every=math.ceil(epochs / 8),
        try_for=max(1, epochs // 16),
        proposer=Neighbors(),
        selection=BestByMargin(noise=2.0),
    )


def _steps(default: float, *, low: float, high: float) -> list[float]:
    ratio = (high / low) ** 0.25
    steps = [float(f"{default * low * ratio**i:.2g}") for i in range(5)]
    steps[2] = float(default)
    return steps
