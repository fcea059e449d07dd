"""What is left of rounds on the main line, where later ones started from an earlier state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dynhp.records.metrics import Measured

if TYPE_CHECKING:
    from dynhp.records.history import Round, Try

__all__ = ["kept_epochs", "measured_on", "without_tail"]


def kept_epochs(rounds: Sequence[Round], *, until: int | None = None) -> list[int]:
    """How many epochs of each round are on the main line: those that no later one left behind.

    ``until`` says that the main line itself was put back to so many epochs.

    >>> kept_epochs([])
    []
    """
    kept: list[int] = []
    for round_ in reversed(rounds):
        end = round_.start + round_.epochs
        kept.append(max(0, (end if until is None else min(end, until)) - round_.start))
        if round_.abandoned:
            until = round_.start if until is None else min(round_.start, until)
    return kept[::-1]


def measured_on(rounds: Sequence[Round], *, until: int | None = None) -> Measured:
    """All that was measured on the main line: the number of each epoch, and its metrics."""
    return tuple(
        each
        for round_, epochs in zip(rounds, kept_epochs(rounds, until=until), strict=True)
        for each in round_.measured
        if each[0] < round_.start + epochs
    )


def without_tail(try_: Try) -> Try:
    """A try as it was before its tail began."""
    epochs = try_.epochs - try_.tail
    measured = [(place, metrics) for place, metrics in try_.measured if place < epochs]
    return replace(
        try_,
        series=tuple(metrics for _, metrics in measured),
        epochs=epochs,
        tail=0,
        reported=tuple(place + 1 for place, _ in measured) if try_.reported else (),
    )
