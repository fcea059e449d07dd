"""The loop over ``adapt``: the engine says what to train from where, and the user's body trains."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NoReturn

from dynhp._log import logger
from dynhp.adapter import DynamicGridAdapter
from dynhp.best import BestEpoch, BestKeeper
from dynhp.drivers import Driver, StateTable
from dynhp.engine.commands import Attempt, Job, NothingTrained, RoundSoFar, Train, Trained, Tried
from dynhp.errors import LoopError, UnknownName, advise, shown
from dynhp.executors.attempt import TryLog, error_text, move_to
from dynhp.executors.contract import Outcome
from dynhp.loops import bindings
from dynhp.loops.bindings import Binding
from dynhp.loops.counter_watch import CounterWatch
from dynhp.loops.counting import Counted
from dynhp.loops.epoch import Epoch, Passes
from dynhp.loops.parts import CounterPart, GeneratorsBefore, Parts
from dynhp.loops.saving import load_loop, saved_loop
from dynhp.loops.text import loop_text
from dynhp.middleware.display import Display
from dynhp.records import Candidate, History, Metrics, Round
from dynhp.records.units import EPOCHS, Unit
from dynhp.selfcheck.late import LateWatch, is_part_of
from dynhp.selfcheck.watch import Watch


class Loop:
    """A run inside a loop: iterate over it once; ``history`` and ``adapter`` stay afterwards.

    Leaving the loop while ``epoch.trying`` (``break``, ``return``, an exception) puts the state and
    the bound values back to the round's origin. Leaving it on the main line keeps the state and
    records a shorter round. If the iterator is held elsewhere, ``close()`` ends the run.

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
        training: Parts,
        counted: Counted,
        watched: Callable[[], Watch | None] = lambda: None,
        unit: Unit = EPOCHS,
        keeper: BestKeeper | None = None,
        generators: GeneratorsBefore | None = None,
        display: Display | None = None,
    ) -> None:
        self.adapter = adapter
        self.parts = parts
        self.keeper = keeper
        self.generators = generators
        self.driven = False  # whether hooks of a framework drive it
        self.work: Attempt | Train | None = None  # what the body carried out last in this round
        self.now: Epoch | None = None
        """The pass that the body is in, or was in last: for a body that is given items."""
        self.kept: int | None = None  # the place of the try kept last; a driver clears it
        self._bind = bind
        self._counted = counted
        self._watched = watched
        self._late: LateWatch | None = None
        self._said: set[str] = set()  # what was said to have begun late
        self._training = training  # the parts without what the loop itself remembers
        self._unit = unit
        self._display = display
        self._driver = adapter.driver = BodyDriver(adapter.trainer, adapter.table)
        self._run: weakref.ref[Generator[Any, None, None]] | None = None
        self._runs = False
        self._silent = 0  # how many passes in a row were not reported
        self._counters = CounterWatch(())  # those of the state, once the loop has begun
        self._piece: _Piece | None = None  # of the main line, which the body is in or was in last
        self._left_open: Round | None = None  # a round that was left in its stretch, to go on with

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.adapter.history

    @property
    def best(self) -> BestEpoch | None:
        """The best reported epoch of the main line, None before the first (``keep_best=True``)."""
        return self._required_keeper().best

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        **metrics: Any,
    ) -> None:
        """Write a page of the run so far, as ``loop.report("report.html")``.

        Metrics are reported to epochs: ``epoch.report(val_loss=0.3)``.
        """
        if metrics or not isinstance(path, str | os.PathLike):
            raise UnknownName(
                'a loop writes a page of the run, as in loop.report("report.html"); metrics are '
                "reported to its epochs, as in for epoch in loop: ... epoch.report(val_loss=...)"
            )
        self.adapter.report(path, title=title)

    def restore_best(self) -> None:
        """Put the state and the bound values back to where they were after the best epoch."""
        keeper = self._required_keeper()
        self._require_over("restore_best")
        if keeper.best is not None:
            move_to(self._training, keeper.best.state)

    def deliver(self, **given: Any) -> None:
        """Make the model what the run hands over: the state of its best epoch, and its average.

        After the loop. The best epoch is that of ``keep_best``, if it was asked for or the run ends
        by ``until``; the average is that of the state, such as ``AveragedWeights(share=0.1)``, and
        gets what is given here, such as ``batches=`` for BatchNorm.
        """
        self._require_over("deliver")
        delivers = getattr(self.adapter.trainer, "deliver", None)
        if self.keeper is None and delivers is None:
            raise LoopError(
                "there is nothing to deliver besides the state that the run ended in; ask for the "
                "best epoch with adapt(..., keep_best=True), or average weights in the state"
            )
        if self.keeper is not None:
            self.restore_best()
        if delivers is not None:
            delivers(**given)
        elif given:
            raise LoopError(
                f"nothing in the state takes {', '.join(map(repr, given))}; leave it out"
            )

    def _require_over(self, name: str) -> None:
        if self._runs:
            raise LoopError(f"{name}() is for after the loop; leave it first, as with break")

    def _required_keeper(self) -> BestKeeper:
        if self.keeper is None:
            raise LoopError("no state was kept; ask for it with adapt(..., keep_best=True)")
        return self.keeper

    def __len__(self) -> int:
        return self.adapter.epochs or 0

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Loop({self._unit}={len(self)}, {self.adapter!r})"

    def __str__(self) -> str:
        return loop_text(self.adapter, self._unit)

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for such names
            raise AttributeError(name)
        raise self._no_such_name(name)

    def __getitem__(self, name: object) -> Any:
        raise self._no_such_name([name])

    def _no_such_name(self, name: object) -> UnknownName:
        return UnknownName(
            f"a loop has no {shown(name)}; iterate over it, and ask each epoch for its values and "
            "to report: for epoch in loop: ... epoch['name'] ... epoch.report(val_loss=...)"
        )

    def state_dict(self) -> dict[str, Any]:
        """All that decides the loop's own future, for your checkpoint beside the model's state.

        On the main line, in an epoch (or step) that is reported already; also before and after.
        """
        now = None if self._piece is None else self._piece.passes.now
        if now is not None:
            self._judge(now)  # it counts as done
        return self.saved(self.round_so_far(now))

    def saved(self, under_way: RoundSoFar | None) -> dict[str, Any]:
        """What ``state_dict`` gives, with this round under way."""
        return saved_loop(self.adapter, under_way, self.keeper, self.generators)

    def round_so_far(self, now: Epoch | None) -> RoundSoFar | None:
        """The round as it would be recorded if the loop were left here, and what goes with it.

        ``now`` is the pass that counts as done, None between two passes. None is given if no round
        is under way.
        """
        if self.work is None:
            if self._left_open is None:
                return None
            memory = self.adapter.memory  # loaded, and saved again before the first pass
            return RoundSoFar(self._left_open, memory.held, memory.generator)
        if isinstance(self.work, Attempt):
            raise LoopError(
                "a try is undone, so a loop is not saved in one; save it under `if epoch.main:`"
            )
        assert self._piece is not None
        return self.work.so_far(self._piece.trained(now))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave, before the first epoch; load your own state too."""
        if self._run is not None:
            raise LoopError("load_state_dict() is for before the first epoch; make a new loop")
        self._left_open = load_loop(self.adapter, state, self.keeper, self.generators)
        if not self._counted.can_go_back and (self.adapter.epoch or self._left_open):
            raise LoopError(
                f"a saved loop goes on after the {self._unit} that it has trained, but what this "
                "loop goes through can only be taken from its beginning; give list(...) of it, or "
                "the number, and take batches in the body"
            )

    def move(self, epoch: Epoch, step: int, of: int) -> None:
        """Put the values of a step in force, where they move within the epoch that is under way."""
        passes = epoch._passes
        values = passes.at_step(step, of)
        if values is not passes.values:
            bindings.verify(self._bind, passes.values, "before the next step")
            bindings.apply(self._bind, values, tail=passes.tail)
            passes.values = values

    def close(self) -> None:
        """End the run as ``break`` would."""
        if self._run is not None and (run := self._run()) is not None:
            run.close()

    def __iter__(self) -> Iterator[Any]:
        if self._run is not None:
            raise LoopError("a loop over adapt(...) runs once; call adapt(...) again for another")
        run = self._rounds()
        self._run = weakref.ref(run)  # weak, so that leaving the loop ends the run at once
        return run

    def _rounds(self) -> Generator[Any, None, None]:
        """All passes through the body, round by round."""
        self._runs = True
        if self.generators is not None:
            self.generators.enter()
        self._counters = CounterWatch(
            part.counter for part in self.parts.parts if isinstance(part, CounterPart)
        )
        try:
            bindings.tell(self._bind, "enter")
            with self.adapter.showing(self._display):
                while not self.adapter.is_over:
                    yield from self._round()
        finally:
            self._runs = False
            bindings.tell(self._bind, "leave")
            if self.generators is not None:
                self.generators.leave(self.adapter.memory.rounds)

    def _round(self) -> Generator[Any, None, None]:
        """Carry out one round: the body trains, and the driver answers all other commands."""
        adapter, driver = self.adapter, self._driver
        left_open, self._left_open = self._left_open, None
        left: GeneratorExit | None = None

        with adapter.turn():
            commands = adapter.commands(left_open)
            driver.table.begin_round()
            reply: Any = None
            try:
                # Not a function of its own: a generator that is closed cannot return a value to its
                # caller.
                while True:
                    try:
                        command = commands.send(reply)
                    except StopIteration as end:
                        after = end.value
                        break
                    if isinstance(command, Attempt):
                        self.work = command
                        reply = yield from self._attempt(command.job)
                    elif isinstance(command, Train):
                        self.work = command
                        piece = self._begin_piece(command)
                        try:
                            yield from self._train(piece)
                        except GeneratorExit as leaving:  # the main line ends here, as it is
                            left = leaving
                        reply = piece.trained(left=left is not None)
                        piece.hand_over()
                    else:
                        reply = driver.answer(command)
                adapter.take(after)  # here, so that no interrupt comes between the two
            except NothingTrained as nothing:
                driver.undo(commands, adapter.memory, nothing)
            except BaseException as failure:
                work = self.work
                driver.undo(commands, adapter.memory, failure)
                if isinstance(failure, GeneratorExit) and isinstance(work, Attempt):
                    self._hint_at_break(work.job)
                raise
            else:
                driver.finish(after)
                adapter.hint_at_edges()
            finally:
                self.work = None

        if left is not None:
            raise left

    def _hint_at_break(self, job: Job) -> None:
        """Say where a ``break`` in a try has left the state; a framework's hooks know it."""
        if self.driven:
            return
        origin = job.start - job.epochs_before
        advise(
            "the loop was left in a try, so the state is back where the round began, after "
            f"{origin} {self._unit} of the main line. What stops early belongs under "
            "`if epoch.main:`"
        )

    def _attempt(self, job: Job) -> Generator[Any, None, Tried]:
        """Let the body carry out a job: a try, a stage of one, or its repeat."""
        self._silent = 0
        self._driver.begin_job(job)
        self._counted.drop_before(job.start - job.epochs_before)
        late = self._late_watch(job)
        passes = Passes(job.candidate, trying=True, place=job.place)
        log = TryLog(job, self.adapter.trainer.get_state)
        if not job.scheduled:
            bindings.apply(self._bind, job.candidate)
        self._counters.begin()
        try:
            for number in log.epochs(lambda: passes.take_metrics(required=self._unit == "epochs")):  # noqa: B023
                if log.values is not passes.along[0]:
                    in_tail = number > job.epochs
                    passes = passes.going_on(log.along, tail=in_tail)
                    bindings.apply(self._bind, log.values, tail=in_tail)
                passes.ends_try = number == job.epochs + job.tail_epochs
                epoch, given = self._counted.begin(passes, job.start + number - 1)
                self.now = epoch
                yield given
                if epoch.failure is None and (epoch.metrics is not None or number >= job.epochs):
                    self._after(epoch, passes.values)
        finally:
            passes.now = None
        outcome = log.outcome()
        if late is not None:
            self._say_what_began_late(late, ended=outcome.error is None)
        if outcome.error is None:
            if not self.adapter.memory.tried:
                self._require_used(passes)
            self._require_judged(job, outcome)
        return self._driver.tried(outcome)

    def _late_watch(self, job: Job) -> LateWatch | None:
        """The watch over what began late, which looks at the first two tries of a later round."""
        watched = self._watched()
        is_one_of_two = job.place in (0, 1) and not job.repeat and not job.epochs_before
        if watched is None or self.driven or not is_one_of_two or self.adapter.check_is_due:
            return None
        if self._late is None or self._late.watch is not watched:
            self._late = LateWatch(watched)
        if job.place == 0:
            self._late.forget()
        self._late.begins()
        return self._late

    def _say_what_began_late(self, late: LateWatch, *, ended: bool) -> None:
        late.ends()
        found = late.found() if ended else {}
        new = []
        for name, text in found.items():
            if not any(is_part_of(name, said) or is_part_of(said, name) for said in self._said):
                self._said.add(name)
                new.append(text)
        if new:
            advise(
                f"what began after the first round is not in the state: {'; '.join(new[:3])}. Each "
                "try begins from where the last one has left it, which no later round proves. List "
                "it in the state, from the start; what belongs to the main line alone stands under "
                "`if epoch.main:`",
                about=object(),  # each loop is another
            )

    def _begin_piece(self, command: Train) -> _Piece:
        """The main line goes on; the values are put in force if a stretch of it begins."""
        if command.from_try is not None:
            self.kept = command.from_try
        self._driver.table.leave()
        if command.start == command.first and not command.scheduled:
            bindings.apply(self._bind, command.values)  # also if no epoch is left to train
        self._piece = _Piece(command)
        self._counted.drop_before(command.start)
        return self._piece

    def _train(self, piece: _Piece) -> Generator[Any, None, None]:
        """Let the body train a piece of the main line."""
        command = piece.command
        stretch_end = command.first + command.planned
        self._counters.begin()
        try:
            for place, number in enumerate(range(command.start, command.start + command.epochs)):
                if command.scheduled:
                    first = place * command.per_epoch
                    along = command.scheduled[first : first + command.per_epoch]
                    piece.passes = piece.passes.going_on(along)
                    bindings.apply(self._bind, piece.passes.values)
                epoch, given = self._counted.begin(piece.passes, number)
                self.now = epoch
                yield given
                if epoch.failure is not None:
                    piece.fail(epoch.failure)
                    return
                metrics = epoch.metrics
                if metrics is not None or self._unit == "epochs" or number + 1 == stretch_end:
                    self._after(epoch, piece.passes.values)
                self._silent = 0 if metrics is not None else self._silent + 1
                if command.measure_each:
                    self._require_watched(epoch)
                piece.add(epoch)
                if command.beat is not None:
                    command.beat(piece.epochs, metrics)
        except GeneratorExit:
            if epoch.failure is not None:
                piece.fail(epoch.failure)  # the next round is a rescue, should the run go on
            elif epoch.metrics is not None:  # then it counts as done
                self._judge(epoch)
                piece.add(epoch)
            raise
        finally:
            piece.passes.now = None

    def _after(self, epoch: Epoch, candidate: Candidate) -> None:
        """Check what a completed pass has left behind."""
        # Between two passes of a line dynhp changes nothing, so these values stay in force.
        bindings.verify(self._bind, candidate, "after the epoch")
        self._counters.require_unchanged()
        self._judge(epoch)

    def _judge(self, epoch: Epoch) -> None:
        if self.keeper is not None and epoch.metrics is not None and not epoch.tail:
            self.keeper.judge(epoch.number, epoch.metrics, self._training.get_state)

    def _require_used(self, passes: Passes) -> None:
        """Refuse a hyperparameter that is not bound, and that no pass of a whole try has read."""
        for unused in passes.values:
            if unused not in self._bind and unused not in passes.names_read:
                name = shown(unused)
                raise LoopError(
                    f"every hyperparameter must be used, but {name} was neither bound nor read in "
                    "a whole try, so all its values would train the same; give "
                    f"bind={{{name}: attribute(...)}}, or read epoch[{name}] in the body"
                )

    def _require_judged(self, job: Job, outcome: Outcome) -> None:
        """Refuse a try without a report (in its tail, if it has one).

        Only a try that the end of the run has made shorter than the others may go without.
        """
        last_report = outcome.reported[-1] if outcome.reported else len(outcome.series)
        if last_report > (job.epochs if job.tail else 0):
            return
        numbers = self._counted.numbers
        last = job.start + outcome.epochs - 1  # a tail goes beyond the end of the run
        start, end = (numbers.start + place * numbers.step for place in (job.start, last))
        steps = f"step {start}" if start == end else f"steps {start} to {end}"
        planned = self.adapter.epochs
        origin = job.start - job.epochs_before
        if planned is None or planned - origin >= self.adapter.policy.try_epochs(planned):
            raise LoopError(
                f"every try needs a report (with Racing: every stage of it), but {steps} passed "
                "without one; measure more often, or make try_for (and every=... of Racing) longer"
            )
        advise(
            f"{steps} hold no report, so the tries of the last round cannot be compared, and the "
            "value in force stays; report the last step too, or choose when rounds begin so that "
            "the last one has tries of full length"
        )

    def _require_watched(self, epoch: Epoch) -> None:
        """Refuse a main line that is not reported although a trigger watches it.

        Steps are measured now and then, but at least once in as many as a try has: otherwise no try
        could be judged either.
        """
        policy, planned = self.adapter.policy, self.adapter.epochs
        most = 0
        if self._unit == "steps":
            most = max(1, policy.try_epochs(planned) + policy.tail_epochs(planned, "steps"))
        if self._silent <= most:
            return
        watched = f"the main line is watched ({shown(policy.when)}), but "
        if self._unit == "epochs":
            raise LoopError(
                f"{watched}{shown(epoch)} was not reported; call epoch.report(...) in every pass "
                "through the body, in tries and on the main line"
            )
        raise LoopError(
            f"{watched}{self._silent} steps in a row up to {epoch} were not reported, more than a "
            "try has; report on the main line too whenever you have measured, or make try_for "
            "longer"
        )


