"""An interrupt before or after any command: the run that goes on ends as the undisturbed one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Interpolation, Neighbors, Racing, Serial, adapt, lowest
from dynhp.engine.commands import Command, Commands, StartFrom
from dynhp.engine.memory import Memory
from dynhp.errors import RescuesSpent
from dynhp.middleware import looking
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.tails import annealed
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, Due, OnPlateau, OnSpike
from tests.support.messages import raises
from tests.support.reference import Toy, bits, without_times

EPOCHS = 9
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "checked in every round": {"check": "every"},
    "a race": {"selection": Racing(), "try_for": 2},
    "waves": {"proposer": Interpolation()},
    "independent": {"randomness": "independent", "keep": "value"},
    "a dry run": {"dry_run": True},
    "a tail": {"tail": annealed("lr", epochs=2)},
    "a tail alone": {"tail": annealed("lr", epochs=2), "try_for": 0},
    "failed tries": {"blind": [0.6, 0.2]},
    "a trigger": {"when": OnPlateau("loss", patience=1), "record_every": 5},
    "from the best": {
        "when": OnPlateau("loss", patience=1), "start_from": "best", "max_rounds": 3,
        "try_for": 2, "record_every": 4,
    },
    "from before": {
        "when": OnPlateau("loss", patience=1), "start_from": "before", "max_rounds": 3,
        "snapshots": Snapshots(k=2, every=2), "proposer": Neighbors(),
    },
    "rescues": {
        "when": OnSpike("loss", factor=1e9), "start_from": "before", "max_rounds": 0,
        "max_rescues": 9, "proposer": Ladder(), "initial": {"lr": 0.6}, "record_every": 5,
        "raising": [0.6],
    },
}  # fmt: skip


def made(kind: str) -> DynamicGridAdapter:
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 3, "try_for": 1}
    settings |= {"check": "first", "initial": {"lr": 0.2}} | KINDS[kind]
    if "when" in settings:
        del settings["adapt_every"]
    trainer = Toy(3, raising=settings.pop("raising", []), blind=settings.pop("blind", []))
    return DynamicGridAdapter(trainer, {"lr": [0.05, 0.2, 0.6]}, **settings)


class InterruptAt:
    """Raises when so many commands have been seen, once."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self, command: Command, *reply: Any) -> None:
        self.left -= 1
        if self.left == -1:
            raise KeyboardInterrupt


def interrupted(adapter: DynamicGridAdapter, moment: int, *, after: bool) -> bool:
    """Whether an interrupt at this command came to pass; the run then goes on to its end."""
    interrupt = InterruptAt(moment)
    middleware = looking(after=interrupt) if after else looking(before=interrupt)
    with adapter.through(middleware):
        before = adapter.memory
        try:
            for _ in adapter.rounds(EPOCHS):
                before = adapter.memory
            return False
        except KeyboardInterrupt:
            assert adapter.memory is before
    adapter.run(EPOCHS)
    return True


@pytest.mark.many
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_command(kind: str, after: bool) -> None:
    undisturbed = made(kind)
    undisturbed.run(EPOCHS)
    moment = 0
    while True:
        adapter = made(kind)
        if not interrupted(adapter, moment, after=after):
            break
        assert without_times(adapter.history) == without_times(undisturbed.history), moment
        assert bits(adapter.trainer.get_state()) == bits(undisturbed.trainer.get_state())
        assert adapter.memory.generator == undisturbed.memory.generator
        assert len(adapter.table) == len(undisturbed.table)
        moment += 1
    assert moment > 30


@pytest.mark.parametrize("kind", ["from the best", "rescues"])
def test_the_runs_of_these_tests_do_go_back(kind: str) -> None:
    adapter = made(kind)
    adapter.run(EPOCHS)
    assert any(round_.abandoned or round_.rescue for round_ in adapter.history)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, MemoryError])
