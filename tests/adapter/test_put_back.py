"""Whatever a ``set_state`` raises: the origin is put back, or the error says that it was not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, KeepBest, Shadow, adapt, lowest
from dynhp.errors import CheckpointError, ContractError, StateLost
from dynhp.executors.attempt import move_to, put_back
from dynhp.loops import Part
from dynhp.storage.checkpoint import run_with_checkpoints
from tests.support.messages import raises


class Halves:
    """A trainer of two numbers, whose ``set_state`` may raise after the first of them.

    ``fails`` says of each call of it, by its number, what it raises.
    """

    def __init__(self, fails: Callable[[int], BaseException | None] = lambda call: None) -> None:
        self.first = self.second = 1.0
        self.fails, self.calls = fails, 0

    def get_state(self) -> tuple[float, float]:
        return self.first, self.second

    def set_state(self, state: tuple[float, float]) -> None:
        self.calls += 1
        self.first = state[0]
        failure = self.fails(self.calls)
        if failure is not None:
            raise failure
        self.second = state[1]

    def train_k(self, k: int, hyperparameters: Any) -> None:
        for _ in range(k):
            self.first *= 1 - hyperparameters["lr"]
            self.second *= 1 - hyperparameters["lr"]

    def metrics(self) -> dict[str, float]:
        return {"loss": self.first * self.second}


def adapter_of(trainer: Any, **settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.2, 0.3]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=1,
        **settings,
    )


def once(call: int, failure: BaseException) -> Callable[[int], BaseException | None]:
    return lambda now: failure if now == call else None


def from_on(call: int, failure: BaseException) -> Callable[[int], BaseException | None]:
    return lambda now: failure if now >= call else None


CALLS = range(1, 6)  # of set_state in a first round


def test_a_round_sets_so_many_states() -> None:
    trainer = Halves()
    adapter_of(trainer).step()
    assert trainer.calls == len(CALLS)


@pytest.mark.parametrize("failure", [RuntimeError("storage"), KeyboardInterrupt(), SystemExit()])
@pytest.mark.parametrize("call", CALLS)
def test_where_a_state_cannot_be_set_once_the_origin_is_put_back(
    call: int, failure: BaseException
) -> None:
    trainer = Halves(once(call, failure))
    adapter = adapter_of(trainer)
    with pytest.raises(type(failure)):
        adapter.step()
    assert (trainer.get_state(), len(adapter.history)) == ((1.0, 1.0), 0)
    adapter.run(12)
    assert (trainer.first, trainer.second) == pytest.approx((0.7**12, 0.7**12))


@pytest.mark.parametrize("call", CALLS)
def test_where_the_origin_cannot_be_put_back_either_the_error_says_so(call: int) -> None:
    trainer = Halves(from_on(call, RuntimeError("no storage")))
    adapter = adapter_of(trainer)
    with raises(StateLost) as caught:
        adapter.step()
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert isinstance(caught.value, ContractError)
    trainer.fails = lambda call: None
    with raises(StateLost):
        adapter.step()
    assert len(adapter.history) == 0


def test_after_a_loss_a_run_goes_on_where_both_are_loaded_again() -> None:
    trainer = Halves()
    adapter = adapter_of(trainer)
    adapter.step()
    saved, state = adapter.state_dict(), trainer.get_state()
    trainer.fails = from_on(0, OSError("gone"))
    with raises(StateLost):
        adapter.step()
    trainer.fails = lambda call: None
    adapter.load_state_dict(saved)
    trainer.set_state(state)
    adapter.run(6)
    assert trainer.second == pytest.approx(0.7**6)


def test_an_interrupt_in_the_way_back_is_an_interrupt_and_the_way_is_gone_to_its_end() -> None:
    trainer = Halves(lambda call: {1: ValueError("x"), 2: KeyboardInterrupt()}.get(call))
    with pytest.raises(KeyboardInterrupt):
        adapter_of(trainer).step()
    assert trainer.get_state() == (1.0, 1.0)


def test_a_loop_says_which_state_was_lost() -> None:
    numbers, lost = [1.0], []

    def set_number(state: float) -> None:
        if lost:
            raise RuntimeError("it cannot be written")
        numbers[0] = state

    part = Part(get=lambda: numbers[0], set=set_number)
    loop = adapt(
        6, state=[part], space={"lr": [0.1, 0.2]}, minimize="loss", adapt_every=3, try_for=1
    )

    def train() -> None:
        for epoch in loop:
            numbers[0] *= 1 - epoch["lr"]
            lost.append(epoch)
            epoch.report(loss=numbers[0])

    with raises(StateLost):
        train()


@pytest.mark.parametrize("failure", [RuntimeError("storage"), KeyboardInterrupt()])
def test_a_state_is_moved_to_wholly_or_not_at_all(failure: BaseException) -> None:
    trainer = Halves(once(1, failure))
    with pytest.raises(type(failure)):
        move_to(trainer, (2.0, 2.0))
    assert trainer.get_state() == (1.0, 1.0)
    move_to(trainer, (2.0, 2.0))
    assert trainer.get_state() == (2.0, 2.0)
    trainer.fails = from_on(0, RuntimeError("storage"))
    with raises(StateLost):
        move_to(trainer, (3.0, 3.0))
    with raises(StateLost):
        put_back(trainer, (3.0, 3.0))


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError(),
        RuntimeError("X: "),
        RuntimeError("a" * 286 + "bc"),
    ],
)
def test_of_what_was_raised_the_beginning_is_said(failure: Exception) -> None:
    with raises(StateLost):
        put_back(Halves(from_on(0, failure)), (2.0, 2.0))


def test_the_best_state_is_delivered_or_the_last_one_stays() -> None:
    trainer = Halves()
    keeper = KeepBest(trainer, lowest("loss"))
    keeper.train_k(1, {"lr": 0.5})
    keeper.train_k(1, {"lr": -3.0})
    trainer.fails = once(1, RuntimeError("storage"))
    with pytest.raises(RuntimeError, match="storage"):
        keeper.deliver()
    assert trainer.get_state() == (2.0, 2.0)
    keeper.deliver()
    assert trainer.get_state() == (0.5, 0.5)


def test_a_shadow_starts_the_other_line_from_the_start_or_not_at_all() -> None:
    trainer = Halves(once(1, RuntimeError("storage")))
    assert Shadow(adapter_of(trainer), criterion=lowest("loss")).run(6).delivered == "adapted"
    assert trainer.second == pytest.approx(0.7**6)
    trainer = Halves(from_on(1, RuntimeError("storage")))
    with pytest.raises(StateLost):
        Shadow(adapter_of(trainer), criterion=lowest("loss")).run(6)


def test_a_checkpoint_that_cannot_be_taken_back_leaves_everything_as_it_was(tmp_path: Path) -> None:
    run_with_checkpoints(adapter_of(Halves()), 6, checkpoint=tmp_path)
    trainer = Halves(once(1, RuntimeError("storage")))
    adapter = adapter_of(trainer)
    with raises(CheckpointError) as caught:
        run_with_checkpoints(adapter, 9, checkpoint=tmp_path)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert (trainer.get_state(), len(adapter.history)) == ((1.0, 1.0), 0)
    assert len(run_with_checkpoints(adapter, 9, checkpoint=tmp_path)) == 3
    assert trainer.second == pytest.approx(0.7**9)
