"""An executor around another that notes every try done, so that none is trained twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from dynhp.errors import CheckpointError
from dynhp.records import Candidate, Metrics
from dynhp.rounds.jobs import UNKNOWN_STATE, Executor, Job, Outcome, close
from dynhp.trainer import State, Trainer

__all__ = ["Asked", "Done", "TryStore", "Place", "Recording"]


class Place(NamedTuple):
    """Which try it is: jobs follow from the run so far, so after a crash the same come again."""

    round: int
    heat: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job without the state it starts from."""

    candidate: Candidate
    epochs: int
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A try that was carried out: what was asked, what came of it, and the state if it led."""

    asked: Asked
    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    seconds: float
    kept: bool
    state: State


class TryStore(Protocol):
    """Where tries are noted down; what it could not keep is simply not found again."""

    def find(self, place: Place) -> Done | None:
        """The try that was done at this place, if it is known."""
        ...

    def note(self, place: Place, done: Done) -> None:
        """Keep it."""
        ...


class Recording:
    """Notes what ``inner`` gives; where a try is noted already, that is given and not trained."""

    def __init__(self, inner: Executor, notebook: TryStore) -> None:
        self.inner = inner
        self._notebook = notebook
        self._round = 0
        self._heat = 0

    def begin(self, round_: int) -> None:
        """A round begins: heats are counted from here."""
        self._round, self._heat = round_, 0

    def close(self) -> None:
        """End what the executor inside has started."""
        close(self.inner)

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield first what is noted, then what the executor inside gives for the rest."""
        heat, self._heat = self._heat, self._heat + 1
        places = (Place(self._round, heat, position) for position in range(len(jobs)))
        left = deque(jobs)
        del jobs  # as Serial does: no state is held for longer than its job
        asked: deque[tuple[Place, Asked]] = deque()
        for place, job in zip(places, list(map(_asked, left)), strict=True):
            if not asked and (done := self._find(place, job)) is not None:
                left.popleft()
                yield _replayed(place, done)
                del done
            else:
                asked.append((place, job))
        if left:
            rest = self.inner.run(trainer, list(left), at=at)
            left.clear()
            for outcome in rest:
                yield from self._noted(asked, outcome)

    def _find(self, place: Place, asked: Asked) -> Done | None:
        done = self._notebook.find(place)
        if done is not None and done.asked != asked:
            raise CheckpointError(
                f"{_name(place)} was {done.asked}, but now {asked} is asked for: the proposer or "
                "the selection is not a function of the run alone. Delete the files try-*.zip of "
                "the checkpoint's folder to train the tries of this round again"
            )
        return done

    def _noted(self, asked: deque[tuple[Place, Asked]], outcome: Outcome) -> Iterator[Outcome]:
        state: State = UNKNOWN_STATE

        def keep() -> State:
            nonlocal state
            state = outcome.keep()
            return state

        # Not in place: a state that may win must be taken out, for it is to be noted.
        yield replace(outcome, keep=keep, in_place=False)
        # Whoever asks for the next outcome has made up his mind about this one.
        place, job = asked.popleft()
        kept = state is not UNKNOWN_STATE
        self._notebook.note(
            place,
            Done(
                asked=job,
                series=outcome.series,
                epochs=outcome.epochs,
                error=outcome.error,
                seconds=outcome.seconds,
                kept=kept,
                state=state if kept else None,
            ),
        )


def _asked(job: Job) -> Asked:
    return Asked(candidate=job.candidate, epochs=job.epochs, seed=job.seed)


def _name(place: Place) -> str:
    return f"try {place.position} in heat {place.heat} of round {place.round}"


def _replayed(place: Place, done: Done) -> Outcome:
    def keep() -> State:
        if not done.kept:
            raise CheckpointError(
                f"{_name(place)}, {dict(done.asked.candidate)}, was behind when it was made and "
                "leads now: the criterion or the selection has changed. Put it back as it was, or "
                "delete the files try-*.zip of the checkpoint's folder"
            )
        return done.state

    return Outcome(
        series=done.series,
        epochs=done.epochs,
        keep=keep,
        error=done.error,
        seconds=done.seconds,
    )
