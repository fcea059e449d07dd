"""What all drivers do alike: keep states, look at what code can reach, undo a failed round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dynhp.drivers.states import StateTable
from dynhp.engine.commands import (
    Agree,
    Announce,
    Commands,
    Drop,
    Hold,
    Job,
    Keep,
    Look,
    Reach,
    Reached,
    Restore,
    Snapshot,
    StartFrom,
    Tell,
    Tried,
)
from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.executors.contract import Outcome, TryStates, states_of
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.watch import trainer_watch
from dynhp.trainer import Agrees

__all__ = ["Driver", "Watcher"]


class Watcher(Protocol):
    """Looks at what the training code can reach besides the state, from a round's beginning on."""

    def first_try_ended(self) -> None:
        """Note where plain numbers and lists are now."""
        ...

    def back_at_origin(self) -> None:
        """All tries have ended, and the trainer is where it was when the round began."""
        ...

    def left_behind(self) -> list[str]:
        """After the repeat: what the tries changed outside the state and was not put back."""
        ...

    def suspects(self) -> list[str]:
        """After a repeat that differed: what may be missing in the state, likely things first."""
        ...

    def hints(self) -> list[str]:
        """After an equal repeat: what changed outside the state all the same."""
        ...


class Driver:
    """Answers the commands of rounds for one trainer, or for the parts of a loop's state.

    ``replays_jobs`` says whether jobs that an earlier process carried out may be taken from a log.
    The commands that train (``Announce``, ``Attempt`` and ``Train``) are left to subclasses.
    """

    replays_jobs = False

    def __init__(self, trainer: Any, table: StateTable) -> None:
        self.table = table
        self._trainer = trainer
        self._watcher: Watcher | None = None
        self._outcome: Outcome | None = None  # of the job carried out last, while it can be asked
        self._states: TryStates | None = None  # of that job, once they were fetched
        self._kept = self._end = StateRef(0)  # the names of its states
        self._answers: dict[type, Callable[[Any], Any]] = {
            Snapshot: lambda command: self.table.snapshot(),
            Hold: lambda command: self.table.hold(command.ref),
            Restore: self._restore,
            StartFrom: lambda command: self.table.start_from(command.ref),
            Announce: lambda command: None,  # nothing begins before it is asked for
            Look: self._look,
            Keep: self._keep,
            Drop: lambda command: self.table.drop(command.ref),
            Tell: lambda command: None,  # events are for middleware
            Reach: self._reach,
            Agree: self._agree,
        }

    def answer(self, command: Any) -> Any:
        """Carry out a command."""
        return self._answers[type(command)](command)

    def carry_out(self, commands: Commands, memory: Memory, take: Callable[[Memory], None]) -> None:
        """Carry out a round and pass the memory after it to ``take``.

        If anything goes wrong before ``take`` has returned, everything is as before the round.
        """
        self.table.begin_round()
        try:
            after = self._answered(commands)
            take(after)  # here, so that no interrupt comes between the two
        except BaseException as failure:
            self.undo(commands, memory, failure)
            raise
        self.finish(after)

    def _answered(self, commands: Commands) -> Memory:
        """Answer all commands; a function of its own, so that its caller can undo any failure."""
        answers = self._answers
        reply = None
        while True:
            try:
                command = commands.send(reply)
            except StopIteration as end:
                after: Memory = end.value
                return after
            reply = answers[type(command)](command)

    def finish(self, memory: Memory) -> None:
        """A round has ended: only states that later rounds may start from are held."""
        self._forget_job()
        self._watcher = None
        self.table.end_round(memory.refs)

    def undo(self, commands: Commands, memory: Memory, failure: BaseException) -> None:
        """Discard a round: the trainer is back where it began, and only older states are held."""
        self._forget_job()
        self._watcher = None
        try:
            commands.close()  # middleware may raise
        finally:
            self.table.undo_round(memory.refs, failure)

    def begin_job(self, job: Job) -> None:
        """Bring the trainer to where a job starts."""
        self._forget_job()
        self.table.restore(job.origin, job.seed)
        self.table.leave()

    def _forget_job(self) -> None:
        """Let go of the states of the last job: they are asked for right after it, or never."""
        self._outcome = self._states = None

    def tried(self, outcome: Outcome) -> Tried:
        """Give names to the states of a job that was carried out."""
        end = self.table.new_name()
        kept = end
        if outcome.in_place:
            self.table.here = end
        else:
            kept = self.table.new_name()
        self._outcome = outcome
        self._states = None
        self._end = end
        self._kept = kept
        return Tried(  # by position, which takes a third of the time
            outcome.series,
            outcome.epochs,
            outcome.error,
            end,
            kept,
            outcome.reported,
            outcome.seconds,
            outcome.elsewhere,
        )

    def _restore(self, command: Restore) -> None:
        self._forget_job()
        self.table.restore(command.ref, command.seed)

    def _look(self, command: Look) -> Fingerprint:
        self._fetch(command.ref)
        return fingerprint(self.table.get(command.ref), tolerance=command.tolerance)

    def _keep(self, command: Keep) -> Held | None:
        self._fetch(command.ref)
        self.table.keep(command.ref)
        if self._states is None or self._states.inner is None:
            return None
        inner = self._states.inner
        ref = self.table.new_name()
        self.table.put(ref, inner.state)
        self.table.keep(ref)
        return Held(inner.epoch + 1, inner.score, ref)

    def _fetch(self, ref: StateRef) -> None:
        """Fetch the states of the last job, unless the trainer itself is in them."""
        outcome = self._outcome
        if outcome is None or outcome.in_place or self._states is not None:
            return
        if ref in (self._kept, self._end):
            self._states = states_of(outcome.keep())
            self.table.put(self._kept, self._states.kept)
            self.table.put(self._end, self._states.end)

    def _reach(self, command: Reach) -> Reached:
        if command.moment == "begin":
            self._watcher = self._new_watcher(command.tolerance)
            return Reached()
        watcher = self._watcher
        assert watcher is not None
        if command.moment == "first try":
            watcher.first_try_ended()
            return Reached()
        if command.moment == "back at origin":
            watcher.back_at_origin()
            return Reached()
        in_a_loop = hasattr(self._trainer, "watch")
        if command.moment == "differs":
            names = getattr(self._trainer, "part_names", ())
            return Reached(suspects=watcher.suspects(), part_names=names, in_a_loop=in_a_loop)
        left_behind = watcher.left_behind()
        hints = watcher.hints() if in_a_loop and not left_behind else []
        return Reached(left_behind=left_behind, hints=hints, in_a_loop=in_a_loop)

    def _new_watcher(self, tolerance: float) -> Watcher:
        watch = getattr(self._trainer, "watch", None)
        watcher: Watcher = (
            trainer_watch(self._trainer, tolerance) if watch is None else watch(tolerance)
        )
        return watcher

    def _agree(self, command: Agree) -> list[Any]:
        trainer = self._trainer
        return trainer.agree(command.said) if isinstance(trainer, Agrees) else [command.said]