def test_the_trainer_is_back_where_the_round_began(failure: type[BaseException]) -> None:
    """That is the state that the round had gone back to."""
    adapter = made("from the best")
    rounds = adapter.rounds(EPOCHS)
    next(round_ for round_ in rounds if round_.tries)
    went_back = []

    def raise_after_going_back(command: Command, reply: Any) -> None:
        if isinstance(command, StartFrom) and not went_back:
            went_back.append(bits(adapter.trainer.get_state()))
            raise failure

    states = []

    def go_on() -> None:
        while True:
            states.append(bits(adapter.trainer.get_state()))
            adapter.step()

    with adapter.through(looking(after=raise_after_going_back)), pytest.raises(failure):
        go_on()
    assert went_back == [bits(adapter.trainer.get_state())]
    assert went_back != states[-1:]


class Breaks(NoisyQuadratic):
    """Its loss is nan from the third epoch on."""

    epochs = 0

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, hyperparameters)
        self.epochs += k

    def get_state(self) -> Any:
        return {"epochs": self.epochs, **super().get_state()}

    def set_state(self, state: Any) -> None:
        self.epochs = state["epochs"]
        super().set_state({name: state[name] for name in state if name != "epochs"})

    def metrics(self) -> dict[str, float]:
        good = super().metrics()
        return {"loss": math.nan} if self.epochs > 4 else {"loss": good["loss"]}


def breaking(record_every: int) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Breaks(),
        {"lr": [0.1, 0.2]},
        criterion=lowest("loss"),
        when=OnPlateau("loss", patience=50),
        try_for=1,
        start_from="before",
        snapshots=Snapshots(k=1, every=3),
        max_rounds=0,
        max_rescues=1,
        record_every=record_every,
        check="off",
    )


@pytest.mark.parametrize("record_every", [1, 2, 5, 20])
def test_rescues_that_are_spent_are_an_error_again_and_again(record_every: int) -> None:
    adapter = breaking(record_every)
    with raises(RescuesSpent) as first:
        adapter.run(20)
    assert math.isfinite(adapter.trainer.metrics()["loss"])
    history, state = without_times(adapter.history), bits(adapter.trainer.get_state())
    for again in (adapter.step, lambda: adapter.run(30), adapter.turn):
        with pytest.raises(RescuesSpent) as caught:
            again()  # type: ignore[operator]
        assert caught.value is first.value
    assert (without_times(adapter.history), bits(adapter.trainer.get_state())) == (history, state)


class Recovers(Breaks):
    """Its loss is nan after three epochs with a rate of 0.2, wherever it starts."""

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, hyperparameters)
        self.epochs = 5 if self.epochs % 3 == 2 and hyperparameters["lr"] == 0.2 else self.epochs

    def metrics(self) -> dict[str, float]:
        return {"loss": math.nan if self.epochs == 5 else 1.0 + self.epochs / 100}


@pytest.mark.parametrize("planned", [20, None])
def test_fewer_rescues_on_a_saved_state_are_spent_at_once(planned: int | None) -> None:
    def made(max_rescues: int) -> DynamicGridAdapter:
        return DynamicGridAdapter(
            Recovers(),
            {"lr": [0.1, 0.2]},
            criterion=lowest("loss"),
            when=OnPlateau("loss", patience=50),
            try_for=1,
            initial={"lr": 0.2},
            start_from="before",
            max_rounds=0,
            max_rescues=max_rescues,
            record_every=5,
            check="off",
        )

    adapter = made(2)
    broken = next(
        round_
        for round_ in adapter.rounds(20)
        if round_.metrics and math.isnan(round_.metrics["loss"])
    )
    again = made(1)
    again.load_state_dict(adapter.state_dict())
    again.trainer.set_state(adapter.trainer.get_state())
    rescued = again.memory.tried.and_then([replace(broken, rescue=True)])  # as if it had been
    again.memory = again.memory._replace(tried=rescued)
    if planned is None:
        again.epochs = again.epoch
        assert not again.is_over  # going on says so
        again.epochs = 20
    with pytest.raises(RescuesSpent):
        again.step()
    assert math.isfinite(again.trainer.metrics()["loss"])


def test_a_run_out_of_rescues_can_go_on_from_a_saved_state() -> None:
    adapter = breaking(2)
    saved, state = adapter.state_dict(), adapter.trainer.get_state()
    with pytest.raises(RescuesSpent):
        adapter.run(20)
    adapter.load_state_dict(saved)
    adapter.trainer.set_state(state)
    assert adapter.run(4).epochs == 4


