"""An executor around another that stores every try carried out, so that none is trained twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from dynhp.errors import CheckpointError
from dynhp.records import Candidate, Metrics
from dynhp.rounds.jobs import UNKNOWN_STATE, Executor, Job, Outcome, close, kept_and_end
from dynhp.trainer import State, Trainer

__all__ = ["FinishedTry", "RecordingExecutor", "TryPlace", "TryRequest", "TryStore"]


class TryPlace(NamedTuple):
    """Which try it is: jobs follow from the run so far, so after a crash the same come again."""

    round: int
    stage: int
    position: int

    def __str__(self) -> str:
        return f"try {self.position} in stage {self.stage} of round {self.round}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRequest:
    """A job without the state it starts from; its fields are on disk: never rename them."""

    candidate: Candidate
    epochs: int
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTry:
    """A try that was carried out: the request, what was measured, and the state if it led.

    Its fields are on disk: never rename them.
    """

    asked: TryRequest
    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    seconds: float
    kept: bool
    state: State


class TryStore(Protocol):
    """Where tries are stored; one that could not be stored is trained again."""

    def find(self, place: TryPlace) -> FinishedTry | None:
        """The try that was carried out at this place, if it is stored."""
        ...

    def note(self, place: TryPlace, done: FinishedTry) -> None:
        """Store it."""
        ...


class RecordingExecutor:
    """Stores what ``inner`` gives; a try that is stored already is given and not trained."""

    def __init__(self, inner: Executor, store: TryStore) -> None:
        self.inner = inner
        self._store = store
        self._round = 0
        self._stage = 0

    def begin(self, round_: int) -> None:
        """A round begins: stages are counted from here."""
        self._round, self._stage = round_, 0

    def close(self) -> None:
        """End what the executor inside has started."""
        close(self.inner)

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield first what is stored, then what the executor inside gives for the rest."""
        if any(job.repeat for job in jobs):  # a check of this process, nobody's try
            yield from self.inner.run(trainer, jobs, at=at)
            return
        stage, self._stage = self._stage, self._stage + 1
        places = (TryPlace(self._round, stage, position) for position in range(len(jobs)))
        left = deque(jobs)
        del jobs  # as Serial does: no state is held for longer than its job
        waiting: deque[tuple[TryPlace, TryRequest]] = deque()
        keeps = all(job.keeps for job in left)
        for place, request in zip(places, list(map(_request, left)), strict=True):
            if not waiting and (done := self._find(place, request)) is not None:
                left.popleft()
                yield _replayed(place, done)
                del done
            else:
                waiting.append((place, request))
        if left:
            rest = self.inner.run(trainer, list(left), at=at)
            left.clear()
            for outcome in rest:
                yield from self._recorded(waiting, outcome, keeps=keeps)

    def _find(self, place: TryPlace, request: TryRequest) -> FinishedTry | None:
        done = self._store.find(place)
        if done is not None and done.asked != request:
            raise CheckpointError(
                f"{place} was {done.asked}, but now {request} is asked for: the proposer or "
                "the selection is not a function of the run alone, or it is that of another "
                "version of dynhp. Delete the files try-*.zip of "
                "the checkpoint's folder to train the tries of this round again"
            )
        return done

    def _recorded(
        self, waiting: deque[tuple[TryPlace, TryRequest]], outcome: Outcome, *, keeps: bool
    ) -> Iterator[Outcome]:
        state: State = UNKNOWN_STATE

        def keep() -> State:
            nonlocal state
            whole = outcome.keep()
            state, _ = kept_and_end(whole)
            return whole

        # Not in place: a state that may win must be taken out, because it is stored.
        yield replace(outcome, keep=keep, in_place=False)
        # When the next outcome is asked for, this one has been kept or dropped (or, where it is one
        # too many, refused: so not before that).
        place, request = waiting.popleft()
        kept = keeps and state is not UNKNOWN_STATE  # a state that was only compared is not
        self._store.note(
            place,
            FinishedTry(
                asked=request,
                series=outcome.series,
                epochs=outcome.epochs,
                error=outcome.error,
                seconds=outcome.seconds,
                kept=kept,
                state=state if kept else None,
            ),
        )


def _request(job: Job) -> TryRequest:
    return TryRequest(candidate=job.candidate, epochs=job.epochs, seed=job.seed)


def _replayed(place: TryPlace, done: FinishedTry) -> Outcome:
    def keep() -> State:
        if not done.kept:
            raise CheckpointError(
                f"{place}, {dict(done.asked.candidate)}, was behind when it was made and "
                "leads now: the criterion or the selection has changed. Put it back as it was, or "
                "delete the files try-*.zip of the checkpoint's folder"
            )
        return done.state

    return Outcome(
        series=done.series,
        epochs=done.epochs,
        keep=keep,
        error=done.error,
        replayed=True,
        seconds=done.seconds,
    )
