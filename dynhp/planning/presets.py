"""Presets: plain functions that return the policy for a known purpose."""

from __future__ import annotations

import math
import sys
from typing import Literal

from dynhp._checks import (
    require_count,
    require_name,
    require_number,
    require_whole,
    require_word,
)
from dynhp.advice import LEAVE_ALONE, canonical_name
from dynhp.criteria import Criterion, highest, lowest, phased, smallest_gap, smoothed, worse_of
from dynhp.errors import LeaveItAlone, SettingsError, nearest, shown
from dynhp.policy import Policy
from dynhp.proposers import Climb, Ladder, Neighbors
from dynhp.records.units import EPOCHS
from dynhp.selection import BestByMargin, Racing
from dynhp.snapshots import Snapshots
from dynhp.spaces import Around, Ordered, Space, SpaceLike
from dynhp.tails import annealed, at_peak, averaged, scheduled
from dynhp.tails.contract import Course
from dynhp.tails.schedules import Shape
from dynhp.triggers import At, Every, OnPlateau, OnSpike, Settled

TYPICAL_RATE = 0.03
"""The middle of the values tried if no default is given."""

LADDER_SHARE = 0.03
"""How much of the run one try of the ladder takes."""

LENGTH_POWER = 0.5
"""What suits a run is what suits a try, divided by the square root of how much longer it is."""

WITHOUT_ENDING = 0.56
"""A rate that stays to the end must be lower than one that falls, or whose weights are averaged."""

Ending = Literal["schedule", "average"]
"""How a run with a searched rate ends: the rate falls, or the weights are averaged."""


def paper(
    space: SpaceLike,
    alpha: int,
    beta: int,
    *,
    criterion: Literal["validation", "gap"] = "validation",
    train: str = "train_auc",
    validation: str = "val_auc",
) -> Policy:
    """The settings of the AdaGrid paper: full grid, the better mean over the try epochs wins.

    Args:
        space: the hyperparameters and their values.
        alpha: the epochs of a round.
        beta: the epochs of a try.
        criterion: what is judged: the "validation" metric, or its "gap" to the training metric.
        train: the name of the training metric.
        validation: the name of the validation metric.

    >>> paper({"edge_message_ratio": [0.2, 0.5, 0.8]}, 10, 1).criterion
    smoothed(highest('val_auc'), None)
    """
    alpha, beta = require_count("alpha", alpha), require_count("beta", beta)
    require_word("criterion", criterion, ("validation", "gap"))
    judge = highest(validation) if criterion == "validation" else smallest_gap(train, validation)
    return Policy(
        space=Space(space),
        criterion=smoothed(judge),
        when=Every(alpha),
        try_for=beta,
    )


