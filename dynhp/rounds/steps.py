"""The steps of a round, which a driver carries out: tries, and the main line's stretch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from dynhp.records import Candidate, Metrics
from dynhp.rounds.attempt import advance, put_in_force
from dynhp.rounds.jobs import Executor, Job, Outcome
from dynhp.trainer import State, Trainer

__all__ = ["CarryOutTries", "JobStage", "Step", "TrainStretch", "carry_out"]


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


def carry_out(step: Step, trainer: Trainer, executor: Executor) -> None:
    """Carry out one step with a trainer that trains by itself."""
    if isinstance(step, CarryOutTries):
        for outcome in executor.run(trainer, step.stage.jobs(), at=step.at):
            step.stage.take_outcome(outcome)
    elif step.epochs:
        step.metrics = advance(trainer, step.candidate, step.epochs)
    else:
        put_in_force(trainer, step.candidate)
