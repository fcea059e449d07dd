"""The events that callbacks get: a round starts, a try ends, a round ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dynhp.records.history import Round, Try
from dynhp.records.units import EPOCHS, Unit

__all__ = ["Callback", "Event", "RoundStarted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """Given to callbacks when a round begins, before its first try.

    Attributes:
        index: the number of the round, from 0.
        start: the epochs of the main line before it.
        epochs: the epochs of the main line in it.
        abandoned: the epochs of the main line before it that it leaves behind.
        planned: the epochs of the whole run, None if that is not known; not compared.
        settings: what decides the run's answer, by name and as text; not compared.
        unit: whether all these are "epochs", or the "steps" of a loop over steps; not compared.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> seen = []
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1]}, criterion=lowest("loss"),
    ...                              adapt_every=3, try_for=1, callbacks=[seen.append])
    >>> history = adapter.run(3); seen[0]
    RoundStarted(index=0, start=0, epochs=3)
    >>> seen[0].planned, seen[0].settings["seed"]
    (3, '0')
    """

    index: int
    start: int
    epochs: int
    abandoned: int = field(default=0, repr=False)
    planned: int | None = field(default=None, repr=False, compare=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    unit: Unit = field(default=EPOCHS, repr=False, compare=False)


Event: TypeAlias = RoundStarted | Try | Round
"""What a callback gets, in this order: the round starts, each try ends, the round ends."""

Callback: TypeAlias = Callable[[Event], None]
"""Called with each event of a run; it sees records, never the trainer."""
