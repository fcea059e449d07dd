"""The driver of a trainer that trains by itself: tries on an executor, then the main line."""

from __future__ import annotations

from collections.abc import Iterator

from dynhp._log import logger
from dynhp.drivers.driver import Driver
from dynhp.drivers.states import StateTable
from dynhp.engine.commands import Announce, Attempt, Commands, Job, Restore, Train, Trained, Tried
from dynhp.engine.memory import Memory
from dynhp.errors import ContractError, DynhpError
from dynhp.executors.attempt import advance, advance_along, error_text, put_in_force
from dynhp.executors.contract import Executor, Outcome, close
from dynhp.trainer import Trainer

__all__ = ["TrainerDriver"]


class TrainerDriver(Driver):
    """Carries out rounds with a trainer, and with an executor for its tries."""

    replays_jobs = True

    def __init__(self, trainer: Trainer, table: StateTable, executor: Executor) -> None:
        super().__init__(trainer, table)
        self.executor = executor
        self._waiting: tuple[Job, ...] = ()  # announced, not begun
        self._outcomes: Iterator[Outcome] | None = None  # of the stage under way
        self._announced = 0
        self._taken = 0
        self._answers.update({Announce: self._announce, Attempt: self._attempt, Train: self._train})

    def _announce(self, command: Announce) -> None:
        self._end_stage()
        self._waiting = command.jobs
        self._announced = len(command.jobs)
        self._taken = 0

    def _attempt(self, command: Attempt) -> Tried:
        """Take the next outcome; the executor begins all jobs of a stage when the first is due."""
        if self._outcomes is None:
            jobs = [job.from_state(self.table.get(job.origin)) for job in self._waiting]
            self._waiting = ()
            at = self.table.here_state()
            self._outcomes = iter(self.executor.run(self._trainer, jobs, at=at))
            del jobs  # a finished job is dropped, and with it the state that it started from
        self.table.leave()
        try:
            outcome = next(self._outcomes)
        except StopIteration:
            raise ContractError(
                f"an executor gave only {self._taken} outcomes for {self._announced} jobs"
            ) from None
        self._taken += 1
        return self.tried(outcome)

    def _end_stage(self) -> None:
        """Let the executor end its run: all outcomes are taken, and it must have no more."""
        outcomes = self._outcomes
        self._outcomes = None
        if outcomes is not None and next(outcomes, None) is not None:
            raise ContractError(f"an executor gave more outcomes than its {self._announced} jobs")

    def _restore(self, command: Restore) -> None:
        self._end_stage()
        super()._restore(command)

    def _train(self, command: Train) -> Trained:
        """Train a piece of the main line, or only put its values in force."""
        self._end_stage()
        self.table.leave()
        if not command.epochs:
            put_in_force(self._trainer, command.values)
            return Trained(epochs=0)
        try:
            if command.scheduled:
                metrics = advance_along(self._trainer, command.scheduled)
            else:
                metrics = advance(self._trainer, command.values, command.epochs)
        except Exception as failure:
            if not command.may_be_rescued or isinstance(failure, DynhpError):
                raise
            logger.info("the main line failed", exc_info=failure)
            return Trained(epochs=0, failure=error_text(failure))
        if command.beat is not None:
            command.beat(command.epochs, metrics)
        last = command.start + command.epochs - 1
        return Trained(command.epochs, ((last, metrics),))

    def undo(self, commands: Commands, memory: Memory, failure: BaseException) -> None:
        """Discard a round; first end what the executor has begun."""
        self._waiting = ()
        outcomes = self._outcomes
        self._outcomes = None
        try:
            end = getattr(outcomes, "close", None)
            if end is not None:
                end()
            if isinstance(failure, KeyboardInterrupt):
                close(self.executor)  # no worker stays, whether it came in the tries or outside
        finally:
            super().undo(commands, memory, failure)
