"""An adapter, and the unadapted line trained too for comparison."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from dynhp._checks import require_count, require_instance
from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.criteria.contract import require_criterion, score
from dynhp.engine.commands import Attempt, Command, Tell, Train
from dynhp.errors import ContractError, DynhpError, SettingsError
from dynhp.executors.attempt import move_to, put_back, put_in_force
from dynhp.middleware.display import Display
from dynhp.middleware.looking import looking
from dynhp.planning.budget import Cost, spent
from dynhp.policy import Policy
from dynhp.records import History, Progress, Round, RoundStarted, Try
from dynhp.trainer import State
from dynhp.triggers import At

Saving: TypeAlias = Callable[[str, DynamicGridAdapter], AbstractContextManager[Any]]
"""Gives the context in which the line of this name is trained, "shadow" or "adapted"."""


def _not_saved(name: str, adapter: DynamicGridAdapter) -> AbstractContextManager[Any]:
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a run with a shadow delivered, and what it cost.

    Attributes:
        delivered: which of the two lines.
        adapted: the rounds of the adapted line.
        shadow: the rounds of the unadapted line.
        adapted_score: what the adapted line is worth at its end, nan if it failed.
        shadow_score: the same for the shadow.
        cost: the epochs of both lines.
        adapted_error: why the adapted line failed, None if it did not.
        shadow_error: the same for the shadow.

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
    the shadow. A line that fails loses to the other; only if both fail, the error is raised.
    ``run_with_checkpoints`` of ``dynhp.storage`` takes it in place of an adapter and saves both.

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

    def run(
        self, epochs: int, *, progress: bool | Display = False, saving: Saving = _not_saved
    ) -> Delivery:
        """Train both lines and leave the trainer in the better one's state.

        ``progress`` shows the adapted line, which is trained last. ``saving`` gives the context in
        which a line is trained: it may load what an earlier process has trained of it.
        """
        epochs = require_count("epochs", epochs)
        if self.adapter.epoch:
            raise SettingsError(
                "a shadow must start with its adapter, which has trained "
                f"{self.adapter.epoch} epochs already; make a new adapter"
            )

        shadow = self._unadapted(epochs, saving)
        error: str | None = None
        trained = _EpochsOfRound()
        try:
            with (
                saving("adapted", self.adapter),
                self.adapter.through(looking(trained.before, trained.after), first=True),
            ):
                self.adapter.run(epochs, progress=progress)
        except (ContractError, SettingsError):
            raise
        except Exception as failure:
            if shadow.error is not None:
                raise
            error = f"{type(failure).__name__}: {failure}"

        adapted = self.adapter.history
        adapted_score = math.nan if error else self._score(adapted)
        cost = spent(adapted)
        total = cost.total + shadow.epochs
        if error:
            delivers_adapted = False
            total += trained.epochs
            abandoned = 0
        else:
            better = math.isfinite(adapted_score) and adapted_score > shadow.score
            delivers_adapted = better or not math.isfinite(shadow.score)
            abandoned = cost.abandoned
        main_line = cost.main_line if delivers_adapted else shadow.epochs

        if not delivers_adapted:
            move_to(self.adapter.trainer, shadow.end)
            put_in_force(self.adapter.trainer, shadow.history[-1].last_values)
        return Delivery(
            delivered="adapted" if delivers_adapted else "shadow",
            adapted=adapted,
            shadow=shadow.history,
            adapted_score=adapted_score,
            shadow_score=shadow.score,
            adapted_error=error,
            shadow_error=shadow.error,
            cost=Cost(
                main_line=main_line,
                overhead=total - main_line - abandoned,
                abandoned=abandoned,
                unit=cost.unit,
            ),
        )

    def _unadapted(self, epochs: int, saving: Saving) -> _ShadowLine:
        """Train the shadow and put the trainer back to the start, whatever happens.

        It is a run without tries, whose rounds are as long as those of the adapted line, so that
        the epochs of one that fails are known, to the round. ``until`` ends each line by itself.
        """
        trainer, policy = self.adapter.trainer, self.adapter.policy
        start = trainer.get_state()
        piece = min(epochs, policy.longest_round(epochs))
        line = DynamicGridAdapter(
            trainer,
            policy=Policy(
                space=policy.space,
                criterion=policy.criterion,
                when=At([sys.maxsize]),  # never
                record_every=policy.record_every or policy.adapt_every,
                try_for=1,
                course=policy.course,
                until=policy.until,
                initial=self.adapter.current,
                check="off",
            ),
        )
        try:
            with saving("shadow", line):
                line.run(epochs)
            history = _as_one_round(line.history)
            return _ShadowLine(history, self._score(history), history.epochs, trainer.get_state())
        except DynhpError:
            raise
        except Exception as failure:
            begun = min(epochs, line.epoch + piece)
            error = f"{type(failure).__name__}: {failure}"
            return _ShadowLine(History(()), math.nan, begun, start, error)
        finally:
            put_back(trainer, start)

    def _score(self, history: History) -> float:
        end = Progress(history.epochs, history.epochs)
        return score(self.criterion, [history.rounds[-1].metrics], end)


def _as_one_round(line: History) -> History:
    """A run without tries in the record of a run with one candidate: one round with one try."""
    last: Round = line[-1]
    epochs = line.epochs
    only = Try(
        candidate=last.candidate,
        series=(last.metrics,),
        epochs=epochs,
        score=math.nan,
        reported=(epochs,) if epochs > 1 else (),
        seconds=sum(round_.seconds for round_ in line),
        unit=last.unit,
    )
    moved = dict.fromkeys(name for round_ in line for name in round_.scheduled)
    along = [values for round_ in line for values in round_.values_by_step] if moved else []
    round_ = replace(
        last,
        index=0,
        start=0,
        epochs=epochs,
        tries=(only,),
        chosen=0,
        reason="the only candidate",
        scheduled={name: tuple([values[name] for values in along]) for name in moved},
    )
    return History((round_,))


class _ShadowLine(NamedTuple):
    """What came of the unadapted line."""

    history: History
    score: float
    epochs: int  # begun
    end: State
    error: str | None = None


class _EpochsOfRound:
    """Counts the epochs that the round under way has begun, in its tries and after them."""

    def __init__(self) -> None:
        self.epochs = 0

    def before(self, command: Command) -> None:
        """A round begins, or a piece of the main line does."""
        if isinstance(command, Tell) and isinstance(command.event, RoundStarted):
            self.epochs = 0
        elif isinstance(command, Train):
            self.epochs += command.epochs

    def after(self, command: Command, reply: Any) -> None:
        """A try, or the repeat of one, has ended."""
        if isinstance(command, Attempt):
            self.epochs += reply.epochs
