"""The jobs of an open round: how they are stored, noted as they are carried out, and replayed."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from operator import index
from typing import Any

from dynhp.best import BestEpoch
from dynhp.drivers import StateTable
from dynhp.engine.commands import Attempt, Command, Job, Keep, Look, Tried
from dynhp.engine.memory import Held
from dynhp.errors import CheckpointError
from dynhp.loops.epoch import Epoch
from dynhp.loops.parts import Elsewhere
from dynhp.records import Candidate
from dynhp.saved import SavedHeld
from dynhp.selfcheck.fingerprint import Fingerprint
from dynhp.storage.codecs import register_codec, register_dataclass
from dynhp.storage.folder import TryPlace
from dynhp.trainer import State
from dynhp.wrappers.keep_best import KeptState

__all__ = ["FinishedTry", "RecordedJob", "ReplayedJob", "TryRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRequest:
    """A job without the state it starts from."""

    candidate: Candidate
    epochs: int
    seed: int | None

    @classmethod
    def of(cls, job: Job) -> TryRequest:
        """What this job asks for."""
        return cls(candidate=job.candidate, epochs=job.epochs, seed=job.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTry:
    """A job that was carried out, as it is stored: what was measured, seen and kept of it."""

    asked: TryRequest
    tried: Tried  # the names of states in it mean nothing to another process
    looks: tuple[tuple[float, Fingerprint], ...] = ()  # what the self-check saw, by tolerance
    kept: bool = False  # whether it led, so that its state is here
    state: State = None
    inner: SavedHeld | None = None


for _name, _kind in {
    "asked": TryRequest,
    "done": FinishedTry,
    "kept": KeptState,
    "best_epoch": BestEpoch,
    "elsewhere": Elsewhere,
}.items():
    register_dataclass(_kind, name=f"dynhp.{_name}")
register_codec(
    Tried, name="dynhp.tried", to_plain=Tried._asdict, from_plain=lambda plain: Tried(**plain)
)
register_codec(
    SavedHeld,
    name="dynhp.held",
    to_plain=SavedHeld._asdict,
    from_plain=lambda plain: SavedHeld(**plain),
)
# A sampler with set_epoch(epoch) keeps the loop's epoch; the number is all that matters of it.
register_codec(Epoch, name="dynhp.epoch", to_plain=int, from_plain=index)
register_codec(
    Fingerprint,
    name="dynhp.fingerprint",
    to_plain=Fingerprint.to_plain,
    from_plain=Fingerprint.from_plain,
)


class ReplayedJob:
    """A job of an earlier process: the engine's commands about it are answered from its file."""

    def __init__(self, place: TryPlace, done: FinishedTry, table: StateTable) -> None:
        self._place = place
        self._done = done
        self._table = table
        self._ref = table.new_name()
        self._looks = deque(done.looks)

    def answer(self, command: Command) -> Generator[Command, Any, Any]:
        """The reply to a command, which goes on to the driver only if it is not about the job."""
        if isinstance(command, Attempt):
            return self._done.tried._replace(end=self._ref, kept=self._ref, elsewhere=False)
        if isinstance(command, Look):
            tolerance, seen = self._looks.popleft() if self._looks else (None, None)
            return seen if tolerance == command.tolerance else None
        if isinstance(command, Keep):
            return self._keep()
        return (yield command)

    def _keep(self) -> Held | None:
        """Give the table the state, which is in the folder because the try led."""
        if not self._done.kept:
            raise CheckpointError(
                f"{self._place}, {dict(self._done.asked.candidate)}, was behind when it was made "
                "and leads now: the criterion or the selection has changed. Put it back as it was, "
                "or delete the files try-*.zip of the checkpoint's folder"
            )
        self._table.put(self._ref, self._done.state)
        self._table.keep(self._ref)
        inner = self._done.inner
        if inner is None:
            return None
        return Held(inner.epoch, inner.score, self._table.adopt(inner.state))


class RecordedJob:
    """A job of this process: what the engine learns about it is noted, to be written."""

    def __init__(self, place: TryPlace) -> None:
        self.place = place
        self._job: Job
        self._tried: Tried
        self._looks: list[tuple[float, Fingerprint]] = []
        self._kept = False
        self._inner: Held | None = None

    def answer(self, command: Command) -> Generator[Command, Any, Any]:
        """The driver's reply to a command."""
        reply = yield command
        if isinstance(command, Attempt):
            self._job = command.job
            self._tried = reply
        elif isinstance(command, Look):
            self._looks.append((command.tolerance, reply))
        elif isinstance(command, Keep):
            self._kept = True
            self._inner = reply
        return reply

    def finished(self, table: StateTable) -> FinishedTry:
        """The job as a file, with its states if they may be needed."""
        inner = self._inner
        return FinishedTry(
            asked=TryRequest.of(self._job),
            tried=self._tried,
            looks=tuple(self._looks),
            kept=self._kept,
            state=table.get(self._tried.kept) if self._kept else None,
            inner=None
            if inner is None
            else SavedHeld(inner.epoch, inner.score, table.get(inner.ref)),
        )