class BodyDriver(Driver):
    """The driver of a loop: it answers what does not train, and refuses what only the body does."""

    def __init__(self, trainer: Any, table: StateTable) -> None:
        super().__init__(trainer, table)
        self._answers.update({Attempt: the_body_trains, Train: the_body_trains})


def the_body_trains(*_: object) -> NoReturn:
    """Refuse to train without the body of the loop."""
    raise LoopError(
        "this adapter belongs to a loop, whose body trains: iterate over the loop instead of "
        "calling step() or run()"
    )


class _Piece:
    """A piece of the main line while the body trains it."""

    def __init__(self, command: Train) -> None:
        self.command = command
        self.passes = Passes(command.values, trying=False, rescues=command.may_be_rescued)
        self.epochs = 0
        self.measured: list[tuple[int, Metrics]] = []
        self.failure: str | None = None

    def add(self, epoch: Epoch) -> None:
        """A pass has ended."""
        if epoch.metrics is not None:
            self.measured.append((epoch.number, epoch.metrics))
        self.epochs += 1

    def fail(self, failure: Exception) -> None:
        """The pass that was begun last raised."""
        self.failure = error_text(failure)
        logger.info("the main line failed", exc_info=failure)

    def hand_over(self) -> None:
        """The engine knows now what was trained, so that only what follows is left to tell."""
        self.epochs = 0
        self.measured = []

    def trained(self, now: Epoch | None = None, *, left: bool = False) -> Trained:
        """What came of it so far; ``now`` is a pass that counts as done, once it is reported."""
        epochs, measured = self.epochs, tuple(self.measured)
        if now is not None:
            if now.metrics is None:
                raise LoopError(
                    f"{shown(now)} counts as done once it is reported; call report(...) first, and "
                    "save the loop after it"
                )
            measured = (*measured, (now.number, now.metrics))
            epochs += 1
        return Trained(epochs=epochs, measured=measured, failure=self.failure, left=left)
