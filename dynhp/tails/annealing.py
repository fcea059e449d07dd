"""A tail in which a learning rate is annealed before a try is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynhp._checks import require_name, require_number
from dynhp.errors import SettingsError, advise
from dynhp.records import Candidate
from dynhp.records.units import Unit
from dynhp.spaces import Space
from dynhp.tails.contract import epochs_of, require_floats, require_length

LEAST: Mapping[Unit, int] = {"epochs": 3, "steps": 20}
"""What a tail given as a share has at least: up, on, and down; shorter ones say little."""

_MUCH_LONGER = 1.5
"""How many times the share that was asked for a tail may take before there is a hint."""

_MOST = 0.5
"""The largest part of a run that a tail given as a share may take."""


@dataclass(frozen=True, slots=True, repr=False)
class Annealed:
    """What ``annealed`` gives."""

    name: str
    epochs: float
    warm_up: float

    def __repr__(self) -> str:
        return f"annealed({self.name!r}, epochs={self.epochs!r}, warm_up={self.warm_up!r})"

    def length(self, planned: int | None, unit: Unit) -> int:
        """The epochs, or this share of the planned ones; a run that is too short is refused."""
        length = epochs_of(repr(self), self.epochs, planned, least=LEAST[unit])
        if planned is None or length <= _MUCH_LONGER * self.epochs * planned:
            return length
        way_out = (
            "count steps in place of epochs, as with adapt(steps=...)"
            if unit == "epochs"
            else "train longer"
        )
        text = (
            f"each try takes {length} {unit} at least, {length / planned:.0%} of this run of "
            f"{planned} and not {self.epochs:.0%}"
        )
        if length > _MOST * planned:
            raise SettingsError(
                f"{text}, so a few whole runs with other values would cost as much; {way_out}, or "
                "find the value once in a longer run and keep it"
            )
        advise(
            f"{text}, so the search is expensive (the plan says how much); {way_out}, or find the "
            "value once and keep it",
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
            whole number, and at least 3 epochs or 20 steps).
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
