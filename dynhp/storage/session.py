"""One run being saved: what a checkpoint holds, when it is written and how it is loaded."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import index
from typing import Any, Literal, TypeAlias

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import CheckpointError, CodecError, DamagedFile, SettingsError
from dynhp.loops.best import BestEpoch
from dynhp.loops.copying import Elsewhere
from dynhp.loops.epoch import Epoch
from dynhp.main_line.inner import InnerState, KeptAndInner
from dynhp.records import Event, History, RoundStarted
from dynhp.rounds.attempt import move_to
from dynhp.storage.appended import Rewinds
from dynhp.storage.codecs import register_codec, register_dataclass
from dynhp.storage.codecs.json_text import strict_json
from dynhp.storage.folder import CheckpointFolder, SavedRun
from dynhp.storage.history_file import HistoryFile
from dynhp.storage.ranks import Agrees, newest_of_all
from dynhp.storage.recording import FinishedTry, RecordingExecutor, TryPlace, TryRequest
from dynhp.wrappers.keep_best import KeptState

__all__ = ["OnError", "Rewinds", "Session", "WhetherToResume"]

OnError: TypeAlias = Literal["stop", "warn"]
"""What to do where a checkpoint cannot be written: stop the run, or warn and go on."""

WhetherToResume: TypeAlias = Literal["allow", "must", "never"]
"""Go on with the run in the folder if there is one, only if there is one, or only if not."""


# The names are on disk: never change them.
_ON_DISK = {"asked": TryRequest, "done": FinishedTry, "kept": KeptState, "best_epoch": BestEpoch}
_ON_DISK |= {"inner": InnerState, "kept_and_inner": KeptAndInner}
for _name, _kind in {**_ON_DISK, "elsewhere": Elsewhere}.items():
    register_dataclass(_kind, name=f"dynhp.{_name}")
# A sampler with set_epoch(epoch) keeps the loop's epoch; the number is all that matters of it.
register_codec(Epoch, name="dynhp.epoch", to_plain=int, from_plain=index)


class Session:
    """Saves an adapter between rounds, as a callback, and its tries, as a ``TryStore``."""

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
        self._history = HistoryFile(folder.path)
        self._adapter = adapter
        self._every = every
        self._keep = keep
        self._on_error = on_error
        trainer: object = adapter.trainer
        self._ranks = trainer if isinstance(trainer, Agrees) else None
        callbacks: Sequence[Any] = adapter.callbacks
        self._outputs = [output for output in callbacks if isinstance(output, Rewinds)]
        self._saved: tuple[int, int | None] | None = None  # rounds and planned epochs
        self._base = ""  # the checkpoint that tries build on
        self.recording = RecordingExecutor(adapter.executor, self)

    @contextmanager
    def locked(self, whether: WhetherToResume) -> Iterator[None]:
        """Lock the folder; it is made where a new run may start in it."""
        with ExitStack() as stack:
            if whether == "must" and not self._folder.path.is_dir():
                raise self._nothing_there()
            with self._faults("the lock"):
                stack.enter_context(self._folder.locked())
            yield

    def __call__(self, event: Event) -> None:
        """Save where a round starts: the one before it is over, and nothing of it has begun."""
        if isinstance(event, RoundStarted):
            if not self._base or event.index % self._every == 0:
                self.save()
            self.recording.begin(event.index)

    def save(self) -> None:
        """Write a checkpoint, unless it would be the one that was written last."""
        history = self._adapter.history
        now = (len(history), self._adapter.epochs)
        if now == self._saved:
            return
        self._base = ""  # tries that build on an older one would pile up until one is written
        with self._faults(f"the checkpoint after round {now[0]}"):
            self._base = self._folder.save(now[0], self._content(history))
            self._saved = now
            self._folder.tidy(now[0], keep=self._keep)
            self._history.tidy(keep=self._keep)

    def _content(self, history: History) -> dict[str, Any]:
        state = self._adapter.state_dict(since=len(history))  # the rounds are in their own file
        del state["history"]
        return {
            "adapter": state,
            "history": self._history.save(history),
            "trainer": self._adapter.trainer.get_state(),
            "outputs": list(map(self._position, self._outputs)),
        }

    def _position(self, output: Rewinds) -> Any:
        try:
            return output.position()
        except OSError as failure:
            if self._on_error == "stop":
                raise
            message = f"a checkpoint is saved without the output of {output!r}: {failure}"
            warnings.warn(message[:500], RuntimeWarning, stacklevel=2)
            return None

    def go_on(self, whether: WhetherToResume) -> None:
        """Load the newest checkpoint, if there is one and that is wanted."""
        saved = self._newest()
        where = str(self._folder.path)
        if saved is None:
            if whether == "must":
                raise self._nothing_there()
            return
        if whether == "never":
            raise CheckpointError(
                f"{where!r} holds a run of {saved.rounds} rounds already; choose another folder, "
                "or go on with it by leaving out resume='never'"
            )
        if self._adapter.epoch:
            raise SettingsError(
                f"{where!r} holds a run to go on with, but this adapter has trained "
                f"{self._adapter.epoch} epochs of its own; make a new adapter or choose another "
                "folder"
            )
        planned = self._adapter.epochs
        self._load(saved.content)
        self._base, self._saved = saved.digest, (saved.rounds, self._adapter.epochs)
        if planned is not None:  # always so with a loop
            self.plan(planned)

    def plan(self, epochs: int) -> None:
        """Plan for so many epochs, which must not be fewer than are done already."""
        done, before = self._adapter.epoch, self._adapter.epochs
        if epochs < done:
            raise SettingsError(
                f"epochs must be at least {done}, because the run in {str(self._folder.path)!r} "
                f"has so many already, got {epochs!r}; ask for more, or choose another folder"
            )
        if before is not None and epochs < before:
            logging.getLogger("dynhp").warning(
                f"the run in {str(self._folder.path)!r} was planned for {before} epochs; from now "
                f"on it is for {epochs}"
            )
        self._adapter.epochs = epochs

    def _newest(self) -> SavedRun | None:
        """The newest checkpoint; where there are several ranks, the newest that all have."""
        if self._ranks is None:
            return self._folder.newest(self._check)
        rounds = [saved.rounds for saved in self._folder.whole(self._check)]
        newest = newest_of_all(self._ranks.agree(rounds), str(self._folder.path))
        return None if newest is None else self._folder.read(newest, self._check)

    def _nothing_there(self) -> CheckpointError:
        return CheckpointError(
            f"{str(self._folder.path)!r} holds no checkpoint to go on from; start with "
            "run_with_checkpoints(adapter, epochs, checkpoint=...)"
        )

    def _load(self, content: dict[str, Any]) -> None:
        history = [strict_json(line) for line in self._history.read(content["history"])]
        before = self._adapter.state_dict()
        self._adapter.load_state_dict({**content["adapter"], "history": history})
        try:
            move_to(self._adapter.trainer, content["trainer"])
        except BaseException:
            self._adapter.load_state_dict(before)
            raise
        self._history.go_on(content["history"], self._adapter.history)
        # An output that is new, is no longer wanted or was lost has nothing to be cut back to.
        for output, position in zip(self._outputs, content["outputs"], strict=False):
            if position is not None:
                output.rewind(position)

    def find(self, place: TryPlace) -> FinishedTry | None:
        """The try that was carried out at this place, if all ranks have it."""
        done = self._noted(place)
        if self._ranks is not None and not all(self._ranks.agree(done is not None)):
            return None
        return done

    def _noted(self, place: TryPlace) -> FinishedTry | None:
        """The try that is saved, if it builds on the same checkpoint and the same plan."""
        match self._folder.get_try(place):
            case {
                "base": self._base,
                "planned": self._adapter.epochs,
                "done": FinishedTry() as done,
            }:
                return done
        return None

    def note(self, place: TryPlace, done: FinishedTry) -> None:
        """Keep a try until the next checkpoint, if there is one that it builds on."""
        if not self._base:
            return
        with self._faults(f"a try of round {place.round}"):
            self._folder.put_try(
                place, {"base": self._base, "planned": self._adapter.epochs, "done": done}
            )

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except CodecError as failure:
            # That a state cannot be stored at all is said before anything is trained.
            if self._on_error == "stop" or self._saved is None:
                raise
            warnings.warn(f"{what} could not be saved: {failure}", RuntimeWarning, stacklevel=2)
        except OSError as failure:
            message = (
                f"{what} could not be written to {str(self._folder.path)!r}: {failure}. Those "
                "before it are as they were; make room or fix the folder"
            )
            if self._on_error == "stop":
                raise CheckpointError(
                    f"{message}, then go on with the same call; on_checkpoint_error='warn' goes "
                    "on without"
                ) from failure
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def _check(self, content: Any) -> None:
        """Refuse what is no checkpoint, or one whose history is not as it was written."""
        match content:
            case {"adapter": dict(), "history": history, "trainer": _, "outputs": list()}:
                self._history.read(history)
            case _:
                raise DamagedFile("it is a state, but not a checkpoint")
