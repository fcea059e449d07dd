"""A worker's side: one trainer, asked by the main process to train and to hand out its state."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from dynhp.errors import SettingsError
from dynhp.executors.pool.messages import (
    Answer,
    Began,
    Fill,
    Pack,
    Packed,
    Raised,
    Ready,
    Report,
    Request,
    Train,
    Weighed,
)
from dynhp.executors.pool.packing import Pieces, fill, is_small, load, pieces_of
from dynhp.executors.pool.segments import Openings
from dynhp.records import Value
from dynhp.rounds.attempt import attempt
from dynhp.rounds.jobs import UNKNOWN_STATE
from dynhp.trainer import State, Trainer, require_trainer

__all__ = ["Desk", "serve", "work"]

_POWERS = ("get_state", "set_state", "metrics", "hyperparameters", "reseed")
_LOOK_UP = 1.0  # seconds between two looks whether the main process is still there


class Telling:
    """A trainer that tells when an epoch begins, and is otherwise the one inside."""

    def __init__(self, inner: Trainer, tell: Callable[[], None]) -> None:
        self._inner = inner
        self._tell = tell
        for name in _POWERS:
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Tell, then train."""
        self._tell()
        self._inner.train_k(k, hyperparameters)

    def __repr__(self) -> str:
        return repr(self._inner)


class Desk:
    """Where requests are answered: the trainer, the last origin, end states not decided on yet.

    A state leaves the worker only when it is asked for. To run ahead, the trainer's is put aside:
    that is the copy which ``get_state`` makes and which handing out would have made anyway, so
    that a winner is copied no more often for it, and a loser never into shared memory.
    """

    def __init__(self, trainer: Trainer, tell: Callable[[Answer], None]) -> None:
        self._trainer: Any = Telling(trainer, self._begin)
        self._tell = tell
        self._begun = 0
        self._origin: State = UNKNOWN_STATE
        self._at: int | None = None  # the job in whose end state the trainer is
        self._held: dict[int, State | Raised] = {}
        self._pieces: Pieces = []
        self._segments = Openings()

    def answer(self, request: Request) -> Answer | None:
        """Do what is asked; what would end the run in one process is an answer, too."""
        try:
            return self._done(request)
        except SystemExit:  # a trainer that exits the interpreter takes its worker with it
            raise
        except BaseException as error:
            return Raised.of(error)

    def close(self) -> None:
        """Close the shared memory."""
        self._segments.close()

    def _done(self, request: Request) -> Answer | None:
        if isinstance(request, Train):
            return self._train(request)
        if isinstance(request, Pack):
            return self._packed(request.number)
        if isinstance(request, Fill):
            return self._filled(request.segment)
        self._held.clear()  # as Forget asks for
        return None

    def _packed(self, number: int) -> Answer:
        state = self._trainer.get_state() if number == self._at else self._held.pop(number)
        if isinstance(state, Raised):
            return state
        self._pieces = pieces_of(state)
        if is_small(self._pieces):
            return self._filled(None)
        return Weighed(tuple(piece.nbytes for piece in self._pieces))

    def _filled(self, segment: str | None) -> Answer:
        pieces, self._pieces = self._pieces, []
        return Packed(fill(pieces, segment, self._segments.buffer))

    def _train(self, request: Train) -> Answer:
        self._pieces, self._begun = [], 0
        self._put_aside(request.wanted)
        self._begin()  # it has arrived; what went wrong before that is no fault of the job's
        if request.origin is not None:
            self._origin = UNKNOWN_STATE  # let go of one before the other is made
            self._origin = load(request.origin, self._segments.buffer)
        report = Report.of(attempt(self._trainer, replace(request.job, origin=self._origin)))
        self._at = request.number
        return report

    def _put_aside(self, wanted: Collection[int]) -> None:
        at, self._at = self._at, None
        self._held = {number: held for number, held in self._held.items() if number in wanted}
        if at is not None and at in wanted:
            try:
                self._held[at] = self._trainer.get_state()
            except Exception as error:  # told when the state is asked for, if ever
                self._held[at] = Raised.of(error)

    def _begin(self) -> None:
        self._tell(Began(self._begun))
        self._begun += 1


def serve(connection: Connection[Answer, Request], factory: bytes) -> None:
    """Build the trainer, then answer requests until the other end is closed."""
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            desk = Desk(built(factory), connection.send)
        except Exception as error:
            connection.send(Raised.of(error))
            return
        with closing(desk):
            connection.send(Ready())
            while True:
                answer = desk.answer(connection.recv())
                if answer is not None:
                    connection.send(answer)


def built(factory: bytes) -> Trainer:
    """The trainer that the pickled factory makes."""
    try:
        make = pickle.loads(factory)
    except Exception as error:
        raise SettingsError(
            f"Processes: make_trainer cannot be found in a worker ({type(error).__name__}: "
            f"{error}); move it to a module that can be imported"
        ) from error
    trainer: Trainer = make()
    require_trainer(trainer)
    return trainer


def work(connection: Connection[Answer, Request], factory: bytes) -> None:
    """The main function of a worker's process."""
    ignore_interrupts()
    # A thread, for a try may take hours, and nobody is left to wait for it.
    parent = multiprocessing.parent_process()
    threading.Thread(target=leave_after, args=(parent,), daemon=True).start()
    serve(connection, factory)


def ignore_interrupts() -> None:
    """Ctrl-C goes to all processes at the terminal; the main one decides what becomes of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # it was held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def leave_after(
    parent: Any,
    *,
    leave: Callable[[int], object] = os._exit,
    pid: Callable[[], int] = os.getppid,
    look_up: float = _LOOK_UP,
) -> None:
    """End this process once the main one is gone, whatever it is doing."""
    born_to = pid()
    while parent.is_alive() and pid() == born_to:
        parent.join(look_up)
    leave(1)
