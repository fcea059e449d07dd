"""What an executor is asked for, what it gives, and its contract: the answer of ``Serial``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, runtime_checkable

from dynhp.main_line.inner import InnerRule, KeptAndInner
from dynhp.records import Candidate, Metrics
from dynhp.trainer import State, Trainer

__all__ = ["UNKNOWN_STATE", "Beat", "Closes", "CompletesAnyOrder", "Executor", "Job", "KeptAndEnd"]
__all__ += ["Outcome", "SendsJobs", "close", "kept_and_end"]

Beat: TypeAlias = Callable[[int, Metrics | None], None]
"""Called after an epoch, for displays: with how many are done, and with its metrics if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to train from where: one candidate, ``epochs`` epochs, starting at ``origin``.

    ``seed`` reseeds the trainer first; the metrics in ``watch`` must stay finite. ``repeat`` says
    that a job is carried out once more, to compare: its outcome is nobody's try. ``tail`` has the
    values of each epoch that follows on those, and is not kept: where the job ``keeps`` a state, it
    is that before the tail, and where it is ``compared``, the one after the tail is wanted too.
    ``hold`` says that the best state inside of it is wanted beside the one that is kept.
    ``beat`` is called after each epoch, for displays; in a copy for another process it is None.

    >>> Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2, watch=("loss",)).epochs
    2
    """

    origin: State
    candidate: Candidate
    epochs: int
    seed: int | None = None
    watch: tuple[str, ...] = ()
    repeat: bool = False
    tail: tuple[Candidate, ...] = ()
    keeps: bool = True
    compared: bool = False
    hold: InnerRule | None = None
    beat: Beat | None = field(default=None, compare=False, repr=False)

    @property
    def last_values(self) -> Candidate:
        """The values of its last epoch."""
        return self.tail[-1] if self.tail else self.candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a job: metrics per epoch, the epochs begun, and an error where it failed.

    ``reported`` says which epochs, from 1, the metrics belong to, where some were not measured.
    ``keep()`` hands out the state at the end (of a job with a tail, or one that has a state to
    ``hold``: what ``Job`` says); call it before the next outcome is asked for.
    ``in_place`` says that the main line's own trainer is in that state until then, ``replayed``
    that the job was carried out by an earlier process, ``elsewhere`` by another one of this run.

    >>> from dynhp import Serial
    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> job = Job(origin=trainer.get_state(), candidate=Candidate({"lr": 0.5}), epochs=2)
    >>> [outcome] = Serial().run(trainer, [job], at=UNKNOWN_STATE)
    >>> outcome.series, outcome.keep()
    (({'loss': 0.125}, {'loss': 0.03125}), 0.25)
    """

    series: tuple[Metrics, ...]
    epochs: int
    keep: Callable[[], State]
    error: str | None = None
    in_place: bool = False
    replayed: bool = False
    elsewhere: bool = False
    seconds: float = 0.0
    reported: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptAndEnd:
    """Two states of a try: the one before its tail, which may be kept, and the one at its end."""

    kept: State
    end: State


def kept_and_end(state: State) -> tuple[State, State]:
    """What may be kept of what ``keep()`` handed out, and the end; without a tail, the same state.

    >>> kept_and_end("end"), kept_and_end(KeptAndEnd("before the tail", "end"))
    (('end', 'end'), ('before the tail', 'end'))
    """
    if isinstance(state, KeptAndEnd):
        return state.kept, state.end
    return (state, state.state) if isinstance(state, KeptAndInner) else (state, state)


class _UnknownState:
    """A state that no trainer is ever in."""

    def __repr__(self) -> str:
        return "UNKNOWN_STATE"


UNKNOWN_STATE: Final = _UnknownState()


@runtime_checkable
class Executor(Protocol):
    """Carries out the jobs of a round. It sees candidates and opaque origins, never scores.

    >>> from dynhp import DynamicGridAdapter, Serial, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Verbose:  # as Serial does, and prints
    ...     def run(self, trainer, jobs, *, at):
    ...         for job, outcome in zip(jobs, Serial().run(trainer, jobs, at=at)):
    ...             print(job.candidate, outcome.series)
    ...             yield outcome
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 3.0]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, executor=Verbose(), check="off")
    >>> round_ = adapter.step()
    Candidate(lr=0.5) ({'loss': 0.125},)
    Candidate(lr=3.0) ({'loss': 2.0},)
    """

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield one outcome per job, in the order of the jobs.

        ``trainer`` is the main line's own and may be used; ``at`` is the state it is in. Where an
        outcome says ``in_place``, the trainer is in its end state until the next is asked for.
        """
        ...


@runtime_checkable
class CompletesAnyOrder(Protocol):
    """Optional: an executor that hands out outcomes as they end, which suits campaigns better."""

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, the first to end first."""
        ...


@runtime_checkable
class SendsJobs(Protocol):
    """Optional: an executor whose workers are elsewhere, and to whom not everything can be sent."""

    def require_sendable(self, what: str, thing: object) -> None:
        """Refuse a part of a job that cannot be sent, in the words ``what`` for it."""
        ...


@runtime_checkable
class Closes(Protocol):
    """Optional: an executor with something to end, as after Ctrl-C; a wrapper passes it on."""

    def close(self) -> None:
        """End it; the next run starts again."""
        ...


def close(executor: Executor) -> None:
    """End what an executor has started, where it has anything to end.

    >>> from dynhp.executors import Serial
    >>> close(Serial())
    """
    if isinstance(executor, Closes):
        executor.close()
