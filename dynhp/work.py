"""What a round asks of its driver: tries to carry out, a stretch of the main line to train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dynhp.contest import Heat
from dynhp.records import Candidate, Metrics
from dynhp.trainer import State

__all__ = ["Stretch", "Tries", "Work"]


@dataclass(slots=True)
class Tries:
    """Carry out the heat's jobs and tell it each outcome in order; the trainer is at ``at``."""

    heat: Heat
    at: State


@dataclass(slots=True)
class Stretch:
    """Train the main line on; a driver that stops early says so in ``epochs``."""

    candidate: Candidate
    epochs: int
    metrics: Metrics = field(default_factory=dict)


Work: TypeAlias = Tries | Stretch
