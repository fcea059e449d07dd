"""Metrics as records hold them: a dictionary that cannot be written to, in which nan equals nan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, NoReturn, TypeAlias

__all__ = ["FixedMetrics", "Measured", "Metrics", "equal_records", "fixed_metrics"]
__all__ += ["same_content"]

Metrics: TypeAlias = Mapping[str, float]
"""What a trainer measures, by name."""

Measured: TypeAlias = tuple[tuple[int, Metrics], ...]
"""What was measured after which epochs: the number of each, from 0, and its metrics."""


def same_content(value: Any, other: Any) -> bool:
    """Whether two fields of a record say the same; a nan says the same as any other nan.

    >>> same_content(float("nan"), float("nan")), same_content(0.5, float("nan"))
    (True, False)
    """
    return bool(value == other or (value != value and other != other))


class FixedMetrics(dict[str, float]):
    """Metrics that never change. A dictionary, so that JSON, pickle and ``**`` take them as one.

    >>> metrics = FixedMetrics({"loss": float("nan")})
    >>> metrics == FixedMetrics({"loss": float("nan")}), metrics
    (True, {'loss': nan})
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a record never changes; dict(metrics) gives a copy that can be written to")

    __setitem__ = __delitem__ = _refuse
    __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __eq__(self, other: object) -> bool:
        if dict.__eq__(self, other) is True:
            return True
        # No nan equals another, so dictionaries with one differ if it is another object.
        return (
            isinstance(other, Mapping)
            and len(self) == len(other)
            and all(name in other and same_content(self[name], other[name]) for name in self)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __copy__(self) -> FixedMetrics:
        return self

    def __reduce__(self) -> tuple[type[FixedMetrics], tuple[dict[str, float]]]:
        return FixedMetrics, (dict(self),)  # pickle would otherwise write item by item


def fixed_metrics(metrics: Metrics) -> FixedMetrics:
    """The metrics as a record holds them: a copy, unless they are of this kind already.

    >>> fixed_metrics({"loss": 0.5})
    {'loss': 0.5}
    """
    return metrics if type(metrics) is FixedMetrics else FixedMetrics(metrics)


@cache
def _compared(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.compare)


def equal_records(record: Any, other: object) -> bool:
    """Field by field, nan equal to nan: what dataclasses make of it differs by Python's version."""
    if other.__class__ is not record.__class__:
        return NotImplemented  # type: ignore[no-any-return]
    names = _compared(record.__class__)  # type: ignore[arg-type]
    return all(same_content(getattr(record, name), getattr(other, name)) for name in names)
