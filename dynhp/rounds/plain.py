"""Records to and from plain data: dictionaries, lists, strings and numbers that JSON can carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dynhp.records import Candidate, History, Metrics, Round, Try

__all__ = ["history_from_plain", "history_to_plain", "round_from_plain", "round_to_plain"]
__all__ += ["try_from_plain", "try_to_plain"]


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
    """Write one round as plain data."""
    return {
        "index": round_.index,
        "start": round_.start,
        "epochs": round_.epochs,
        "previous": dict(round_.previous),
        "tries": [try_to_plain(try_) for try_ in round_.tries],
        "chosen": round_.chosen,
        "reason": round_.reason,
        "metrics": _metrics_to_plain(round_.metrics),
        "seed": round_.seed,
        "restarted": round_.restarted,
        "seconds": round_.seconds,
    }


def round_from_plain(plain: Mapping[str, Any]) -> Round:
    """Read one round back."""
    return Round(
        index=plain["index"],
        start=plain["start"],
        epochs=plain["epochs"],
        previous=Candidate(plain["previous"]),
        tries=tuple(try_from_plain(item) for item in plain["tries"]),
        chosen=plain["chosen"],
        reason=plain["reason"],
        metrics=_metrics_from_plain(plain["metrics"]),
        seed=plain["seed"],
        restarted=plain["restarted"],
        seconds=plain["seconds"],
    )


def try_to_plain(try_: Try) -> dict[str, Any]:
    """Write one try as plain data."""
    return {
        "candidate": dict(try_.candidate),
        "series": [_metrics_to_plain(metrics) for metrics in try_.series],
        "epochs": try_.epochs,
        "score": _number_to_plain(try_.score),
        "error": try_.error,
        "seed": try_.seed,
        "seconds": try_.seconds,
    }


def try_from_plain(plain: Mapping[str, Any]) -> Try:
    """Read one try back."""
    return Try(
        candidate=Candidate(plain["candidate"]),
        series=tuple(_metrics_from_plain(metrics) for metrics in plain["series"]),
        epochs=plain["epochs"],
        score=_number_from_plain(plain["score"]),
        error=plain["error"],
        seed=plain["seed"],
        seconds=plain["seconds"],
    )


def _metrics_to_plain(metrics: Metrics) -> dict[str, float | str]:
    return {name: _number_to_plain(value) for name, value in metrics.items()}


def _metrics_from_plain(plain: Mapping[str, Any]) -> Metrics:
    return {name: _number_from_plain(value) for name, value in plain.items()}


def _number_to_plain(value: float) -> float | str:
    # JSON has no nan and no infinity; float() reads these names back.
    return value if math.isfinite(value) else str(value)


def _number_from_plain(value: float | str) -> float:
    # The very nan that failed tries have: records that hold the same object are equal.
    return math.nan if value == "nan" else float(value)
