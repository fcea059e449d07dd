"""An adapter with the unadapted line trained beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dynhp.adapter import DynamicGridAdapter
from dynhp.budget import Cost, spent
from dynhp.criteria import Criterion, require_criterion, score
from dynhp.errors import SettingsError
from dynhp.proposers import require_count
from dynhp.records import History, Progress
from dynhp.schedule import Segment, follow
from dynhp.trainer import State

__all__ = ["Delivery", "Shadow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a run with a shadow delivered, and what it cost."""

    delivered: Literal["adapted", "shadow"]
    adapted: History
    shadow: History
    adapted_score: float
    shadow_score: float
    cost: Cost


class Shadow:
    """An adapter with the unadapted line trained beside it; the better one is delivered.

    The shadow starts from the same state and keeps the value in force at the start. ``criterion``
    judges both by the metrics at the end (use a validation metric); ties deliver the shadow.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5, 1.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, initial={"lr": 0.1})
    >>> delivery = Shadow(adapter, criterion=lowest("loss")).run(10)
    >>> delivery.delivered, delivery.cost.runs
    ('adapted', 2.4)
    """

    def __init__(self, adapter: DynamicGridAdapter, *, criterion: Criterion) -> None:
        require_criterion(criterion)
        self.adapter = adapter
        self.criterion = criterion

    def run(self, epochs: int) -> Delivery:
        """Train both lines and leave the trainer in the better one's state."""
        require_count("epochs", epochs)
        if self.adapter.epoch:
            raise SettingsError(
                "a shadow must start with its adapter, which has trained "
                f"{self.adapter.epoch} epochs already; make a new adapter"
            )
        shadow, theirs, state = self._unadapted(epochs)
        adapted = self.adapter.run(epochs)
        ours = self._score(adapted)
        better = not math.isfinite(theirs) or (math.isfinite(ours) and ours > theirs)
        if not better:
            self.adapter.trainer.set_state(state)
        cost = spent(adapted)
        return Delivery(
            delivered="adapted" if better else "shadow",
            adapted=adapted,
            shadow=shadow,
            adapted_score=ours,
            shadow_score=theirs,
            cost=Cost(
                main_line=cost.main_line,
                overhead=cost.overhead + epochs,
                candidates=cost.candidates,
            ),
        )

    def _unadapted(self, epochs: int) -> tuple[History, float, State]:
        """Train the shadow and put the trainer back to the start, whatever happens."""
        trainer = self.adapter.trainer
        start = trainer.get_state()
        try:
            shadow = follow([Segment(epochs=epochs, values=self.adapter.current)], trainer)
            return shadow, self._score(shadow), trainer.get_state()
        finally:
            trainer.set_state(start)

    def _score(self, history: History) -> float:
        end = Progress(history.epochs, history.epochs)
        return score(self.criterion, [history.rounds[-1].metrics], end)
