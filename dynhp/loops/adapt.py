"""Adaptation inside an existing loop: the body stays in charge of training."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Literal

from dynhp._checks import require_count
from dynhp.adapter import Callback, DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.errors import LoopError
from dynhp.loops import bindings
from dynhp.loops.bindings import Binding
from dynhp.loops.epoch import Epoch
from dynhp.loops.parts import Part, Parts, global_generators, part_of, parts_of
from dynhp.proposers import Proposer
from dynhp.records import History, Metrics, Value
from dynhp.rounds.attempt import TryLog, go_to
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.rounds.steps import CarryOutTries, Step, TrainStretch
from dynhp.selection import Selection
from dynhp.spaces import Space, SpaceLike
from dynhp.trainer import trainer_from

__all__ = ["Epoch", "Loop", "adapt"]


def adapt(
    epochs: int,
    *,
    state: Sequence[Any],
    space: SpaceLike,
    criterion: Criterion,
    adapt_every: int,
    try_for: int,
    bind: Mapping[str, Binding] | None = None,
    proposer: Proposer | None = None,
    selection: Selection | None = None,
    keep: Literal["winner", "value"] = "winner",
    randomness: Literal["common", "independent"] | None = None,
    initial: Mapping[str, Value] | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    as_part: Callable[[Any], Part] = part_of,
) -> Loop:
    """Adapt hyperparameters in a loop of your own: it runs once per epoch, tries included.

    Args:
        epochs: the epochs of the main line.
        state: everything that decides the future: model, optimiser, scheduler, generators (Python's
            and numpy's global generators always belong to it).
        space: the hyperparameters and their values: a ``Space``, or a mapping it can be made of.
        criterion: what a try is worth, such as ``highest("val_auc")``.
        adapt_every: the epochs of a round.
        try_for: the epochs of a try.
        bind: where values live, so that they are set and read back for you, such as
            ``{"p": attribute(model, "dropout.p")}``; the others are read from the epoch.
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        keep: go on from the "winner", its state, or take only its "value" back to the origin.
        randomness: "common" random numbers for all tries of a round, or "independent" ones.
        initial: the value in force at the start; by default the bound value, where it is on the
            grid, or the middle.
        seed: of the adapter's own generator.
        callbacks: called with each event of the run.
        as_part: how an object of ``state`` is taken and set; needed by integrations only.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> loop = adapt(20, state=[model], space={"lr": [0.01, 0.1, 1.0]}, criterion=lowest("loss"),
    ...              adapt_every=5, try_for=1)
    >>> for epoch in loop:
    ...     model.train_k(1, epoch.values)
    ...     epoch.report(loss=model.metrics()["loss"])
    >>> [round_.candidate["lr"] for round_ in loop.history]
    [1.0, 1.0, 1.0, 1.0]
    """
    require_count("epochs", epochs)
    bound = bindings.require_bindings(bind)
    values = (Part(get=binding.get, set=binding.set) for binding in bound.values())
    parts = Parts((*parts_of(state, as_part), *values, *global_generators()))
    space = space if isinstance(space, Space) else Space(space)
    bindings.require_names(bound, space)
    adapter = DynamicGridAdapter(
        trainer_from(
            get_state=parts.get_state,
            set_state=parts.set_state,
            train_k=_the_body_trains,
            metrics=dict,
            hyperparameters=lambda: bindings.read(bound),
            reseed=parts.reseed,
        ),
        space,
        criterion=criterion,
        adapt_every=adapt_every,
        try_for=try_for,
        proposer=proposer,
        selection=selection,
        keep=keep,
        randomness=randomness,
        initial=initial,
        epochs=epochs,
        seed=seed,
        callbacks=callbacks,
    )
    return Loop(adapter, bound)


class Loop:
    """A run inside a loop: iterate over it once; ``history`` and ``adapter`` stay afterwards.

    Leaving the loop while ``epoch.trying`` (``break``, ``return``, an exception) puts the state and
    the bound values back to the round's origin. Leaving it on the main line keeps the state as it
    is and records a shorter round, with the passes that were completed or reported. Where the
    iterator is held elsewhere, ``close()`` ends the run as ``break`` would.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> loop = adapt(20, state=[model], space={"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...              adapt_every=5, try_for=1)
    >>> for epoch in loop:
    ...     model.train_k(1, epoch.values)
    ...     epoch.report(loss=model.metrics()["loss"])
    ...     if epoch.number == 7 and not epoch.trying: break
    >>> [round_.epochs for round_ in loop.history]
    [5, 3]
    """

    def __init__(self, adapter: DynamicGridAdapter, bind: Mapping[str, Binding]) -> None:
        self.adapter = adapter
        self._bind = bind
        self._run: weakref.ref[Generator[Epoch, None, None]] | None = None

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.adapter.history

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

    def close(self) -> None:
        """End the run as ``break`` would."""
        run = None if self._run is None else self._run()
        if run is not None:
            run.close()

    def _rounds(self) -> Generator[Epoch, None, None]:
        while self._left() > 0:
            yield from self._round()

    def _left(self) -> int:
        return (self.adapter.epochs or 0) - self.adapter.epoch

    def _round(self) -> Generator[Epoch, None, None]:
        alpha, done = min(self.adapter.adapt_every, self._left()), 0
        steps = self.adapter.round_steps()
        work: Step | None = None
        try:
            for work in steps:
                if isinstance(work, CarryOutTries):
                    yield from self._tries(work)
                else:
                    done = alpha - work.epochs
                    yield from self._stretch(work, start=self.adapter.epoch + done)
        except GeneratorExit:
            if isinstance(work, TrainStretch) and done + work.epochs:
                next(steps, None)  # the main line ends here: record it as it is
            raise
        finally:
            steps.close()  # steps that are interrupted put everything back

    def _tries(self, work: CarryOutTries) -> Generator[Epoch, None, None]:
        at, left = work.at, deque(work.stage.jobs())
        for begun in work.stage.begun():
            job = left.popleft()  # a job done is dropped, and with it the state it started from
            go_to(self.adapter.trainer, job, at=at)
            at = UNKNOWN_STATE
            work.stage.take_outcome((yield from self._attempt(job, self.adapter.epoch + begun)))
            del job

    def _attempt(self, job: Job, start: int) -> Generator[Epoch, None, Outcome]:
        log = TryLog(job)
        passes: list[Epoch] = []
        for number in log.epochs(_reported, passes):
            passes.append(Epoch(job.candidate, number=start + number - 1, trying=True))
            yield from self._pass(passes[-1])
        return log.outcome(self.adapter.trainer.get_state)

    def _stretch(self, work: TrainStretch, *, start: int) -> Generator[Epoch, None, None]:
        planned, work.epochs = work.epochs, 0
        while work.epochs < planned:
            epoch = Epoch(work.candidate, number=start + work.epochs, trying=False)
            try:
                yield from self._pass(epoch)
            except GeneratorExit:
                work.epochs += epoch.metrics is not None
                raise
            else:
                work.epochs += 1
            finally:
                work.metrics = epoch.metrics or work.metrics

    def _pass(self, epoch: Epoch) -> Generator[Epoch, None, None]:
        bindings.apply(self._bind, epoch.values)
        try:
            yield epoch
        finally:
            epoch.close()
        if epoch.failure is None:
            bindings.verify(self._bind, epoch.values, "after the epoch")


def _reported(passes: list[Epoch]) -> Metrics:
    """The metrics of the last pass through the body, or the exception that ended it."""
    epoch = passes.pop()
    if epoch.failure is not None:
        raise epoch.failure
    return epoch.required()


def _the_body_trains(k: int, hyperparameters: Mapping[str, Value]) -> None:
    raise LoopError(
        "this adapter belongs to a loop, whose body trains: iterate over the loop instead of "
        "calling step() or run()"
    )
