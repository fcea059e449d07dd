"""The log of a run: middleware that saves it and replays the tries of an earlier process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from dynhp._log import logger
from dynhp.adapter import DynamicGridAdapter
from dynhp.engine.commands import Announce, Attempt, Commands, Job, Restore, Train
from dynhp.engine.memory import Memory
from dynhp.errors import (
    AllTriesFailed,
    CheckpointError,
    CodecError,
    ContractError,
    DynhpError,
    LoopError,
    NotRepeatable,
    SettingsError,
    ValueNotInForce,
    ValueNotUsed,
    warn_caller,
)
from dynhp.executors.attempt import move_to
from dynhp.start import hint_at_length
from dynhp.storage.files import locked
from dynhp.storage.folder import CheckpointFolder, SavedRun, TryPlace
from dynhp.storage.jobs import FinishedTry, RecordedJob, ReplayedJob, TryRequest
from dynhp.trainer import Agrees

__all__ = ["OnError", "ResumeMode", "Rewinds", "RunLog", "newest_of_all", "note_distrust"]

OnError: TypeAlias = Literal["stop", "warn"]
"""What to do if a checkpoint cannot be written: stop the run, or warn and go on."""

ResumeMode: TypeAlias = Literal["allow", "must", "never"]
"""What to do with a run that is saved in the folder: go on with it, demand one, or refuse one."""


@runtime_checkable
class Rewinds(Protocol):
    """Optional: a callback whose output can be cut back, as that of ``Journal`` can."""

    def position(self) -> Any:
        """Where the output ends, as plain data, once all of it is on disk; None if it is lost."""
        ...

    def rewind(self, position: Any) -> None:
        """Cut the output back to that position."""
        ...


_CAST_DOUBT = (NotRepeatable, ValueNotInForce, ValueNotUsed, LoopError)


class RunLog:
    """Saves a run in a folder: all of it before a round, and each finished job within a round.

    It is the first middleware to see a command, so the run is saved before any other middleware
    is told. A process that goes on with the run loads what was saved before the open round. The
    finished jobs of that round are read from the folder; proposals and scores are computed again
    and must come out the same. The self-check always repeats its tries live, so no run gets past a
    check that failed. If the tries that it repeats are those of an earlier process, the next round
    is checked too.
    """

    def __init__(
        self,
        folder: CheckpointFolder,
        adapter: DynamicGridAdapter,
        *,
        every: int,
        keep: int,
        on_error: OnError,
    ) -> None:
        self._folder = folder
        self._where = repr(str(folder.path))
        self._adapter = adapter
        self._every = every
        self._keep = keep
        self._on_error = on_error
        trainer: object = adapter.trainer
        self._ranks = trainer if isinstance(trainer, Agrees) else None
        callbacks: Sequence[Any] = adapter.callbacks
        self._outputs = [output for output in callbacks if isinstance(output, Rewinds)]
        self._saved: tuple[int, int | None] | None = None  # rounds and planned epochs
        self._proved = 0  # how many rounds there were when a check passed, in one whole process
        self._base = ""  # the checkpoint that the jobs of the open round build on

    @contextmanager
    def saving(self, resume: ResumeMode) -> Iterator[None]:
        """Go on from what is saved, then save what the adapter does inside."""
        with ExitStack() as stack:
            if resume == "must" and not self._folder.path.is_dir():
                raise self._nothing_there()
            with self._handle_disk_errors("the lock"):
                stack.enter_context(locked(self._folder.path))
            self._go_on(resume)
            try:
                with self._adapter.through(self, first=True):
                    yield
                self._save()
            except (ContractError, AllTriesFailed, LoopError) as failure:
                # The open round broke a promise: after a restart it is carried out again.
                self._folder.remove_tries(from_round=len(self._adapter.memory.rounds))
                self._note_check(self._adapter.memory)
                note_distrust(
                    self._folder,
                    failure,
                    rounds=len(self._adapter.memory.rounds),
                    proved=self._proved,
                )
                raise
            except Exception:
                # Whatever went wrong, finished rounds are kept. In a loop the state may be in the
                # middle of an epoch, so nothing can be saved there.
                if self._adapter.driver.replays_jobs:
                    with suppress(Exception):  # the first error matters more
                        self._save()
                raise

    # ---- loading, when a process starts ----
    def _go_on(self, resume: ResumeMode) -> None:
        """Load the newest checkpoint, if there is one and it may be used."""
        saved = self._newest()
        if saved is None:
            if resume == "must":
                raise self._nothing_there()
            return
        if resume == "never":
            raise CheckpointError(
                f"{self._where} already holds a run of {saved.rounds} rounds; choose another "
                "folder, or leave out resume='never' to go on with it"
            )

        adapter = self._adapter
        distrust = self._distrust_of_any_rank()
        self._refuse_distrusted(saved, distrust)
        self._refuse_trained()
        planned = adapter.epochs
        if distrust is not None:
            # Nothing was trained yet, and what has been mended may start from another state.
            adapter.epochs = saved.content["adapter"]["epochs"] if planned is None else planned
            self._rewind(saved)
            return
        self._load(saved)
        self._base = saved.digest
        self._saved = (saved.rounds, adapter.epochs)
        if planned is not None:  # always so with a loop
            self._plan_for(planned)

    def _distrust_of_any_rank(self) -> str | None:
        """The error that has cast doubt on the saved run, on this rank or another one."""
        distrust = self._folder.distrust
        if self._ranks is None:
            return distrust
        return next(filter(None, self._ranks.agree(distrust)), None)

    def _refuse_distrusted(self, saved: SavedRun, distrust: str | None) -> None:
        if distrust is not None and saved.rounds:
            proved = saved.content["proved"]
            doubtful = "they were" if not proved else f"those from round {proved} on were"
            raise CheckpointError(
                f"the run in {self._where} was stopped by an error after {saved.rounds} rounds, "
                f"before any check had proved that {doubtful} trained as they should be; choose "
                f"another folder to start afresh, or delete {self._folder.distrust_file.name} in "
                f"this one to go on with them. The error was {distrust}"
            )

    def _refuse_trained(self) -> None:
        """Refuse an adapter that has begun a run: loading the saved one would overwrite it."""
        if self._adapter.epoch:
            raise SettingsError(
                f"{self._where} holds a run to go on with, but this adapter has already trained "
                f"for {self._adapter.epoch} epochs; make a new adapter or choose another folder"
            )

    def _plan_for(self, planned: int) -> None:
        """Go on with the loaded run for as many epochs as this call asks for."""
        adapter = self._adapter
        before = adapter.epochs
        if planned < adapter.epoch:
            raise SettingsError(
                f"epochs must be at least {adapter.epoch}, because the run in {self._where} "
                f"already has that many, got {planned!r}; ask for more, or choose another folder"
            )
        if before is not None and planned < before:
            logger.warning(
                f"the run in {self._where} was planned for {before} epochs; from now on it is for "
                f"{planned}"
            )
        hint_at_length(adapter.policy, before, planned)
        adapter.epochs = planned

    def _newest(self) -> SavedRun | None:
        """The newest checkpoint; with several ranks, the newest that all of them have."""
        if self._ranks is None:
            return self._folder.newest()
        rounds = [saved.rounds for saved in self._folder.whole()]
        newest = newest_of_all(self._ranks.agree(rounds), str(self._folder.path))
        return None if newest is None else self._folder.read(newest)

    def _nothing_there(self) -> CheckpointError:
        return CheckpointError(
            f"{self._where} holds no checkpoint to go on from; start with "
            "run_with_checkpoints(adapter, epochs, checkpoint=...)"
        )

    def _load(self, saved: SavedRun) -> None:
        content = saved.content
        before = self._adapter.state_dict()
        self._adapter.load_state_dict({**content["adapter"], "history": content["history"]})
        try:
            move_to(self._adapter.trainer, content["trainer"])
        except BaseException as failure:
            self._adapter.load_state_dict(before)
            if isinstance(failure, DynhpError) or not isinstance(failure, Exception):
                raise
            raise CheckpointError(
                f"the trainer rejects the state that is saved in {self._where}: its "
                f"set_state raised {type(failure).__name__}: {str(failure)[:200]}. Build it like "
                "the trainer that was saved, or choose another folder to start afresh"
            ) from failure
        self._proved = content["proved"]
        self._folder.go_on(saved, self._adapter.history)
        self._rewind(saved)

    def _rewind(self, saved: SavedRun) -> None:
        """Cut the outputs back to where they were when this was saved."""
        # An output that is new, no longer wanted or lost has no position to be cut back to.
        for output, position in zip(self._outputs, saved.content["outputs"], strict=False):
            if position is not None:
                output.rewind(position)

    # ---- saving, before a round ----
    def _save(self) -> None:
        """Write a checkpoint, unless it would be the same as the last one."""
        self._note_check(self._adapter.memory)
        history = self._adapter.history
        now = (len(history), self._adapter.epochs)
        if now == self._saved:
            return
        self._base = ""  # jobs that build on an older checkpoint would pile up
        with self._handle_disk_errors(f"the checkpoint after round {now[0]}"):
            state = self._adapter.state_dict(since=len(history))  # the folder takes the rounds
            del state["history"]
            table = self._adapter.table
            content = {
                "adapter": state,
                "trainer": table.get(table.snapshot()),
                "outputs": list(map(self._position, self._outputs)),
                "proved": self._proved,
            }
            self._base = self._folder.save(history, content)
            self._saved = now
            self._folder.tidy(now[0], keep=self._keep)

    def _position(self, output: Rewinds) -> Any:
        try:
            return output.position()
        except OSError as failure:
            if self._on_error == "stop":
                raise
            message = f"a checkpoint is saved without the output of {output!r}: {failure}"
            warn_caller(message[:500], RuntimeWarning)
            return None

    @contextmanager
    def _handle_disk_errors(self, what: str) -> Iterator[None]:
        """Stop the run if this cannot be written, or warn and go on, as ``on_error`` says."""
        try:
            yield
        except CodecError as failure:
            # If a state can never be stored, the run stops before anything is trained.
            if self._on_error == "stop" or self._saved is None:
                raise
            warn_caller(f"{what} could not be saved: {failure}", RuntimeWarning)
        except OSError as failure:
            message = (
                f"{what} could not be written to {self._where}: {failure}. Anything saved earlier "
                "is intact; free some space or mend the folder"
            )
            if self._on_error == "stop":
                raise CheckpointError(
                    f"{message}, then go on with the same call; on_checkpoint_error='warn' lets "
                    "the run go on all the same"
                ) from failure
            warn_caller(message, RuntimeWarning)

    def _note_check(self, memory: Memory) -> None:
        """All rounds up to one whose check has passed were trained as they should be."""
        # A round of which an earlier process carried out tries does not count: see ``_ended``.
        if memory.checked and memory.rounds[-1].checked:
            self._proved = len(memory.rounds)

    # ---- a round passes through ----
    def __call__(self, commands: Commands, memory: Memory) -> Commands:
        """Save before the round; then replay each of its jobs, or record it once it is done."""
        self._note_check(memory)
        round_ = len(memory.rounds)
        if not self._base or round_ % self._every == 0:
            self._save()
        if not self._adapter.driver.replays_jobs:
            return commands
        return self._logged(commands, memory)

    def _logged(self, commands: Commands, memory: Memory) -> Commands:
        round_ = len(memory.rounds)
        replayed = False  # whether an earlier process has carried out some of its tries
        places: deque[TryPlace] = deque()  # of the announced jobs that were not attempted yet
        finished: deque[FinishedTry] = deque()  # by an earlier process: the first of these jobs
        job: ReplayedJob | RecordedJob | None = None  # the one that the engine is deciding about
        stages = 0
        reply: Any = None
        try:
            while True:
                try:
                    command = commands.send(reply)
                except StopIteration as end:
                    return self._ended(memory, end.value, replayed)
                if isinstance(command, Announce | Attempt | Restore | Train):
                    # With any of these commands the engine is done with the job before.
                    if isinstance(job, RecordedJob):
                        self._note(job)
                    job = None
                if isinstance(command, Announce) and not command.jobs[0].repeat:
                    places = deque(TryPlace(round_, stages, n) for n in range(len(command.jobs)))
                    stages += 1
                    finished = deque(self._finished(command.jobs, places))
                    rest = command.jobs[len(finished) :]
                    reply = (yield Announce(rest)) if rest else None
                    continue
                if isinstance(command, Attempt) and not command.job.repeat:
                    place = places.popleft()
                    if finished:
                        replayed = True
                        job = ReplayedJob(place, finished.popleft(), self._adapter.table)
                    else:
                        job = RecordedJob(place)
                reply = (yield command) if job is None else (yield from job.answer(command))
        finally:
            commands.close()

    def _ended(self, before: Memory, after: Memory, replayed: bool) -> Memory:
        """The memory after a round; one that was partly replayed does not count as checked."""
        # Whatever an earlier process left behind outside the state is gone with that process, so
        # only a round that this process carries out whole proves anything.
        return after._replace(checked=before.checked) if replayed else after

    def _finished(self, jobs: Sequence[Job], places: Sequence[TryPlace]) -> Iterator[FinishedTry]:
        """The results of the first few of these jobs, if an earlier process carried them out."""
        for job, place in zip(jobs, places, strict=True):
            done: FinishedTry | None = None
            match self._folder.get_try(place):
                case {
                    "base": self._base,
                    "planned": self._adapter.epochs,
                    "done": FinishedTry() as recorded,
                }:
                    done = recorded
            if self._ranks is not None and not all(self._ranks.agree(done is not None)):
                return
            if done is None:
                return
            asked = TryRequest.of(job)
            if done.asked != asked:
                raise CheckpointError(
                    f"{place} was {done.asked}, but now {asked} is asked for: the proposer or the "
                    "selection depends on more than the run, or is from another version of dynhp. "
                    "Delete the files try-*.zip in the checkpoint's folder to train the tries of "
                    "this round again"
                )
            yield done

    def _note(self, job: RecordedJob) -> None:
        """Save a job until the next checkpoint, if there is one that it builds on."""
        if not self._base:
            return
        with self._handle_disk_errors(f"a try of round {job.place.round}"):
            done = job.finished(self._adapter.table)
            saved = {"base": self._base, "planned": self._adapter.epochs, "done": done}
            self._folder.put_try(job.place, saved)


def note_distrust(
    folder: CheckpointFolder, failure: BaseException, *, rounds: int, proved: int
) -> None:
    """Remember an error that casts doubt on what is saved: on rounds that no check has proved.

    What trained them has just broken its promise. After the first check that has passed, only a
    repeat that differs says something about the rounds since: a value is read back in every epoch.
    """
    doubtful = not proved or (rounds > proved and isinstance(failure, NotRepeatable))
    if doubtful and isinstance(failure, _CAST_DOUBT):
        with suppress(OSError):  # the failure itself matters more
            folder.distrust_file.write_text(f"{type(failure).__name__}: {failure}\n", "utf-8")


def newest_of_all(ranks: Sequence[Sequence[int]], folder: str) -> int | None:
    """The newest checkpoint that every rank holds; None if the run has not begun on one.

    >>> newest_of_all([[4, 3], [3, 2]], "saved")
    3
    """
    common = set.intersection(*map(set, ranks))
    if common:
        return max(common)
    # Ranks are at most one checkpoint apart: if one has none, the others have only the first.
    if all(max(held, default=0) == 0 for held in ranks):
        return None
    by_rank = ", ".join(f"rank {rank}: {list(held)}" for rank, held in enumerate(ranks))
    raise CheckpointError(
        f"all ranks must hold a checkpoint after the same round, got {by_rank}; this rank's "
        f"folder is {folder!r}. Save with keep=2 or more, put back the missing folder, or "
        "choose new folders for all ranks"
    )
