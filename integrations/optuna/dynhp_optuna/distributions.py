"""Axes as Optuna's distributions, and values on the way there and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dynhp import Categorical, Float, Int
from dynhp.records import Value
from dynhp.spaces import Around, Axis
from dynhp.spaces.axis import ScaledAxis

__all__ = ["distribution_of", "from_optuna", "range_of", "size_of", "to_optuna"]
__all__ += ["values_of"]


def distribution_of(axis: Axis) -> BaseDistribution:
    """Where a sampler looks for values of this axis.

    A list with an order (``Ordered``, or an axis of your own) is the places of its values, so that
    a sampler knows which are next to each other, whether they are numbers or not. An axis without
    ends (``Around``) is searched within a step of its start.

    >>> from dynhp import Ordered
    >>> distribution_of(Float(1e-4, 1e-1, log=True))
    FloatDistribution(high=0.1, log=True, low=0.0001, step=None)
    >>> distribution_of(Ordered("small", "medium", "large"))
    IntDistribution(high=2, log=False, low=0, step=1)
    """
    axis = _bounded(axis)
    if isinstance(axis, Float):
        return FloatDistribution(axis.low, axis.high, log=axis.log)
    if isinstance(axis, Int):
        return IntDistribution(axis.low, axis.high, log=axis.log)
    if isinstance(axis, Categorical):
        return CategoricalDistribution(axis.values)
    return IntDistribution(0, len(axis.grid()) - 1)


def to_optuna(axis: Axis, value: Value) -> Any:
    """A value of the axis as a parameter; one between the listed ones has the nearest place.

    >>> from dynhp import Ordered
    >>> to_optuna(Ordered(16, 32, 64), 64), to_optuna(Float(0.0, 1.0), 0.25)
    (2, 0.25)
    """
    if isinstance(axis, Around):
        least, *_, most = axis.grid()
        return min(most, max(least, axis.cast(value)))
    if isinstance(axis, Float | Int | Categorical):
        return value
    grid = list(axis.grid())
    if value in grid:
        return grid.index(value)
    between = isinstance(axis, ScaledAxis) and axis.scaled
    return round(axis.position(value) * (len(grid) - 1)) if between else 0  # type: ignore[attr-defined]


def from_optuna(axis: Axis, parameter: Any) -> Value:
    """A parameter as a value of the axis: in its type, and inside its bounds.

    >>> from dynhp import Ordered
    >>> from_optuna(Ordered(16, 32, 64), 2), from_optuna(Float(0.0, 1.0), 1.0000001)
    (64, 1.0)
    """
    axis = _bounded(axis)
    if isinstance(axis, Float | Int):  # of a log scale, exp and log may leave the bounds by a bit
        parameter = min(axis.high, max(axis.low, parameter))
    if isinstance(axis, Float | Int | Categorical):
        return axis.cast(parameter)
    return axis.grid()[int(parameter)]


def size_of(axis: Axis) -> float:
    """How many values a sampler can choose from.

    >>> size_of(Int(1, 4)), size_of(Float(0.0, 1.0))
    (4, inf)
    """
    return math.inf if isinstance(axis, Around | Float) else len(values_of(axis))


def values_of(axis: Axis) -> Sequence[Value]:
    """All values of an axis, of a range of real numbers those of its grid.

    >>> values_of(Int(1, 9, points=3))
    range(1, 10)
    """
    return range(axis.low, axis.high + 1) if isinstance(axis, Int) else axis.grid()


def range_of(values: Sequence[Value], axis: Axis | None = None) -> BaseDistribution:
    """Where the values of a finished run lie, as they are, for pictures.

    Numbers are a range, on a log scale where they are positive and differ by a factor above 10;
    everything else is a list.

    >>> range_of([0.001, 0.1]), range_of(["adam", "sgd", "adam"])
    (FloatDistribution(high=0.1, log=True, low=0.001, step=None), \
CategoricalDistribution(choices=('adam', 'sgd')))
    """
    if isinstance(axis, Float | Int):
        return distribution_of(axis)  # not of Around, whose values may lie farther away
    listed: list[Any] = [*(() if axis is None else axis.grid()), *values]
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in listed):
        return CategoricalDistribution(_distinct(listed))
    low, high = min(listed), max(listed)
    log = low > 0 and high > 10 * low
    if all(isinstance(each, int) for each in listed):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _bounded(axis: Axis) -> Axis:
    if not isinstance(axis, Around):
        return axis
    least, *_, most = axis.grid()
    return Float(least, most, log=True)
