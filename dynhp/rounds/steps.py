"""The steps of a round, which a driver carries out: tries, and the main line's stretch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from dynhp.records import Candidate, Metrics
from dynhp.rounds.jobs import Job, Outcome
from dynhp.trainer import State

__all__ = ["CarryOutTries", "JobStage", "Step", "TrainStretch"]


class JobStage(Protocol):
    """Jobs that are carried out side by side, and who takes what comes of them."""

    def jobs(self) -> list[Job]:
        """What to train from where."""
        ...

    def begun(self) -> list[int]:
        """The epochs that each job's line has already, counted from the round's origin."""
        ...

    def take_outcome(self, outcome: Outcome) -> None:
        """Take what came of the next job."""
        ...


@dataclass(slots=True)
class CarryOutTries:
    """A step: carry out the stage's jobs and let it take the outcomes; the trainer is at ``at``."""

    stage: JobStage
    at: State


@dataclass(slots=True)
class TrainStretch:
    """A step: train the main line on; a driver that stops early says so in ``epochs``.

    Also where no epoch is left to train, the candidate's values must be in force afterwards.
    """

    candidate: Candidate
    epochs: int
    metrics: Metrics = field(default_factory=dict)
    measured: list[tuple[int, Metrics]] = field(default_factory=list)  # with epochs' numbers


Step: TypeAlias = CarryOutTries | TrainStretch
"""What a driver of a round carries out next."""