def loop_of(body: Callable[[Any, Toy], None], trainer: Toy, **settings: Any) -> Any:
    loop = adapt(
        EPOCHS,
        state=[trainer],
        space={"lr": [0.05, 0.2, 0.6]},
        minimize="loss",
        adapt_every=4,
        try_for=1,
        initial={"lr": 0.2},
        **settings,
    )
    for epoch in loop:
        body(epoch, trainer)
    return loop


def test_a_loop_may_be_ended_by_middleware_between_two_commands() -> None:
    """Then it is where its round began."""

    def train(epoch: Any, trainer: Toy) -> None:
        trainer.train_k(1, epoch.values)
        epoch.report(loss=trainer.metrics()["loss"])

    whole = loop_of(train, Toy(3))
    trainer = Toy(3)
    loop = adapt(
        EPOCHS,
        state=[trainer],
        space={"lr": [0.05, 0.2, 0.6]},
        minimize="loss",
        adapt_every=4,
        try_for=1,
        initial={"lr": 0.2},
    )
    loop.adapter.middleware = (*loop.adapter.middleware, looking(before=InterruptAt(45)))

    def go_on() -> None:
        for epoch in loop:
            train(epoch, trainer)

    with pytest.raises(KeyboardInterrupt):
        go_on()
    done = len(loop.history)
    assert 0 < done < len(whole.history)
    assert without_times(loop.history) == without_times(whole.history[:done])
    assert trainer.steps == loop.adapter.epoch


def test_what_an_executor_has_begun_is_ended_first() -> None:
    closed = []

    class Closing:
        def run(self, trainer: Any, jobs: Any, *, at: Any) -> Any:
            try:
                yield from Serial().run(trainer, jobs, at=at)
            finally:
                closed.append("run")

        def close(self) -> None:
            closed.append("workers")

    def fail(failure: type[BaseException]) -> None:
        closed.clear()
        adapter = DynamicGridAdapter(
            Toy(3), {"lr": [0.05, 0.2]}, criterion=lowest("loss"), when=At([0]), try_for=1,
            executor=Closing(), check="off",
            callbacks=lambda event: (_ for _ in ()).throw(failure) if "Try" in repr(event) else 0,
        )  # fmt: skip
        with pytest.raises(failure):
            adapter.run(4)

    fail(KeyboardInterrupt)
    assert closed == ["run", "workers"]
    fail(ArithmeticError)
    assert closed == ["run"]


def test_without_a_healthy_state_spent_rescues_leave_all_as_it_is() -> None:
    def alarm(line: Any) -> Any:
        return Due(because="it rang", alarm=True) if line.epoch >= 2 and line.now else None

    def adapter(max_rescues: int) -> DynamicGridAdapter:
        return DynamicGridAdapter(
            NoisyQuadratic(),
            {"lr": [0.1, 0.3]},
            minimize="loss",
            when=alarm,
            try_for=1,
            start_from="before",
            max_rounds=0,
            max_rescues=max_rescues,
            record_every=4,
            epochs=20,
        )

    before = adapter(max_rescues=5)
    while sum(round_.rescue for round_ in before.history) < 1:
        before.step()
    after = adapter(max_rescues=1)
    after.load_state_dict(before.state_dict())
    after.trainer.set_state(before.trainer.get_state())
    with pytest.raises(RescuesSpent):
        after.step()
    assert bits(after.trainer.get_state()) == bits(before.trainer.get_state())
    assert after.history == before.history


def test_middleware_that_raises_while_it_is_closed_keeps_no_round_from_being_undone() -> None:
    adapter = made("plain")
    before = bits(adapter.trainer.get_state())

    def fails_at_its_end(commands: Commands, memory: Memory) -> Commands:
        try:
            return (yield from commands)
        finally:
            raise OSError("no space left")

    with (
        adapter.through(fails_at_its_end),
        adapter.through(looking(before=InterruptAt(6))),
        pytest.raises(OSError, match="no space left"),
    ):
        adapter.step()
    assert bits(adapter.trainer.get_state()) == before
    assert not adapter.history
