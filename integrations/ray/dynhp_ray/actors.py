"""An actor's side: one trainer, asked to train and, where a try leads, to hand out its state."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator
from dataclasses import replace

from dynhp.errors import DynhpError
from dynhp.executors.pool.messages import Answer, Began, Packed, Raised, Ready, Report
from dynhp.rounds.attempt import TryLog, go_to
from dynhp.rounds.jobs import UNKNOWN_STATE, Job
from dynhp.rounds.read_back import check_in_force, read_metrics
from dynhp.trainer import State, Trainer, require_trainer
from dynhp_ray.packing import PackedState, borrow, pack

__all__ = ["Desk"]


class Desk:
    """Where requests are answered: the trainer, the last origin, states not decided on yet."""

    _trainer: Trainer

    def __init__(self, factory: bytes) -> None:
        self._factory = factory
        self._key: int | None = None
        self._origin: State = UNKNOWN_STATE
        self._at: int | None = None  # the job in whose end state the trainer is
        self._held: dict[int, State | Raised] = {}

    def ready(self) -> Answer:
        """Build the trainer."""
        try:
            self._trainer = pickle.loads(self._factory)()
            require_trainer(self._trainer)
        except Exception as error:
            return Raised.of(error)
        return Ready()

    def train(
        self, number: int, job: Job, key: int, origin: PackedState, wanted: Collection[int]
    ) -> Iterator[Answer]:
        """Carry out a job, telling when an epoch begins, and report in the end.

        ``key`` names the origin, so that one that stays is loaded once; ``wanted`` are the jobs
        whose end states may be asked for yet: the others are let go.
        """
        self._put_aside(wanted)
        yield Began(0)  # it has arrived; what went wrong before that is no fault of the job's
        try:
            if key != self._key:
                self._origin, self._key = (
                    UNKNOWN_STATE,
                    None,
                )  # let go of one before the other is made
                self._origin, self._key = borrow(origin), key
            yield from self._trained(replace(job, origin=self._origin))
            self._at = number
        except SystemExit:  # a trainer that exits the interpreter takes its actor with it
            raise
        except BaseException as error:  # it would end the run in one process, too
            yield Raised.of(error)

    def _trained(self, job: Job) -> Iterator[Answer]:
        """What ``rounds.attempt`` does, with a word at the beginning of every epoch."""
        go_to(self._trainer, job, at=UNKNOWN_STATE)
        running = TryLog(job)
        while running.goes_on():
            yield Began(running.begun)
            try:
                self._trainer.train_k(1, job.candidate)
                check_in_force(self._trainer, job.candidate)
                running.learn(read_metrics(self._trainer))
            except DynhpError:
                raise
            except Exception as failure:
                running.fail(failure)
        yield Report.of(running.outcome(self._trainer.get_state))

    def _put_aside(self, wanted: Collection[int]) -> None:
        at, self._at = self._at, None
        self._held = {number: held for number, held in self._held.items() if number in wanted}
        if at is not None and at in wanted:
            try:
                self._held[at] = self._trainer.get_state()
            except Exception as error:
                self._held[at] = Raised.of(error)

    def state(self, number: int) -> Answer:
        """Hand out the state at the end of a job."""
        try:
            held = self._held[number] if number != self._at else self._trainer.get_state()
            return held if isinstance(held, Raised) else Packed(pack(held))
        except SystemExit:
            raise
        except BaseException as error:
            return Raised.of(error)
