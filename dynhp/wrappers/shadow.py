"""An adapter, and the unadapted line trained too for comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dynhp._checks import require_count, require_instance
from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.criteria.contract import require_criterion, score
from dynhp.display import Display
from dynhp.errors import AllTriesFailed, ContractError, DynhpError, SettingsError
from dynhp.main_line.settings import longest_round
from dynhp.planning.budget import Cost, spent
from dynhp.planning.schedule import Segment, follow
from dynhp.records import Event, History, Progress, Round, RoundStarted, Try
from dynhp.rounds.attempt import move_to, put_back, put_in_force
from dynhp.rounds.repeat import REPEATS
from dynhp.rounds.settings import round_lengths
from dynhp.tails.lengths import restarts, tail_epochs
from dynhp.trainer import State

__all__ = ["Delivery", "Shadow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a run with a shadow delivered, and what it cost.

    Attributes:
        delivered: which of the two lines.
        adapted: the rounds of the adapted line.
        shadow: the rounds of the unadapted line.
        adapted_score: what the adapted line is worth at its end, nan where it failed.
        shadow_score: the same of the shadow.
        cost: the epochs of both lines.
        adapted_error: why the adapted line failed, None where it did not.
        shadow_error: the same of the shadow.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, initial={"lr": 0.1})
    >>> delivery = Shadow(adapter, criterion=lowest("loss")).run(2)
    >>> delivery.delivered, round(delivery.adapted_score, 3), round(delivery.shadow_score, 3)
    ('adapted', -0.031, -0.328)
    """

    delivered: Literal["adapted", "shadow"]
    adapted: History
    shadow: History
    adapted_score: float
    shadow_score: float
    cost: Cost
    adapted_error: str | None = None
    shadow_error: str | None = None


class Shadow:
    """An adapter, and the unadapted line trained too; the better of the two is delivered.

    The shadow starts from the same state and keeps the value in force at the start. Ties deliver
    the shadow. A line that fails loses to the other; only where both fail is the error raised.
    Checkpoints hold the adapted line only, so a run with a shadow cannot be resumed.

    Args:
        adapter: the adapter, which must not have trained yet.
        criterion: what judges both lines by their metrics at the end; use a validation metric.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5, 1.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, initial={"lr": 0.1})
    >>> delivery = Shadow(adapter, criterion=lowest("loss")).run(10)
    >>> delivery.delivered, delivery.cost.runs
    ('adapted', 2.6)
    """

    def __init__(self, adapter: DynamicGridAdapter, *, criterion: Criterion) -> None:
        require_instance("Shadow: adapter", adapter, DynamicGridAdapter, "a DynamicGridAdapter")
        require_criterion(criterion)
        self.adapter = adapter
        self.criterion = criterion

    def run(self, epochs: int, *, progress: bool | Display = False) -> Delivery:
        """Train both lines and leave the trainer in the better one's state.

        ``progress`` shows the adapted line, which is trained last.
        """
        epochs = require_count("epochs", epochs)
        if self.adapter.epoch:
            raise SettingsError(
                "a shadow must start with its adapter, which has trained "
                f"{self.adapter.epoch} epochs already; make a new adapter"
            )
        shadow, shadow_score, state, shadow_error, shadow_epochs = self._unadapted(epochs)
        adapted_error: str | None = None
        unfinished = 0
        events: list[Event] = []  # of the round that is not finished
        before, self.adapter.callbacks = (
            self.adapter.callbacks,
            (
                *self.adapter.callbacks,
                lambda event: _note(events, event),
            ),
        )
        try:
            self.adapter.run(epochs, progress=progress)
        except (ContractError, SettingsError):
            raise
        except Exception as failure:
            if shadow_error is not None:
                raise
            adapted_error = f"{type(failure).__name__}: {failure}"
            unfinished = self._begun(events, failure)
        finally:
            self.adapter.callbacks = before
        adapted = self.adapter.history
        adapted_score = math.nan if adapted_error else self._score(adapted)
        better = not math.isfinite(shadow_score) or (
            math.isfinite(adapted_score) and adapted_score > shadow_score
        )
        if adapted_error or not better:
            move_to(self.adapter.trainer, state)
            put_in_force(self.adapter.trainer, shadow[-1].candidate)
        cost = spent(adapted)
        overhead = cost.total + unfinished if adapted_error else cost.overhead + shadow_epochs
        abandoned = 0 if adapted_error else cost.abandoned
        return Delivery(
            delivered="adapted" if better and not adapted_error else "shadow",
            adapted=adapted,
            shadow=shadow,
            adapted_score=adapted_score,
            shadow_score=shadow_score,
            adapted_error=adapted_error,
            shadow_error=shadow_error,
            cost=Cost(main_line=epochs, overhead=overhead, abandoned=abandoned, unit=cost.unit),
        )

    def _unadapted(self, epochs: int) -> tuple[History, float, State, str | None, int]:
        """Train the shadow and put the trainer back to the start, whatever happens.

        It trains a round at a time, so that the epochs of one that fails are known, to the round.
        """
        trainer, values = self.adapter.trainer, self.adapter.current
        start, begun = trainer.get_state(), 0
        try:
            piece = longest_round(self.adapter, planned=epochs)
            while begun + piece < epochs:
                begun += piece
                trainer.train_k(piece, values)
            left, begun = epochs - begun, epochs
            (end,) = follow([Segment(epochs=left, values=values)], trainer)
            whole = replace(end.winner, epochs=epochs)
            shadow = History((replace(end, epochs=epochs, tries=(whole,)),))
            return shadow, self._score(shadow), trainer.get_state(), None, begun
        except DynhpError:
            raise
        except Exception as failure:
            return History(()), math.nan, start, f"{type(failure).__name__}: {failure}", begun
        finally:
            put_back(trainer, start)

    def _begun(self, events: Sequence[Event], failure: Exception) -> int:
        """The epochs begun in the round that failed: its tries, the repeat, and its stretch."""
        tries = [event for event in events if isinstance(event, Try)]
        begun = sum(try_.epochs for try_ in tries)
        if not tries and self.adapter.main_line.due(self.adapter.history) is None:
            return sum(event.epochs for event in events if isinstance(event, RoundStarted))
        if not tries or isinstance(failure, AllTriesFailed):
            return begun
        adapter = self.adapter
        alpha, beta = round_lengths(adapter)
        if adapter.check_is_due:
            once = adapter.selection.stages(len(tries), beta)[0].epochs + tail_epochs(adapter)
            begun += REPEATS * once
        return begun + (alpha if restarts(adapter) else alpha - beta)

    def _score(self, history: History) -> float:
        end = Progress(history.epochs, history.epochs)
        return score(self.criterion, [history.rounds[-1].metrics], end)


def _note(events: list[Event], event: Event) -> None:
    """Keep the events of the round that is under way; none after it has ended."""
    if not isinstance(event, Try):
        events.clear()
    if not isinstance(event, Round):
        events.append(event)
