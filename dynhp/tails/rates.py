"""For learning rates: a tail that anneals them, a correction by a factor, and a schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynhp._checks import is_number, require_name, require_number
from dynhp.errors import SettingsError, advise, nearest, shown
from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp.spaces.axis import short_float
from dynhp.tails.contract import epochs_of, require_length

LEAST = 3
"""The epochs that a tail given as a share has at least: up, on, and down."""


@dataclass(frozen=True, slots=True, repr=False)
class Annealed:
    """What ``annealed`` gives."""

    name: str
    epochs: float
    warm_up: float

    def __repr__(self) -> str:
        return f"annealed({self.name!r}, epochs={self.epochs!r}, warm_up={self.warm_up!r})"

    def length(self, planned: int | None) -> int:
        """The epochs, or this share of the planned ones; a hint if the run is too short."""
        length = epochs_of(repr(self), self.epochs, planned, least=LEAST)
        if planned is not None and length > 1.5 * self.epochs * planned:
            advise(
                f"each try takes {length} epochs or steps at least, {length / planned:.0%} of this "
                f"run of {planned} and not {self.epochs:.0%}, so the search is dear (the plan says "
                "how dear). Count steps in place of epochs, as with adapt(steps=...), or find the "
                "rate once and keep it",
                about=("short run", self, planned),
            )
        return length

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The value times a factor that rises to 1 and falls to 0."""
        if progress < self.warm_up:
            factor = progress / self.warm_up
        else:
            factor = (1 - progress) / (1 - self.warm_up)
        return candidate.but({self.name: candidate[self.name] * factor})  # type: ignore[operator]

    def require_space(self, space: Space) -> None:
        """Refuse a name that is not there, or that has no numbers."""
        if self.name not in space:
            raise SettingsError(
                f"{self!r}: no hyperparameter {self.name!r}{nearest(self.name, space)}"
            )
        for value in space[self.name].grid():
            if not isinstance(value, float) or not is_number(value):
                raise SettingsError(
                    f"{self!r}: {self.name} must be a float to be annealed, got {shown(value)}; "
                    "write 1.0 for 1, and leave words and counts alone"
                )


def annealed(name: str, *, epochs: float = 0.05, warm_up: float = 0.2) -> Annealed:
    """A tail in which one value is warmed up and then goes down to zero, both in a straight line.

    Args:
        name: the hyperparameter's name, such as "lr".
        epochs: how many epochs the tail has; below 1, the share of the planned run (to the nearest
            whole number, and at least 3).
        warm_up: the share of the tail in which the value rises to its height.

    >>> tail = annealed("lr", epochs=5)
    >>> [round(tail.at(Candidate({"lr": 1.0}), at)["lr"], 3) for at in (0.1, 0.2, 0.6, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    require_name("annealed: name", name)
    length = require_length("annealed: epochs", epochs)
    require_number(
        "annealed: warm_up",
        warm_up,
        "be a share from 0 up to below 1",
        lambda share: 0 <= share < 1,
    )
    return Annealed(name, length, float(warm_up))


@dataclass(frozen=True, slots=True, repr=False)
class Scale:
    """What ``scale`` gives."""

    factor: float
    name: str | None = None

    def __repr__(self) -> str:
        return f"scale({self.factor!r}{'' if self.name is None else f', {self.name!r}'})"

    def __call__(self, candidate: Candidate) -> Candidate:
        """The candidate with its one value scaled, or with the one that is named."""
        names = list(candidate)
        name = names[0] if self.name is None else self.name
        if self.name is None and len(names) > 1:
            raise SettingsError(
                f"{self!r} must say which of {', '.join(names)} it multiplies; write "
                f"scale({self.factor!r}, {name!r})"
            )
        if name not in names:
            raise SettingsError(f"{self!r}: no hyperparameter {name!r}{nearest(name, names)}")
        value = candidate[name]
        if not is_number(value):
            raise SettingsError(
                f"{self!r} multiplies numbers, got {name}={shown(value)}; leave it out, or write a "
                "function of a candidate"
            )
        return candidate.but({name: short_float(value * self.factor)})


def scale(factor: float, name: str | None = None) -> Scale:
    """Multiply the winner's value by this factor before the main line goes on with it.

    Short annealed tries favour learning rates that are too high for a long run; the same factor
    corrects them all. The product is rounded to six digits.

    Args:
        factor: what the value is multiplied by.
        name: the hyperparameter; it can be left out if there is only one.

    >>> scale(0.1)(Candidate({"lr": 0.3}))
    Candidate(lr=0.03)
    >>> scale(0.1, "lr")(Candidate({"lr": 0.3, "weight_decay": 0.01}))
    Candidate(lr=0.03, weight_decay=0.01)
    """
    require_number(
        "scale: factor", factor, "be a positive number", lambda number: 0 < number < math.inf
    )
    return Scale(float(factor), None if name is None else require_name("scale: name", name))


def wsd(progress: float, *, warm_up: float = 0.02, decay_from: float = 0.7) -> float:
    """The factor of a rate: it rises in a straight line to 1, stays, and falls to 0.

    For the step number i of n, take the progress in its middle, ``(i + 0.5) / n``.

    Args:
        progress: how far the run is, from 0 to 1; what lies outside counts as the nearer end.
        warm_up: the share of the run in which the factor rises.
        decay_from: the progress from which on it falls.

    >>> [wsd(progress) for progress in (0.0, 0.01, 0.02, 0.5, 0.7, 1.0)]
    [0.0, 0.5, 1.0, 1.0, 1.0, 0.0]
    """
    require_number("wsd: progress", progress, "be a number", lambda number: number == number)
    for name, share in (("warm_up", warm_up), ("decay_from", decay_from)):
        require_number(f"wsd: {name}", share, "be a share from 0 to 1", lambda each: 0 <= each <= 1)
    if warm_up > decay_from:
        raise SettingsError(
            f"wsd: warm_up must end before the decay, got warm_up={warm_up} and "
            f"decay_from={decay_from}"
        )
    progress = min(1.0, max(0.0, progress))
    if progress < warm_up:
        return progress / warm_up
    return 1.0 if progress <= decay_from else (1 - progress) / (1 - decay_from)
