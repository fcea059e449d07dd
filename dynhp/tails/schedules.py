"""Schedules: how a value goes along the main line, as a factor by how far the run is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dynhp._checks import require_name, require_number, require_word
from dynhp.errors import SettingsError
from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp.tails.contract import require_floats

__all__ = ["Scheduled", "Shape", "scheduled", "wsd"]

Shape = Literal["wsd", "cosine", "linear"]
"""How a schedule goes after its warm-up: it stays and then falls, or it falls all the way."""


_WARM_UP = 0.02


def wsd(progress: float, *, warm_up: float = _WARM_UP, decay_from: float = 0.7) -> float:
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


@dataclass(frozen=True, slots=True, repr=False)
class Scheduled:
    """The schedule made by ``scheduled``."""

    name: str
    shape: Shape
    warm_up: float

    def __repr__(self) -> str:
        warm_up = "" if self.warm_up == _WARM_UP else f", warm_up={self.warm_up!r}"
        return f"scheduled({self.name!r}, {self.shape!r}{warm_up})"

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The value times the factor at this point of the run."""
        value = candidate[self.name]
        return candidate.but({self.name: value * self.factor(progress)})  # type: ignore[operator]

    def factor(self, progress: float) -> float:
        """The factor at this point of the run; what lies outside of 0 to 1 is the nearer end.

        >>> [scheduled("lr", "linear").factor(progress) for progress in (0.01, 0.02, 0.51, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        if self.shape == "wsd":
            return wsd(progress, warm_up=self.warm_up)
        progress = min(1.0, max(0.0, progress))
        if progress < self.warm_up:
            return progress / self.warm_up
        left = (1 - progress) / (1 - self.warm_up)
        return left if self.shape == "linear" else (1 - math.cos(math.pi * left)) / 2

    def require_space(self, space: Space) -> None:
        """Refuse a name that is not there, or that has values other than floats."""
        require_floats(self, self.name, space, purpose="scheduled")


def scheduled(name: str, shape: Shape = "wsd", *, warm_up: float = _WARM_UP) -> Scheduled:
    """Let a value follow a schedule along the main line: it is warmed up, and ends at zero.

    Each epoch (or step) is trained with the value times the factor in its middle. What is chosen,
    and what records call the value in force, is the height of the schedule.

    Args:
        name: the hyperparameter, such as "lr".
        shape: "wsd" stays at the height until 70 % of the run and falls in a straight line,
            "cosine" and "linear" fall all the way.
        warm_up: the share of the run in which the value rises to its height.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.planning import schedule_of
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 1.0]}, minimize="loss",
    ...                              adapt_every=5, try_for=1, course=scheduled("lr", "linear"))
    >>> adapter.run(5)[0].candidate
    Candidate(lr=1.0)
    >>> [round(values["lr"], 2) for _, values in schedule_of(adapter).as_list()]
    [0.92, 0.71, 0.51, 0.31, 0.1]
    """
    require_name("scheduled: name", name)
    require_word("scheduled: shape", shape, get_args(Shape))
    rule = "be a share from 0 up to below 0.7"
    require_number("scheduled: warm_up", warm_up, rule, lambda share: 0 <= share < 0.7)
    return Scheduled(name, shape, float(warm_up))
