"""One round at a time: another thread, or a call from inside a round, is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.errors import LoopError, StateLost
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.messages import raises


class Waits(NoisyQuadratic):
    """Waits in one of its epochs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let_go, self.calls = threading.Event(), threading.Event(), 0

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.calls += 1
        if self.calls == 3:
            self.reached.set()
            self.let_go.wait()
        super().train_k(k, hyperparameters)


def adapter_of(trainer: Any, **settings: Any) -> DynamicGridAdapter:
    known: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 1}
    return DynamicGridAdapter(trainer, {"lr": [0.05, 0.1, 0.2]}, **(known | settings))


CALLS: dict[str, Callable[[DynamicGridAdapter], object]] = {
    "step": lambda adapter: adapter.step(),
    "run": lambda adapter: adapter.run(4),
    "turn": lambda adapter: adapter.turn().__enter__(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_second_thread_is_refused_and_the_first_goes_on(call: str) -> None:
    trainer = Waits()
    adapter = adapter_of(trainer)
    thread = threading.Thread(target=adapter.run, args=(12,))
    thread.start()
    try:
        trainer.reached.wait()
        with raises(LoopError):
            CALLS[call](adapter)
    finally:
        trainer.let_go.set()
        thread.join()
    assert adapter.history == adapter_of(NoisyQuadratic()).run(12)
    assert adapter.run(16).epochs == 16


def test_a_callback_cannot_start_a_round() -> None:
    refused = []

    def meddle(event: object) -> None:
        with raises(LoopError):
            adapter.step()
        refused.append(event)

    adapter = adapter_of(NoisyQuadratic(), callbacks=[meddle])
    assert adapter.run(8) == adapter_of(NoisyQuadratic()).run(8)
    assert len(refused) == 10


def test_the_body_of_a_loop_cannot_either() -> None:
    model = Quadratic()
    loop = adapt(
        4,
        state=[model],
        space={"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
    )
    for epoch in loop:
        with raises(LoopError):
            loop.adapter.step()
        model.train_k(1, epoch.values)
        epoch.report(loss=model.metrics()["loss"])
    assert loop.history.epochs == 4


def test_after_an_interrupted_round_another_can_start() -> None:
    adapter = adapter_of(NoisyQuadratic())
    with adapter.turn():
        commands = adapter.commands()
        next(commands)
        commands.close()
    assert adapter.run(8) == adapter_of(NoisyQuadratic()).run(8)


def test_each_adapter_has_turns_of_its_own() -> None:
    first, second = adapter_of(NoisyQuadratic()), adapter_of(NoisyQuadratic())
    with first.turn(), second.turn(), raises(LoopError), first.turn():
        pass
    with first.turn():  # the turn has ended
        pass


def test_an_adapter_whose_state_was_lost_goes_on_from_a_saved_one() -> None:
    adapter = adapter_of(NoisyQuadratic())
    saved = adapter.state_dict()
    with raises(StateLost), adapter.turn():
        raise StateLost("nobody knows")
    with raises(StateLost):
        adapter.step()
    adapter.load_state_dict(saved)
    assert adapter.run(4) == adapter_of(NoisyQuadratic()).run(4)


def test_a_turn_that_ends_with_an_error_has_ended() -> None:
    adapter = adapter_of(NoisyQuadratic())
    with pytest.raises(KeyError), adapter.turn():
        raise KeyError
    assert adapter.run(4) == adapter_of(NoisyQuadratic()).run(4)
