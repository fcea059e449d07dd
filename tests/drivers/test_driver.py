"""What drivers answer: states, what is in reach, other ranks; and what they undo."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Serial, lowest
from dynhp.best import BestEpoch
from dynhp.drivers import Driver, StateTable, TrainerDriver
from dynhp.engine.commands import (
    Agree,
    Announce,
    Attempt,
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
    Train,
    Trained,
)
from dynhp.errors import ContractError, ValueNotInForce
from dynhp.executors.contract import Outcome, TryStates
from dynhp.records import Candidate
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.snapshots import InMemory
from dynhp.testing import NoisyQuadratic
from tests.support.protocol import ScriptedWatcher
from tests.support.reference import Diary

ONE = Candidate({"x": 1})


def driver_of(trainer: Any, executor: Any = None) -> TrainerDriver:
    table = StateTable(trainer, InMemory())
    return TrainerDriver(trainer, table, Serial() if executor is None else executor)


def stretch(epochs: int, **more: Any) -> Train:
    known: dict[str, Any] = {
        "values": ONE,
        "epochs": epochs,
        "start": 4,
        "first": 3,
        "planned": 6,
        "so_far": lambda trained: None,
    }
    return Train(**(known | more))


class Gives:
    """An executor whose jobs have all come to this."""

    def __init__(self, states: Any, **more: Any) -> None:
        self.states, self.more = states, more

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        for job in jobs:
            yield Outcome(series=(), epochs=job.epochs, keep=lambda: self.states, **self.more)


def tried(driver: TrainerDriver) -> Any:
    driver.table.begin_round()
    job = Job(origin=driver.answer(Snapshot()), candidate=ONE, epochs=1)
    driver.answer(Announce((job,)))
    return driver.answer(Attempt(job))


def test_states_are_taken_and_put_back_by_their_names() -> None:
    trainer = Diary({1: 0.0})
    driver = driver_of(trainer)
    start = driver.answer(Snapshot())
    assert driver.answer(stretch(2)).epochs == 2
    later = driver.answer(Snapshot())
    for command in (Hold(later), Restore(start)):
        assert driver.answer(command) is None
    assert trainer.diary == ()
    assert not driver.answer(Look(later, 0.0)).differences(fingerprint((1, 1)))
    driver.answer(StartFrom(later))
    assert trainer.diary == (1, 1)
    driver.answer(Drop(start))
    with pytest.raises(KeyError):
        driver.answer(Restore(start))
    assert driver.answer(Tell(None)) is None  # type: ignore[arg-type]


def test_states_of_a_try_elsewhere_are_fetched_only_on_demand() -> None:
    inner = BestEpoch(epoch=2, metrics={"loss": 1.0}, score=-1.0, state=("inside",))
    states = TryStates(kept=("kept",), end=("end",), inner=inner)
    driver = driver_of(Diary({1: 0.0}), Gives(states, elsewhere=True))
    result = tried(driver)
    assert (result.elsewhere, result.kept != result.end) == (True, True)
    assert not driver.answer(Look(result.end, 0.0)).differences(fingerprint(("end",)))
    held = driver.answer(Keep(result.kept))
    assert (held.epoch, held.score) == (3, -1.0)
    assert driver.table.get(held.ref) == ("inside",)
    assert driver.table.get(result.kept) == ("kept",)


def test_no_state_of_a_try_in_place_is_fetched() -> None:
    trainer = Diary({1: 0.0})
    driver = driver_of(trainer)
    result = tried(driver)
    assert result.kept == result.end == driver.table.here
    assert driver.answer(Keep(result.kept)) is None
    assert trainer.calls.count("get") == 1  # where it started


def test_keeping_another_state_fetches_nothing() -> None:
    driver = driver_of(Diary({1: 0.0}), Gives("never asked for"))
    tried(driver)
    other = driver.table.adopt("other")
    assert driver.answer(Keep(other)) is None
    assert driver.table.get(other) == "other"


def test_a_stretch_without_epochs_puts_values_in_force() -> None:
    class Reads(Diary):
        in_force = 0

        def train_k(self, k: int, values: Any) -> None:
            self.in_force = values["x"]
            super().train_k(k, values)

        def hyperparameters(self) -> dict[str, Any]:
            return {"x": self.in_force}

    trainer = Reads({1: 0.0})
    assert driver_of(trainer).answer(stretch(0)) == Trained(epochs=0)
    assert (trainer.in_force, trainer.diary) == (1, ())


def test_a_stretch_replies_with_its_metrics_and_beats() -> None:
    beats: list[Any] = []
    driver = driver_of(Diary({1: 0.5}))
    answer = driver.answer(stretch(2, beat=lambda *now: beats.append(now)))
    assert answer == Trained(epochs=2, measured=((5, {"loss": 0.5}),))
    assert beats == [(2, {"loss": 0.5})]


@pytest.mark.parametrize(
    ("failure", "rescued", "saved"),
    [
        (ArithmeticError("too large"), True, True),
        (ArithmeticError("too large"), False, False),
        (ContractError("a law is broken"), True, False),
        (ValueNotInForce("overwritten"), True, False),
        (KeyboardInterrupt(), True, False),
    ],
)
def test_a_failure_is_rescued_if_that_is_wanted_and_it_is_not_our_own(
    failure: BaseException, rescued: bool, saved: bool, caplog: pytest.LogCaptureFixture
) -> None:
    driver = driver_of(Diary({1: failure}))
    with caplog.at_level("INFO", logger="dynhp"):
        if saved:
            answer = driver.answer(stretch(2, may_be_rescued=rescued))
            assert answer == Trained(epochs=0, failure="ArithmeticError: too large")
        else:
            with pytest.raises(type(failure)):
                driver.answer(stretch(2, may_be_rescued=rescued))
    said = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert said == [("dynhp", "INFO", "the main line failed")] * saved
    # With the traceback, which nothing else shows once the run has gone on.
    assert [each.exc_info and each.exc_info[1] for each in caplog.records] == [failure] * saved


def test_a_plain_trainer_is_watched_and_gets_no_hints() -> None:
    trainer: Any = NoisyQuadratic()
    trainer.forgotten = random.Random(0)
    driver = driver_of(trainer)
    assert driver.answer(Reach("begin")) == Reached()
    for moment in ("first try", "back at origin"):
        trainer.forgotten.random()
        assert driver.answer(Reach(moment)) == Reached()  # type: ignore[arg-type]
    trainer.forgotten.random()
    found = driver.answer(Reach("equal"))
    assert (list(found.hints), found.in_a_loop) == ([], False)
    assert found.left_behind == [
        "trainer.forgotten (Random) changed in the tries and was not put back"
    ]
    assert driver.answer(Reach("differs")).part_names == ()


class LoopParts:
    """What a loop offers beside its state."""

    part_names = ("model",)

    def __init__(self, watcher: ScriptedWatcher) -> None:
        self.watcher, self.tolerance = watcher, -1.0

    def watch(self, tolerance: float) -> Any:
        self.tolerance = tolerance
        return self

    def first_try_ended(self) -> None: ...

    def back_at_origin(self) -> None: ...

    def left_behind(self) -> list[str]:
        return list(self.watcher.left)

    def suspects(self) -> list[str]:
        return list(self.watcher.likely)

    def hints(self) -> list[str]:
        return list(self.watcher.other)

    def agree(self, said: Any) -> list[Any]:
        return [said, "the other rank"]


@pytest.mark.parametrize("left", [(), ("a generator",)])
def test_what_a_loop_offers_is_used(left: Any) -> None:
    parts: Any = LoopParts(ScriptedWatcher(left=left, likely=["a list"], other=["a counter"]))
    driver = Driver(parts, StateTable(parts, InMemory()))
    driver.answer(Reach("begin", 0.25))
    assert parts.tolerance == 0.25
    assert driver.answer(Reach("differs")) == Reached(
        suspects=["a list"], part_names=("model",), in_a_loop=True
    )
    found = driver.answer(Reach("equal"))
    assert (found.left_behind, found.in_a_loop) == (list(left), True)
    assert found.hints == ([] if left else ["a counter"])
    assert driver.answer(Agree("here")) == ["here", "the other rank"]
    assert driver.answer(Announce(())) is None  # nothing begins before it is asked for


def test_a_single_rank_agrees_with_itself() -> None:
    assert driver_of(Diary({1: 0.0})).answer(Agree("here")) == ["here"]


def test_an_executor_that_fails_while_it_is_closed_leaves_the_trainer_where_it_was() -> None:
    class CannotClose:
        def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
            yield from Serial().run(trainer, jobs, at=at)

        def close(self) -> None:
            raise OSError("a worker hangs")

    def interrupt(event: Any) -> None:
        if "Try(" in repr(event)[:20]:
            raise KeyboardInterrupt

    trainer = Diary({0: 1.0, 1: 2.0})
    adapter = DynamicGridAdapter(
        trainer, {"x": [0, 1]}, criterion=lowest("loss"), adapt_every=2, try_for=1,
        executor=CannotClose(), callbacks=interrupt,
    )  # fmt: skip
    with pytest.raises(OSError, match="a worker hangs"):
        adapter.run(4)
    assert trainer.diary == ()
    assert len(adapter.history) == 0


def test_outcomes_need_not_be_a_generator() -> None:
    class Lists:
        def run(self, trainer: Any, jobs: Any, *, at: Any) -> Any:
            return iter(list(Gives(("far",)).run(trainer, jobs, at=at)))

    def interrupt(event: Any) -> None:
        raise KeyboardInterrupt

    adapter = DynamicGridAdapter(
        Diary({0: 1.0, 1: 2.0}), {"x": [0, 1]}, criterion=lambda series, progress: 0.0,
        adapt_every=2, try_for=1, executor=Lists(), callbacks=interrupt,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        adapter.run(4)
