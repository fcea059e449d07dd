"""The loop over ``adapt``: it hands out one pass after the other, and drives the rounds."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LoopError, UnknownName, advise
from dynhp.loops import bindings, text, watching
from dynhp.loops.best import BestEpoch, BestKeeper
from dynhp.loops.bindings import Binding
from dynhp.loops.epoch import Epoch, Passes
from dynhp.loops.parts import Part, Parts
from dynhp.loops.saving import load_loop, saved_loop
from dynhp.records import Candidate, History, Round
from dynhp.rounds.attempt import TryLog, go_to
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.rounds.steps import CarryOutTries, Step, TrainStretch

__all__ = ["Loop"]


class Loop:
    """A run inside a loop: iterate over it once; ``history`` and ``adapter`` stay afterwards.

    Leaving the loop while ``epoch.trying`` (``break``, ``return``, an exception) puts the state and
    the bound values back to the round's origin. Leaving it on the main line keeps the state and
    records a shorter round. Where the iterator is held elsewhere, ``close()`` ends the run.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> loop = adapt(20, state=[model := Quadratic()], space={"lr": [0.1, 0.5]}, minimize="loss",
    ...              adapt_every=5, try_for=1)
    >>> for epoch in loop:
    ...     model.train_k(1, epoch.values)
    ...     epoch.report(loss=model.metrics()["loss"])
    ...     if epoch == 7 and epoch.main: break
    >>> [round_.epochs for round_ in loop.history]
    [5, 3]
    """

    def __init__(
        self,
        adapter: DynamicGridAdapter,
        bind: Mapping[str, Binding],
        parts: Parts,
        *,
        unit: str = "epochs",
        keeper: BestKeeper | None = None,
        generators: Sequence[Part] = (),
        shown: Any = None,
    ) -> None:
        self.adapter, self.parts = adapter, parts
        self._bind, self._unit, self._keeper, self._shown = bind, unit, keeper, shown
        self._generators = generators  # to be left as they were before the loop
        self._run: weakref.ref[Generator[Epoch, None, None]] | None = None
        self._runs, self._first_round, self.driven = False, True, False  # driven: from hooks
        self._silent = 0  # so many passes in a row were not reported
        self.work: Step | None = None  # what the body is carrying out
        self._line: Passes | None = None  # of the stretch that it is in, or was in last
        self._begun: Round | None = None  # a round that was left in its stretch, to go on with
        self.kept: int | None = None  # the place of the try kept last; a driver clears it

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.adapter.history

    @property
    def best(self) -> BestEpoch | None:
        """The best reported epoch of the main line, None before the first (``keep_best=True``)."""
        return self._required_keeper().best

    def restore_best(self) -> None:
        """Put the state and the bound values back to where they were after the best epoch."""
        keeper = self._required_keeper()
        if self._runs:
            raise LoopError("restore_best() is for after the loop; leave it first, as with break")
        keeper.restore()

    def _required_keeper(self) -> BestKeeper:
        if self._keeper is None:
            raise LoopError("no state was kept; ask for it with adapt(..., keep_best=True)")
        return self._keeper

    def __len__(self) -> int:
        return self.adapter.epochs or 0

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Loop({self._unit}={len(self)}, {self.adapter!r})"

    def __str__(self) -> str:
        return text.loop_text(self.adapter, self._unit)

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Epoch]:
        if self._run is not None:
            raise LoopError("a loop over adapt(...) runs once; call adapt(...) again for another")
        run = self._rounds()
        self._run = weakref.ref(run)  # weak, so that leaving the loop ends the run at once
        return run

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for such names
            raise AttributeError(name)
        raise UnknownName(text.no_such_name(name))

    def __getitem__(self, name: object) -> Any:
        raise UnknownName(text.no_such_name([name]))

    def state_dict(self) -> dict[str, Any]:
        """All that decides the loop's own future, for a checkpoint of yours beside the model's.

        On the main line, in an epoch (or step) that is reported already; also before and after.
        """
        epoch = None if self._line is None else self._line.now
        if epoch is not None:
            self._judge(epoch)  # it counts as done
        return saved_loop(self.adapter, self.work, epoch, self._keeper)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave, before the first epoch; load your own state too."""
        if self._run is not None:
            raise LoopError("load_state_dict() is for before the first epoch; make a new loop")
        self._begun = load_loop(self.adapter, state, self._keeper)

    def close(self) -> None:
        """End the run as ``break`` would."""
        if self._run is not None and (run := self._run()) is not None:
            run.close()

    def _rounds(self) -> Generator[Epoch, None, None]:
        self._runs = True
        before = [part.get() for part in self._generators]
        bindings.tell(self._bind, "enter")
        try:
            with self._shown or nullcontext():
                while not self.adapter.is_over:
                    yield from self._round()
                    self._first_round &= not self.adapter.history[-1].tries
        finally:
            self._runs = False
            bindings.tell(self._bind, "leave")
            for part, state in zip(self._generators, before, strict=True):
                part.set(state)

    def _round(self) -> Generator[Epoch, None, None]:
        adapter, work, begun, self._begun = self.adapter, None, self._begun, None
        steps = adapter.round_steps(begun)
        try:
            for self.work in steps:
                work = self.work
                if isinstance(work, CarryOutTries):
                    yield from self._tries(work)
                else:
                    self.kept = work.kept if work.kept is not None else self.kept
                    yield from self._stretch(work)
        except GeneratorExit:
            if isinstance(work, CarryOutTries) and not self.driven:
                advise(text.left_in_a_try(self._unit, adapter.epoch))
            elif isinstance(work, TrainStretch) and watching.is_unrecorded(work, adapter.epoch):
                next(steps, None)  # the main line ends here: record it as it is
            raise
        finally:
            self.work = None
            steps.close()  # steps that are interrupted put everything back

    def _tries(self, work: CarryOutTries) -> Generator[Epoch, None, None]:
        at, left, self._silent = work.at, deque(work.stage.jobs()), 0
        for begun, place in zip(work.stage.begun(), work.stage.places(), strict=True):
            job = left.popleft()  # a job done is dropped, and with it the state it started from
            go_to(self.adapter.trainer, job, at=at)
            at = UNKNOWN_STATE
            passes = Passes(job.candidate, trying=True, place=place)
            outcome = yield from self._attempt(job, passes, self.adapter.epoch + begun)
            work.stage.take_outcome(outcome)
            del job, outcome

    def _attempt(self, job: Job, passes: Passes, start: int) -> Generator[Epoch, None, Outcome]:
        log = TryLog(job, self.adapter.trainer.get_state)
        bindings.apply(self._bind, job.candidate)
        try:
            for number in log.epochs(lambda: passes.reported(self._unit == "epochs")):  # noqa: B023
                if log.values is not passes.values:
                    passes.now = None  # a report on it comes too late
                    passes = passes.in_tail(log.values)
                    bindings.apply(self._bind, log.values, tail=True)
                yield (epoch := passes.epoch(start + number - 1))
                if epoch.failure is None and (epoch.metrics is not None or number >= job.epochs):
                    self._after(epoch, log.values)
        finally:
            passes.now = None
        outcome = log.outcome()
        if outcome.error is None:
            if self._first_round:
                watching.require_used(passes, self._bind)
            if not watching.is_judged(job, outcome):
                watching.require_reported(self.adapter, start, outcome.epochs)
        return outcome

    def _stretch(self, work: TrainStretch) -> Generator[Epoch, None, None]:
        start, end, work.epochs = work.start, work.start + work.epochs, 0
        passes = self._line = Passes(work.candidate, trying=False, rescues=watching.rescues(work))
        bindings.apply(self._bind, work.candidate)  # also where no epoch is left to train
        try:
            for number in range(start, end):
                epoch = passes.epoch(number)
                yield epoch
                if epoch.failure is not None:
                    work.fail(epoch.failure)
                    return
                if epoch.metrics is not None or self._unit == "epochs" or number + 1 == end:
                    self._after(epoch, work.candidate)
                self._silent = 0 if epoch.metrics is not None else self._silent + 1
                watching.require_watched(
                    self.adapter, work, epoch, silent=self._silent, unit=self._unit
                )
                if work.take(1, epoch.metrics):
                    return
        except GeneratorExit:
            if epoch.failure is not None:
                work.fail(epoch.failure)  # the next round is a rescue, should the run go on
            elif epoch.metrics is not None:
                self._judge(epoch)
                work.epochs, work.metrics = work.epochs + 1, epoch.metrics
            raise
        finally:
            passes.now = None

    def _after(self, epoch: Epoch, candidate: Candidate) -> None:
        """Check what a completed pass has left behind."""
        # Nothing of ours comes between two passes of a line, so what is in force stays so.
        bindings.verify(self._bind, candidate, "after the epoch")
        self._judge(epoch)

    def _judge(self, epoch: Epoch) -> None:
        if self._keeper is not None and epoch.metrics is not None and not epoch.tail:
            self._keeper.judge(int(epoch), epoch.metrics)
