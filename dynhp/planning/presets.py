"""Presets: plain functions that return the adapter's arguments for a known purpose."""

from __future__ import annotations

import math
from typing import Literal, TypedDict

from dynhp._checks import require_count, require_number, require_whole, require_word
from dynhp.advice import LEAVE_ALONE, kind_of
from dynhp.criteria import Criterion, highest, lowest, phased, smallest_gap, smoothed
from dynhp.errors import LeaveItAlone, SettingsError, nearest, shown
from dynhp.proposers import FullGrid, Neighbors, Proposer
from dynhp.selection import Best, BestByMargin, Racing, Selection
from dynhp.spaces import Ordered

__all__ = ["Arguments", "Recommendation", "paper", "recommended"]


TYPICAL_LEARNING_RATE = 0.03
"""The middle of the values tried where no default is given."""


class Arguments(TypedDict):
    """Keyword arguments of ``DynamicGridAdapter`` and ``adapt``."""

    criterion: Criterion
    adapt_every: int
    try_for: int
    proposer: Proposer
    selection: Selection


class Recommendation(Arguments):
    """The same, with the space."""

    space: dict[str, Ordered]


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


def recommended(
    kind: str,
    *,
    epochs: int | None = None,
    default: float | None = None,
    name: str | None = None,
    loss: str = "val_loss",
    force: bool = False,
) -> Recommendation:
    """What research recommends for this kind of hyperparameter, around a default value.

    For a learning rate: five values a factor of about 3 apart, judged by averaged weights
    (``ema_`` + loss) until 60 % of the run and by ordinary ones after, with racing. For kinds that
    short tries mislead, the answer is the advice to leave it alone, unless forced.

    Args:
        kind: the kind of hyperparameter, such as "learning_rate".
        epochs: the planned epochs.
        default: the value in the middle; for a learning rate 0.03 where it is left out.
        name: the hyperparameter's name; ``kind`` where it is left out.
        loss: the name of the validation loss.
        force: give cautious settings in place of the advice to leave it alone.

    >>> arguments = recommended("learning_rate", epochs=40, default=0.03)
    >>> arguments["space"], arguments["adapt_every"], arguments["try_for"]
    ({'learning_rate': Ordered(0.003, 0.0095, 0.03, 0.095, 0.3)}, 10, 5)
    """
    known = {"learning_rate", *LEAVE_ALONE}
    if not isinstance(kind, str) or kind_of(kind) not in known:
        raise SettingsError(
            f"recommended: nothing is known about {shown(kind)}{nearest(kind, known)}"
        )
    settings = _learning_rate if kind_of(kind) == "learning_rate" else _cautious
    if settings is _cautious and not force:
        raise LeaveItAlone(
            f"{kind}: leave it alone; {LEAVE_ALONE[kind_of(kind)]}. Nothing tried beat the default "
            "value; force=True gives cautious settings, to be used with a Shadow"
        )
    if default is None and settings is _learning_rate:
        default = TYPICAL_LEARNING_RATE
    epochs = require_whole("recommended: epochs", epochs, least=4)
    default = require_number(
        "recommended: default", default, "be a positive number", lambda value: 0 < value < math.inf
    )
    return settings(name or kind, epochs, default, loss)


def _learning_rate(name: str, epochs: int, default: float, loss: str) -> Recommendation:
    return Recommendation(
        space={name: Ordered(*_ladder(default, low=0.1, high=10.0))},
        criterion=phased(lowest(f"ema_{loss}"), lowest(loss), at=0.6),
        adapt_every=math.ceil(epochs / 4),
        try_for=max(1, round(epochs / 8)),
        proposer=FullGrid(),
        # Measured with runs of 40 epochs, racing after each; longer runs race after the same share.
        selection=Racing(keep=0.5, every=max(1, round(epochs / 40))),
    )


def _cautious(name: str, epochs: int, default: float, loss: str) -> Recommendation:
    # These kinds are shares: above the default there is nothing from 1 on.
    steps = _ladder(default, low=0.25, high=4.0)
    return Recommendation(
        space={name: Ordered(*(step for step in steps if step <= default or step < 1))},
        criterion=lowest(loss),
        adapt_every=math.ceil(epochs / 8),
        try_for=max(1, epochs // 16),
        proposer=Neighbors(),
        selection=BestByMargin(noise=2.0),
    )


def _ladder(default: float, *, low: float, high: float) -> list[float]:
    ratio = (high / low) ** 0.25
    steps = [float(f"{default * low * ratio**i:.2g}") for i in range(5)]
    steps[2] = float(default)
    return steps
