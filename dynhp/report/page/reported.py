"""What a page reports: runs and campaigns, with all that is known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dynhp.planning.budget import Plan
from dynhp.records import Round, Try
from dynhp.records.units import EPOCHS, Unit, unit_of
from dynhp.report.page.rebuilt import plan_of

if TYPE_CHECKING:
    from dynhp.campaign.results import Finished

__all__ = ["ReportedCampaign", "ReportedRun", "run_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """One run of a report.

    Attributes:
        name: what the page calls it.
        history: its rounds.
        plan: what it was planned to cost, None if that is not known.
        epochs: the epochs it was planned for, None if that is not known.
        settings: by name, as text.
        versions: of Python and packages, by name.
        command: how it was started.
        facts: more names and values to show.
        hints: sentences to show.
        unfinished: the tries of a round that has not ended.
        unit: "epochs" or "steps"; if there are rounds, as these say.

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
        """Whether it has all epochs that it was planned for, if that is known."""
        return self.epochs is None or self.done >= self.epochs

    @property
    def missing(self) -> list[str]:
        """What is not known of it that would be needed to repeat it, in words."""
        parts = {
            "the settings": self.settings,
            f"the {self.unit} that were planned": self.epochs,
            "the versions": self.versions,
            "the command": self.command,
            "a plan of the cost": self.plan,
        }
        return [name for name, part in parts.items() if not part]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCampaign:
    """A campaign of a report: its name, the runs that ended, and whether all have.

    >>> ReportedCampaign(name="seeds", runs=()).name
    'seeds'
    """

    name: str
    runs: Sequence[Finished]
    is_over: bool = False


def run_of(
    name: str,
    history: Sequence[Round],
    *,
    about: Mapping[str, Any],
    unfinished: Sequence[Try] = (),
) -> ReportedRun:
    """Make a run of what its file holds: ``about`` is as in ``JournalContent``.

    >>> run_of("old", (), about={}).missing[0]
    'the settings'
    """
    settings = about.get("settings", {})
    epochs = about.get("epochs")
    unit: Unit = unit_of(history) if history else about.get("unit", EPOCHS)
    return ReportedRun(
        name=name,
        history=history,
        plan=plan_of(settings, history, epochs, unit=unit),
        epochs=epochs,
        settings=settings,
        versions=about.get("versions", {}),
        command=about.get("command"),
        unfinished=unfinished,
        unit=unit,
    )
