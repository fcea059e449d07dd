"""What a run costs: planned before it starts, counted after; the two agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from dynhp._checks import require_count, require_lengths, require_whole, require_word
from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import SettingsError, shown
from dynhp.planning.cost import Cost, Plan
from dynhp.planning.rounds import TryCost, every, rounds_of
from dynhp.proposers import Waves
from dynhp.records import History, Round
from dynhp.records.kept import kept_epochs
from dynhp.records.units import unit_of
from dynhp.selection import Best, Selection
from dynhp.spaces import Around
from dynhp.tails.lengths import require_one_stage, restarts, tail_epochs, try_epochs
from dynhp.trainer import trained_unit

__all__ = ["Cost", "HasAdapter", "HasHistory", "Plan", "adapter_of", "history_of", "plan"]
__all__ += ["plan_for", "spent"]


def plan(
    *,
    epochs: int,
    adapt_every: int,
    try_for: int,
    candidates: int,
    selection: Selection | None = None,
    restart: bool = False,
    check: Literal["first", "every", "off"] = "first",
    tail: int = 0,
) -> Cost:
    """The cost of a run with that many candidates in every round.

    Args:
        epochs: the epochs of the main line.
        adapt_every: the epochs of a round.
        try_for: the epochs of a try.
        candidates: how many candidates each round tries.
        selection: which tries go on; all to the end by default.
        restart: whether the winner's try epochs are trained again, as with ``keep="value"`` and
            independent randomness.
        check: in which rounds one try is carried out twice more, to prove that it can be.
        tail: the epochs that each try has besides, before it is judged; ``try_for`` may then be 0.

    >>> plan(epochs=500, adapt_every=10, try_for=1, candidates=9).total
    902
    """
    epochs = require_count("epochs", epochs)
    tail = require_whole("tail", tail, least=0)
    adapt_every, length = require_lengths(adapt_every, try_for or int(tail > 0))
    try_for = length if try_for else 0
    candidates = require_count("candidates", candidates)
    require_word("check", check, ("first", "every", "off"))
    checked = {"first": 1, "every": epochs, "off": 0}[check]
    rounds = TryCost(selection or Best(), restart, checked, tail)
    return Cost(
        main_line=epochs,
        overhead=rounds.most(
            every(adapt_every, try_for, epochs), Waves((candidates,), (candidates,))
        ),
        candidates=candidates,
    )


class HasHistory(Protocol):
    """What holds a history: an adapter, or the loop of ``adapt``."""

    @property
    def history(self) -> History:
        """The rounds so far."""
        ...


class HasAdapter(Protocol):
    """What holds an adapter: the loop of ``adapt``."""

    adapter: DynamicGridAdapter


def adapter_of(run: Any) -> DynamicGridAdapter:
    """The adapter itself, or that of a loop."""
    adapter = run if isinstance(run, DynamicGridAdapter) else getattr(run, "adapter", None)
    if not isinstance(adapter, DynamicGridAdapter):
        raise SettingsError(
            f"a DynamicGridAdapter or the loop of adapt(...) is needed, got {shown(run)}"
        )
    return adapter


def history_of(run: Any) -> Sequence[Round]:
    """The history itself, or that of an adapter or a loop."""
    history = getattr(run, "history", run)
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise SettingsError(
            f"a History is needed, got {shown(run)}; give what run(...) returned, or loop.history"
        )
    return history


def plan_for(adapter: DynamicGridAdapter | HasAdapter, epochs: int | None = None) -> Plan:
    """The cost of ``adapter.run(epochs)``, from what it has spent already to the end.

    A loop can be given in place of an adapter; it knows its ``epochs`` itself (or its steps).

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 1.0]},
    ...                              criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> print(plan_for(adapter, 20))
    20 epochs on the main line + 10 overhead = 30: 1.50 runs, 50% of a complete search of 3
    """
    adapter = adapter_of(adapter)
    epochs = require_count("epochs", adapter.epochs if epochs is None else epochs)
    history, corrects = adapter.history, adapter.then is not None and not adapter.dry_run
    # A corrected value may lie off the grid, where a run cannot start, and joins the candidates.
    current = history[0].previous if corrects and history else adapter.current
    waves = adapter.proposer.waves(adapter.space, current)
    if adapter.tail is not None:
        require_one_stage(adapter.selection.stages(waves.most[0], try_epochs(adapter, epochs)))
    rounds = TryCost(
        adapter.selection,
        restarts(adapter),
        (epochs if adapter.check == "every" or adapter.dry_run else 1) * adapter.check_is_due,
        tail_epochs(adapter, epochs),
        joining=len(adapter.space) if corrects else 0,
        uncorrected=0 if any(round_.tries for round_ in history) else 1,
    )
    least, most = rounds_of(adapter, epochs)
    done, left = spent(history), max(0, epochs - adapter.epoch)
    axes = adapter.space.values()
    endless, unit = any(isinstance(axis, Around) for axis in axes), trained_unit(adapter.trainer)
    grid = None if endless else math.prod(len(axis.grid()) for axis in axes)
    return Plan(
        least=Cost(
            main_line=done.main_line + left,
            overhead=done.overhead + rounds.least(least.rounds, waves),
            abandoned=done.abandoned,
            candidates=grid,
            unit=unit,
        ),
        most=Cost(
            main_line=done.main_line + left,
            overhead=done.overhead + rounds.most(most.rounds, waves),
            abandoned=done.abandoned + most.abandoned,
            candidates=grid,
            unit=unit,
        ),
    )


def spent(history: Sequence[Round] | HasHistory, *, candidates: int | None = None) -> Cost:
    """What a run has cost so far, counted from its records; a try that failed early cost less.

    An adapter or a loop can be given in place of its history.

    ``candidates``, the size of the grid, is needed only to compare with a complete search.

    >>> spent([]).total
    0
    """
    rounds = history_of(history)
    main_line = sum(kept_epochs(rounds))
    failed = sum(round_.failure is not None for round_ in rounds)  # an epoch each, which raised
    return Cost(
        main_line=main_line,
        overhead=sum(round_.overhead for round_ in rounds),
        abandoned=sum(round_.epochs for round_ in rounds) - main_line + failed,
        candidates=candidates,
        unit=unit_of(rounds),
    )
