"""A run as reports take it: its rounds, and all that is known around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dynhp.planning.budget import Plan
from dynhp.records import Round, Try, Unit
from dynhp.records.units import EPOCHS, unit_of
from dynhp.report.page.rebuilt import log_axes, plan_of

__all__ = ["ReportedRun", "missing_of", "run_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """One run of a report.

    Attributes:
        name: what the page calls it.
        history: its rounds.
        plan: what it was planned to cost, None where that is not known.
        epochs: the epochs it was planned for, None where that is not known.
        settings: by name, as text.
        versions: of Python and packages, by name.
        command: how it was started.
        facts: more names and values to show.
        hints: sentences to show.
        unfinished: the tries of a round that has not ended.
        log: the hyperparameters whose axis is logarithmic.
        missing: what is not known of it, in words.
        unit: "epochs" or "steps"; where there are rounds, as these say.

    >>> ReportedRun(name="first", history=()).is_over
    True
    """

    name: str
    history: Sequence[Round]
    plan: Plan | None = None
    epochs: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    hints: Sequence[str] = ()
    unfinished: Sequence[Try] = ()
    log: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    unit: Unit = EPOCHS

    def __post_init__(self) -> None:
        if self.history:
            object.__setattr__(self, "unit", unit_of(self.history))

    @property
    def done(self) -> int:
        """The epochs of the main line so far."""
        return self.history[-1].start + self.history[-1].epochs if self.history else 0

    @property
    def is_over(self) -> bool:
        """Whether it has all epochs that it was planned for, as far as that is known."""
        return self.epochs is None or self.done >= self.epochs

    def named(self, name: str) -> ReportedRun:
        """The same under another name."""
        return replace(self, name=name)


def run_of(
    name: str,
    history: Sequence[Round],
    *,
    about: Mapping[str, Any],
    unfinished: Sequence[Try] = (),
) -> ReportedRun:
    """Give a run as its file tells of it: ``about`` is as in ``JournalContent``.

    >>> run_of("old", (), about={}).missing[0]
    'the settings'
    """
    settings, epochs = about.get("settings", {}), about.get("epochs")
    unit: Unit = unit_of(history) if history else about.get("unit", EPOCHS)
    plan = plan_of(settings, history, epochs, unit=unit)
    run = ReportedRun(
        name=name,
        history=history,
        plan=plan,
        epochs=epochs,
        settings=settings,
        versions=about.get("versions") or {},
        command=about.get("command"),
        unfinished=unfinished,
        log=log_axes(settings),
        unit=unit,
    )
    return replace(run, missing=missing_of(run))


def missing_of(run: ReportedRun) -> tuple[str, ...]:
    """What is not known of a run that would be needed to repeat it, in words.

    >>> missing_of(ReportedRun(name="r", history=(), epochs=9, settings={"try_for": "1"}))
    ('the versions', 'the command', 'a plan of the cost')
    """
    parts = {
        "the settings": run.settings,
        f"the {run.unit} that were planned": run.epochs,
        "the versions": run.versions,
        "the command": run.command,
        "a plan of the cost": run.plan,
    }
    return tuple(name for name, part in parts.items() if not part)