def recommended(
    kind: str,
    *,
    epochs: int | None = None,
    default: float | None = None,
    name: str | None = None,
    loss: str | None = None,
    val_loss: str = "val_loss",
    maximize: str | None = None,
    ending: Ending | None = "schedule",
    schedule: Shape = "wsd",
    force: bool = False,
) -> Policy:
    """What research recommends for this kind of hyperparameter, around a default value.

    For a learning rate: a ladder before the run. Rates of a fixed grid (1, 0.316, 0.1, ...) are
    tried on copies of the first state for 3 % of the run each, warmed up and annealed to zero: the
    one next to the default and one ten times as high, then neighbours of the best until two are
    worse on each side. A try is judged by the mean training loss of its last third, or by its
    validation loss if that is reported and higher. What suits a long run is lower than what suits
    a short try: the run takes the peak between the best rates, times the square root of the share
    of the run that a try is. It begins in its first state, and brings its own ending.

    Args:
        kind: the kind of hyperparameter, such as "learning_rate".
        epochs: the planned epochs; for a learning rate, if it is left out, those of the run.
        default: where to start. If it is left out, a learning rate starts at the one in force (the
            optimiser's, say), or at 0.03 if none is known.
        name: the hyperparameter's name; ``kind`` if it is left out.
        loss: the loss that tries are judged by: "train_loss" for a learning rate, else "val_loss".
        val_loss: for a learning rate, a loss on held-out data that has a say where it is reported.
        maximize: in place of both, the metric that is judged if higher is better, as a reward.
        ending: how a run with a searched rate ends: by a "schedule", if no scheduler of your own
            drives the rate; by the "average" of the last weights, at a constant rate, where the
            integration can do that; None: at a constant rate, which is chosen lower then.
        schedule: its shape: "wsd" warms up, stays and falls to zero, "cosine" and "linear" fall all
            the way. It is set in every epoch, or in every step if steps are known.
        force: give cautious settings in place of the advice to leave it alone.

    >>> policy = recommended("learning_rate", default=0.03)
    >>> policy.space, policy.course, policy.tail_epochs(100)
    (Space(learning_rate=Around(0.03, anchor=1.0)), scheduled('learning_rate', 'wsd'), 3)
    """
    known = {"learning_rate", *LEAVE_ALONE}
    if not isinstance(kind, str) or canonical_name(kind) not in known:
        raise SettingsError(
            f"recommended: nothing is known about {shown(kind)}{nearest(kind, known)}"
        )
    name = require_name("recommended: name", kind if name is None else name)
    if canonical_name(kind) == "learning_rate":
        if maximize is not None:
            if loss is not None:
                raise SettingsError(
                    f"recommended: give loss= or maximize=, got {shown(loss)} and {shown(maximize)}"
                )
            judged = highest(maximize)
            judge = smoothed(judged, 1 / 3)
        else:
            judged = lowest("train_loss" if loss is None else loss)
            judge = smoothed(judged, 1 / 3)
            if judged != lowest(val_loss):
                judge = worse_of(judge, lowest(val_loss))
        return _ladder(
            name,
            epochs=epochs,
            default=default,
            judge=judge,
            learns=judged,
            ending=_chosen_ending(name, ending, schedule),
        )
    if not force:
        raise LeaveItAlone(
            f"{kind}: leave it alone; {LEAVE_ALONE[canonical_name(kind)]}. Nothing tried beat the "
            "default value; force=True gives cautious settings, to be used with a Shadow"
        )
    epochs = require_whole("recommended: epochs", epochs, least=4)
    default = _require_positive("recommended", default)
    # These kinds are shares: above the default there is nothing from 1 on.
    steps = [step for step in _steps(default, low=0.25, high=4.0) if step <= default or step < 1]
    return Policy(
        space=Space({name: Ordered(*steps)}),
        criterion=lowest("val_loss" if loss is None else loss),
        when=Every(math.ceil(epochs / 8)),
        try_for=max(1, epochs // 16),
        proposer=Neighbors(),
        selection=BestByMargin(noise=2.0),
    )


def _chosen_ending(name: str, ending: Ending | None, schedule: Shape) -> Course | None:
    """How the rate goes along the run, and what becomes of the weights."""
    require_word("recommended: ending", ending, ("schedule", "average", None))
    shape = scheduled(name, schedule)  # refuses what is no shape
    if ending == "schedule":
        return shape
    return averaged() if ending == "average" else None


def _ladder(
    name: str,
    *,
    epochs: int | None,
    default: float | None,
    judge: Criterion,
    learns: Criterion,
    ending: Course | None,
) -> Policy:
    start = _require_positive("recommended", TYPICAL_RATE if default is None else default)
    tail = annealed(name, epochs=LADDER_SHARE)
    if epochs is not None:
        planned = require_whole("recommended: epochs", epochs, least=1)
        tail = annealed(name, epochs=tail.length(planned, EPOCHS))
    return Policy(
        space=Space({name: Around(start, anchor=1.0)}),
        criterion=judge,
        when=At([0]),
        try_for=0,
        tail=tail,
        keep="value",
        then=at_peak(name, power=LENGTH_POWER, factor=WITHOUT_ENDING if ending is None else 1.0),
        course=ending,
        proposer=Climb(learns=learns),
        # Without a default the value in force is the start.
        initial=None if default is None else {name: float(start)},
    )


def ema_race(
    name: str, *, epochs: int, default: float | None = None, loss: str = "val_loss"
) -> Policy:
    """Race five learning rates a factor of about 3 apart, four times in a run.

    They are judged by averaged weights (``ema_`` + loss) until 60 % of the run, then by ordinary
    ones. It helped on some tasks and harmed on others: compare with leaving the rate alone.

    Args:
        name: the hyperparameter's name, such as "lr".
        epochs: the planned epochs.
        default: the value in the middle; 0.03 if it is left out.
        loss: the name of the validation loss.

    >>> policy = ema_race("lr", epochs=40, default=0.03)
    >>> policy.space, policy.adapt_every, policy.try_for
    (Space(lr=Ordered(0.003, 0.0095, 0.03, 0.095, 0.3)), 10, 5)
    """
    epochs = require_whole("ema_race: epochs", epochs, least=4)
    default = _require_positive("ema_race", TYPICAL_RATE if default is None else default)
    name = require_name("ema_race: name", name)
    return Policy(
        space=Space({name: Ordered(*_steps(default, low=0.1, high=10.0))}),
        criterion=phased(lowest(f"ema_{loss}"), lowest(loss), at=0.6),
        when=Every(math.ceil(epochs / 4)),
        try_for=max(1, round(epochs / 8)),
        # Measured with runs of 40 epochs, racing after each; longer runs race after the same share.
        selection=Racing(keep=0.5, every=max(1, round(epochs / 40))),
    )


def plateau(
    name: str,
    *,
    default: float,
    loss: str = "val_loss",
    patience: int = 5,
    factor: float = 3.0,
    steps: int = 5,
    max_rounds: int | None = None,
) -> Policy:
    """Lower a rate on a plateau, from the best state, and only if the lower one proves better.

    As ``ReduceLROnPlateau`` does, but each lower value must win a try of ``patience`` epochs from
    the best state so far against staying.

    Args:
        name: the hyperparameter's name, such as "lr".
        default: its value at the start, the highest.
        loss: the name of the validation loss, reported after every epoch.
        patience: how many epochs without an improvement are a plateau; a try is as long.
        factor: each value is the one above it divided by this.
        steps: how many lower values there are; a round tries the next one.
        max_rounds: the most rounds; by default as many as there are lower values.

    >>> plateau("lr", default=0.1, steps=2).space
    Space(lr=Ordered(0.0111, 0.0333, 0.1))
    """
    patience = require_count("plateau: patience", patience)
    return Policy(
        space=_ladder_down("plateau", name, default, factor, steps),
        initial={name: float(default)},
        criterion=smoothed(lowest(loss)),
        when=OnPlateau(loss, patience=patience),
        try_for=patience,
        proposer=Ladder(1),
        start_from="best",
        max_rounds=require_count(
            "plateau: max_rounds", steps if max_rounds is None else max_rounds
        ),
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
) -> Policy:
    """Do nothing until training breaks; then go back to the last healthy state and try lower rates.

    It breaks if the loss is not finite or spikes, or if training raises (in a loop: inside
    ``with epoch:``). The value in force is tried too, past the data that broke it if the trainer
    can be reseeded. A run in which nothing breaks is the plain run, and costs no epoch more.

    Args:
        name: the hyperparameter's name, such as "lr".
        default: its value at the start, the highest.
        loss: the name of the loss, reported after every epoch.
        spike: how many times the median of the last values is a spike.
        window: how many of the last values that are.
        down: how many lower values a rescue tries.
        factor: each value is the one above it divided by this.
        steps: how many lower values there are in all.
        try_for: the epochs of a try.
        max_rescues: after this many rescues the next failure ends the run, in a healthy state.
        every: how many epochs lie between snapshots; two are held, or more where ``lag`` needs it.
        lag: 1 if the loss is measured before the last update of an epoch, as training losses
            often are: then the state is already worse than the loss says.

    >>> policy = rescue("lr", default=0.1, loss="train_loss")
    >>> policy.when.metric, policy.max_rescues, policy.proposer
    ('train_loss', 5, Ladder(down=3))
    """
    return Policy(
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


def settled(
    metric: str = "val_loss",
    *,
    factor: float = 2.0,
    least: int = 5,
    better: Literal["lower", "higher"] = "lower",
    average: bool = True,
) -> Policy:
    """Train until it has settled: nothing is adapted, and the length need not be known.

    At a constant rate, with the weights of the last tenth so far averaged, until twice the time of
    the best average has passed. ``loop.deliver()`` makes that average the model.

    Args:
        metric: what says so, measured with the averaged weights if there are any.
        factor: how many times the time of the best value must have passed.
        least: how often the metric must have been measured since the best value.
        better: whether "lower" or "higher" is better.
        average: whether weights are averaged, by something in the state of the loop such as
            ``AveragedWeights(model, share=0.1)`` of an integration; without it, the best epoch is
            delivered as it is.

    >>> policy = settled("val_loss")
    >>> policy.until, policy.course, len(policy.space)
    (Settled(metric='val_loss', factor=2.0, least=5, better='lower'), averaged(), 0)
    """
    rule = Settled(metric, factor=factor, least=least, better=better)
    require_word("settled: average", average, (True, False))
    return Policy(
        space=Space.empty(),
        criterion=rule.criterion,
        when=At([0]),
        try_for=1,
        max_rounds=0,
        course=averaged() if average else None,
        until=rule,
    )


def _require_positive(preset: str, default: float | None) -> float:
    rule = "be a positive number"
    return require_number(f"{preset}: default", default, rule, lambda value: 0 < value < math.inf)


def _steps(default: float, *, low: float, high: float) -> list[float]:
    """Five values, each the same factor apart, with the default in the middle."""
    ratio = (high / low) ** 0.25
    steps = [float(f"{default * low * ratio**i:.2g}") for i in range(5)]
    steps[2] = float(default)
    return steps


def _ladder_down(preset: str, name: str, default: float, factor: float, steps: int) -> Space:
    """The default and the values below it, each a factor lower, as they are written by hand."""
    require_name(f"{preset}: name", name)
    _require_positive(preset, default)
    rule = "be a number above 1"
    require_number(f"{preset}: factor", factor, rule, lambda value: 1 < value < math.inf)
    steps = require_count(f"{preset}: steps", steps)
    if math.log(default) - steps * math.log(factor) < math.log(sys.float_info.min):
        raise SettingsError(
            f"{preset}: the lowest value must be a number above 0, got {shown(default)} divided "
            f"{steps} times by {shown(factor)}; use fewer steps"
        )
    lower = [float(f"{default / factor**step:.3g}") for step in range(steps, 0, -1)]
    return Space({name: Ordered(*lower, float(default))})
