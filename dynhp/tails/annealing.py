"""A tail in which a learning rate is annealed before a try is judged."""

from __future__ import annotations

from dataclasses import dataclass

from dynhp._checks import require_name, require_number
from dynhp.errors import advise
from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp.tails.contract import epochs_of, require_floats, require_length

LEAST = 3
"""The epochs that a tail given as a share has at least: up, on, and down."""

_MUCH_LONGER = 1.5
"""How many times the share that was asked for a tail may take before there is a hint."""


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
        if planned is not None and length > _MUCH_LONGER * self.epochs * planned:
            advise(
                f"each try takes {length} epochs or steps at least, {length / planned:.0%} of this "
                f"run of {planned} and not {self.epochs:.0%}, so the search is expensive (the plan "
                "says how much). Count steps in place of epochs, as with adapt(steps=...), or find "
                "the rate once and keep it",
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
        require_floats(self, self.name, space, purpose="annealed")


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
