"""A worker's side: one trainer, asked to train and, if a try leads, to hand out its state."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator
from typing import Any

from dynhp.errors import SettingsError
from dynhp.executors.attempt import TryLog, advance, reseed
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.executors.pool.transport import (
    Answer,
    Began,
    Packed,
    PackRequest,
    Raised,
    Request,
    TrainRequest,
    TryReport,
)
from dynhp.trainer import State, Trainer, require_trainer


class WorkerLoop:
    """Answers requests: it has the trainer, the last origin, and end states not decided on yet.

    A state leaves the worker only when it is asked for. To run ahead, the worker sets the trainer's
    state aside: that is the copy which ``get_state`` makes and which handing it out would have made
    anyway. So a winner is copied no more often, and a loser is never packed.

    ``pack`` and ``load`` belong to the transport, on this side: ``pack`` makes of a state what the
    main process loads, ``load`` takes what the main process has packed. With ``lend``, which a
    transport may have, an origin is not copied but used where it lies, each time that a job starts
    there. A trainer that never writes into its arrays may keep referring to such an origin; it is
    given a copy instead, as without ``lend``.

    >>> from dynhp.records import Candidate
    >>> from dynhp.executors.contract import Job
    >>> from dynhp.testing import Quadratic
    >>> loop = WorkerLoop(Quadratic(), pack=pickle.dumps, load=pickle.loads)
    >>> job = Job(origin=None, candidate=Candidate({"lr": 0.5}), epochs=2)
    >>> *begun, report = loop.answers(TrainRequest(number=0, job=job, origin=pickle.dumps(1.0)))
    >>> begun, report.series
    ([Began(epochs=0), Began(epochs=1), Began(epochs=2)], ({'loss': 0.125}, {'loss': 0.03125}))
    """

    def __init__(
        self,
        trainer: Trainer,
        *,
        pack: Callable[[State], Any],
        load: Callable[[Any], State],
        lend: Callable[[Any, Callable[[State], object]], bool] | None = None,
    ) -> None:
        self._trainer = trainer
        self._pack = pack
        self._load = load
        self._lend = lend
        self._packed: Any = None  # the last origin, as it was sent
        self._origin: State = UNKNOWN_STATE  # and loaded, if it is not lent
        self._at: int | None = None  # the job in whose end state the trainer is
        self._held: dict[int, State | Raised] = {}

    def answers(self, request: Request) -> Iterator[Answer]:
        """Do what is asked; what would end the run in one process is an answer, too."""
        try:
            if isinstance(request, TrainRequest):
                yield from self._train(request)
            elif isinstance(request, PackRequest):
                self._drop_all_but(request.wanted)
                number = request.number
                state = self._trainer.get_state() if number == self._at else self._held.pop(number)
                yield state if isinstance(state, Raised) else Packed(self._pack(state))
            else:
                self._held.clear()  # a ForgetRequest
        except (SystemExit, GeneratorExit):
            raise  # a trainer that exits the interpreter takes its worker with it
        except BaseException as error:
            yield Raised.of(error)

    def _train(self, request: TrainRequest) -> Iterator[Answer]:
        self._set_aside(request.wanted)
        yield Began(0)  # it has arrived; what went wrong before that is not the job's fault
        if request.origin is not None:
            self._packed = request.origin
            self._origin = UNKNOWN_STATE
        self._go_to_start(request.job)
        log = TryLog(request.job, self._trainer.get_state)
        for epoch in log.epochs(lambda: advance(self._trainer, log.values, 1)):
            yield Began(epoch)
        outcome = log.outcome()
        if outcome.in_place:
            self._at = request.number
        else:  # the state that may be kept is from before a tail
            self._held[request.number] = outcome.keep()
        yield TryReport.of(outcome)

    def _set_aside(self, wanted: Collection[int]) -> None:
        """Copy the trainer's state if it is still wanted, and drop the held ones that are not."""
        at, self._at = self._at, None
        self._drop_all_but(wanted)
        if at is not None and at in wanted:
            try:
                self._held[at] = self._trainer.get_state()
            except Exception as error:  # raised when the state is asked for, if ever
                self._held[at] = Raised.of(error)

    def _drop_all_but(self, wanted: Collection[int]) -> None:
        self._held = {number: held for number, held in self._held.items() if number in wanted}

    def _go_to_start(self, job: Job) -> None:
        def start(origin: State) -> None:
            self._trainer.set_state(origin)
            if job.seed is not None:
                reseed(self._trainer, job.seed)

        if self._origin is UNKNOWN_STATE and self._lend is not None:
            if self._lend(self._packed, start):
                return
            self._lend = None  # this trainer refers to what it was given: it needs its own
        if self._origin is UNKNOWN_STATE:
            self._origin = self._load(self._packed)
        start(self._origin)


def build_trainer(factory: bytes) -> Trainer:
    """The trainer that a pickled ``make_trainer`` builds.

    >>> from dynhp.testing import Quadratic
    >>> build_trainer(pickle.dumps(Quadratic)).metrics()
    {'loss': 0.5}
    """
    try:
        make = pickle.loads(factory)
    except Exception as error:
        raise SettingsError(
            f"make_trainer cannot be found in a worker ({type(error).__name__}: {error}); move it "
            "to a module that can be imported there"
        ) from error
    trainer: Trainer = make()
    require_trainer(trainer)
    return trainer
