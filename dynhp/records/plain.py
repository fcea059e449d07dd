"""Records to and from plain data: dictionaries, lists, strings and numbers that JSON can carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from dynhp.records import Candidate, History, Metrics, Round, Try
from dynhp.records.units import EPOCHS, read_unit

__all__ = ["history_from_plain", "history_to_plain", "round_from_plain", "round_to_plain"]
__all__ += ["try_from_plain", "try_to_plain"]

Record = TypeVar("Record", Round, Try)


def history_to_plain(history: History) -> list[dict[str, Any]]:
    """Write a history as plain data; nothing is lost, not even a nan.

    >>> history_to_plain(History(()))
    []
    """
    return [round_to_plain(round_) for round_ in history]


def history_from_plain(plain: list[dict[str, Any]]) -> History:
    """Read back what ``history_to_plain`` wrote.

    >>> history_from_plain([]).epochs
    0
    """
    return History(tuple(round_from_plain(item) for item in plain))


def round_to_plain(round_: Round) -> dict[str, Any]:
    """Write one round as plain data: its fields in their order."""
    return _to_plain(round_)


def round_from_plain(plain: Mapping[str, Any]) -> Round:
    """Read one round back."""
    return _from_plain(Round, plain)


def try_to_plain(try_: Try) -> dict[str, Any]:
    """Write one try as plain data: its fields in their order."""
    return _to_plain(try_)


def try_from_plain(plain: Mapping[str, Any]) -> Try:
    """Read one try back."""
    return _from_plain(Try, plain)


def _to_plain(record: Round | Try) -> dict[str, Any]:
    plain = {field.name: getattr(record, field.name) for field in fields(record)}
    for name in _LATER:
        if not plain.get(name, True):
            del plain[name]
    if record.unit == EPOCHS:
        del plain["unit"]
    return {name: _WRITE[name](value) if name in _WRITE else value for name, value in plain.items()}


def _from_plain(kind: type[Record], plain: Mapping[str, Any]) -> Record:
    # Some fields are written only if they hold something; those have a default.
    values = {
        field.name: plain[field.name]
        for field in fields(kind)
        if field.name in plain or (field.default is field.default_factory is MISSING)
    }
    return kind(
        **{name: _READ[name](value) if name in _READ else value for name, value in values.items()}
    )


def _metrics_to_plain(metrics: Metrics) -> dict[str, float | str]:
    return {name: _number_to_plain(value) for name, value in metrics.items()}


def _metrics_from_plain(plain: Mapping[str, Any]) -> Metrics:
    return {name: float(value) for name, value in plain.items()}


def _series_to_plain(series: Sequence[Metrics]) -> list[dict[str, float | str]]:
    return [_metrics_to_plain(metrics) for metrics in series]


def _series_from_plain(plain: Sequence[Mapping[str, Any]]) -> tuple[Metrics, ...]:
    return tuple(_metrics_from_plain(metrics) for metrics in plain)


def _number_to_plain(value: float) -> float | str:
    # JSON has no nan and no infinity; float() reads these names back.
    return value if math.isfinite(value) else str(value)


# Written only if they hold something.
_LATER = (
    "checked",
    "reported",
    "stretch",
    "tolerance",
    "because",
    "rescue",
    "abandoned",
    "failure",
    "ended",
    "tail",
    "corrected",
    "scheduled",
)

# The fields that JSON cannot carry as they are; all others are whole numbers, strings and the like.
_WRITE: dict[str, Callable[[Any], Any]] = {
    "candidate": dict,
    "previous": dict,
    "corrected": dict,
    "series": _series_to_plain,
    "metrics": _metrics_to_plain,
    "score": _number_to_plain,
    "tries": lambda tries: [try_to_plain(try_) for try_ in tries],
    "reported": list,
    "scheduled": lambda values: {name: list(each) for name, each in values.items()},
    "stretch": lambda stretch: [[number, _metrics_to_plain(each)] for number, each in stretch],
}
_READ: dict[str, Callable[[Any], Any]] = {
    "candidate": Candidate,
    "previous": Candidate,
    "corrected": Candidate,
    "series": _series_from_plain,
    "metrics": _metrics_from_plain,
    "score": float,
    "tries": lambda tries: tuple(try_from_plain(plain) for plain in tries),
    "reported": lambda numbers: tuple(map(int, numbers)),
    "stretch": lambda pairs: tuple((int(n), _metrics_from_plain(each)) for n, each in pairs),
    "scheduled": lambda plain: {name: tuple(each) for name, each in plain.items()},
    "unit": read_unit,
}
