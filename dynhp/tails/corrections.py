"""A correction of the winner's value by a factor."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynhp._checks import is_number, require_name, require_number
from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Candidate
from dynhp.spaces.axis import short_float


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
