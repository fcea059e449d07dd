"""Adaptation inside an existing loop: the body stays in charge of training."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from dynhp import bindings
from dynhp.adapter import Callback, DynamicGridAdapter, Stretch, Tries
from dynhp.attempt import NOWHERE, Job, Outcome, Running, go_to, plain_metrics
from dynhp.bindings import Binding
from dynhp.criteria import Criterion
from dynhp.errors import DynhpError, LoopError, SettingsError, nearest
from dynhp.parts import Part, global_generators, part_of, parts_of
from dynhp.proposers import Proposer, require_count
from dynhp.records import Candidate, History, Metrics, Value
from dynhp.selection import Selection
from dynhp.space import SpaceLike

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

    ``state`` lists everything that decides the future: model, optimiser, scheduler, generators
    (Python's and numpy's global ones are taken care of). ``bind`` says where a value lives, so that
    it is set and read back for you; the other values are read from the epoch.

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
    objects = _LoopState((*parts_of(state, as_part), *global_generators()))
    adapter = DynamicGridAdapter(
        objects,
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
    for name in bind or {}:
        if name not in adapter.space:
            raise SettingsError(f"bind: no hyperparameter {name!r}{nearest(name, adapter.space)}")
    return Loop(adapter, dict(bind or {}))


class Loop:
    """A run inside a loop: iterate over it once; ``history`` and ``adapter`` stay afterwards.

    Leaving the loop while ``epoch.trying`` puts the state back to the round's origin. Leaving it
    on the main line keeps the state as it is and records a shorter round, with the epochs that
    were reported.
    """

    def __init__(self, adapter: DynamicGridAdapter, bind: Mapping[str, Binding]) -> None:
        self.adapter = adapter
        self._bind = bind
        self._running = False

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.adapter.history

    def __iter__(self) -> Iterator[Epoch]:
        if self._running:
            raise LoopError("a loop over adapt(...) runs once; call adapt(...) again for another")
        self._running = True
        planned = self.adapter.epochs or 0
        while self.adapter.epoch < planned:
            yield from self._round()

    def _round(self) -> Generator[Epoch, None, None]:
        game = self.adapter.play()
        work: Tries | Stretch | None = None
        try:
            for work in game:
                if isinstance(work, Tries):
                    yield from self._tries(work)
                else:
                    yield from self._stretch(work)
        except GeneratorExit:
            if isinstance(work, Stretch):
                next(game, None)  # the main line ends here: record it as it is
            raise
        finally:
            game.close()

    def _tries(self, work: Tries) -> Generator[Epoch, None, None]:
        at = work.at
        for job, entrant in zip(work.heat.jobs(), work.heat.entrants, strict=True):
            go_to(self.adapter.trainer, job, at=at)
            at = NOWHERE
            work.heat.tell((yield from self._attempt(job, entrant.record.epochs)))

    def _attempt(self, job: Job, before: int) -> Generator[Epoch, None, Outcome]:
        running = Running(job)
        start = self.adapter.epoch + before
        while running.goes_on():
            epoch = Epoch(job.candidate, number=start + running.begun - 1, trying=True)
            yield from self._epoch(epoch)
            if epoch.failure is not None:
                running.fail(epoch.failure)
            else:
                running.learn(epoch.required())
        return running.outcome(self.adapter.trainer.get_state)

    def _stretch(self, work: Stretch) -> Generator[Epoch, None, None]:
        planned, start = work.epochs, self.adapter.epoch + self._done(work)
        work.epochs = 0
        while work.epochs < planned:
            epoch = Epoch(work.candidate, number=start + work.epochs, trying=False)
            try:
                yield from self._epoch(epoch)
            except GeneratorExit:
                work.epochs += epoch.metrics is not None
                work.metrics = epoch.metrics or work.metrics
                raise
            work.epochs += 1
            work.metrics = epoch.metrics or work.metrics

    def _done(self, work: Stretch) -> int:
        alpha = min(self.adapter.adapt_every, (self.adapter.epochs or 0) - self.adapter.epoch)
        return alpha - work.epochs

    def _epoch(self, epoch: Epoch) -> Generator[Epoch, None, None]:
        bindings.apply(self._bind, epoch.values)
        yield epoch
        epoch.close()
        if epoch.failure is None:
            bindings.verify(self._bind, epoch.values, "after the epoch")


class Epoch:
    """One pass through the loop's body: its values, and the place to report what was measured.

    Used as a context (``with epoch:``), an exception in a try fails that try and the run goes on;
    on the main line it is raised as ever.
    """

    def __init__(self, values: Candidate, *, number: int, trying: bool) -> None:
        self.values = values
        self.number = number
        self.trying = trying
        self.metrics: Metrics | None = None
        self.failure: Exception | None = None
        self._open = True

    def __repr__(self) -> str:
        kind = "a try" if self.trying else "main line"
        return f"Epoch({self.number}, {dict(self.values)}, {kind})"

    def __getitem__(self, name: str) -> Value:
        try:
            return self.values[name]
        except KeyError:
            raise LoopError(f"no hyperparameter {name!r}{nearest(name, self.values)}") from None

    def report(self, **metrics: float) -> None:
        """Say what was measured after this epoch; every epoch of a try needs it, once."""
        if not self._open:
            raise LoopError(f"{self!r} is over; report inside the body of its own pass")
        if self.metrics is not None:
            raise LoopError(f"{self!r} was reported already; report all metrics in one call")
        if not metrics:
            raise LoopError("report() needs at least one metric, as in report(val_loss=0.3)")
        self.metrics = plain_metrics(metrics)

    def required(self) -> Metrics:
        """The metrics of a try's epoch, or an error where the body went on without a report."""
        if self.metrics is None:
            raise LoopError(
                f"{self!r} was not reported; call epoch.report(...) in every pass through the "
                "body, also before a continue"
            )
        return self.metrics

    def close(self) -> None:
        """The body has gone on to the next pass."""
        self._open = False

    def __enter__(self) -> Epoch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        ours = isinstance(error, Exception) and not isinstance(error, DynhpError)
        if self.trying and ours:
            self.failure = error  # type: ignore[assignment]
            return True
        return False


class _LoopState:
    """The trainer that a loop is to the adapter: it has the state, but the body trains."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = parts

    def get_state(self) -> tuple[Any, ...]:
        return tuple(part.get() for part in self._parts)

    def set_state(self, state: tuple[Any, ...]) -> None:
        for part, value in zip(self._parts, state, strict=True):
            part.set(value)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        raise LoopError(
            "this adapter belongs to a loop, whose body trains: iterate over the loop instead of "
            "calling step() or run()"
        )

    def metrics(self) -> Metrics:
        return {}

    def reseed(self, seed: int) -> None:
        for offset, part in enumerate(self._parts):
            if part.reseed is not None:
                part.reseed(seed + offset)
