"""One round at a time: another thread, or a call from inside a round, is refused."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.errors import LoopError, StateLost
from dynhp.rounds.steps import OneAtATime, guard_of, one_at_a_time
from dynhp.testing import NoisyQuadratic, Quadratic


class Waits(NoisyQuadratic):
    """Waits in one of its epochs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let_go, self.calls = threading.Event(), threading.Event(), 0

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.calls += 1
        if self.calls == 3:
            self.reached.set()
            assert self.let_go.wait(60)
        super().train_k(k, hyperparameters)


def adapter_of(trainer: Any, **settings: Any) -> DynamicGridAdapter:
    known: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 1}
    return DynamicGridAdapter(trainer, {"lr": [0.05, 0.1, 0.2]}, **(known | settings))


CALLS: dict[str, Callable[[DynamicGridAdapter], object]] = {
    "step": lambda adapter: adapter.step(),
    "run": lambda adapter: adapter.run(4),
    "round_steps": lambda adapter: next(adapter.round_steps()),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_second_thread_is_refused_and_the_first_goes_on(call: str) -> None:
    trainer = Waits()
    adapter = adapter_of(trainer)
    thread = threading.Thread(target=adapter.run, args=(12,))
    thread.start()
    try:
        assert trainer.reached.wait(60)
        with pytest.raises(LoopError, match="a round of this adapter is under way"):
            CALLS[call](adapter)
    finally:
        trainer.let_go.set()
        thread.join(60)
    assert adapter.history == adapter_of(NoisyQuadratic()).run(12)
    assert adapter.run(16).epochs == 16


def test_a_callback_cannot_start_a_round() -> None:
    refused = []

    def meddle(event: object) -> None:
        with pytest.raises(LoopError, match="under way"):
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
        with pytest.raises(LoopError, match="under way"):
            loop.adapter.step()
        model.train_k(1, epoch.values)
        epoch.report(loss=model.metrics()["loss"])
    assert loop.history.epochs == 4


def test_after_an_interrupted_round_another_can_start() -> None:
    adapter = adapter_of(NoisyQuadratic())
    steps = adapter.round_steps()
    next(steps)
    steps.close()
    assert adapter.run(8) == adapter_of(NoisyQuadratic()).run(8)


def test_a_guard_travels() -> None:
    guard = OneAtATime()
    turn = guard.enter()
    for other in (copy.deepcopy(guard), pickle.loads(pickle.dumps(guard))):
        other.enter()  # a copy belongs to another adapter, which is not under way
    with pytest.raises(LoopError):
        guard.require_free()
    del turn
    guard.require_free()  # whose holder is gone has left


def test_a_turn_that_is_refused_is_refused_in_these_words() -> None:
    guard = OneAtATime()
    guard.leave()  # nobody has a turn: nothing happens
    turn = guard.enter()
    with pytest.raises(LoopError) as caught:
        guard.enter()
    assert str(caught.value) == (
        "a round of this adapter is under way; wait until it has ended, and give each thread an "
        "adapter and a trainer of its own"
    )
    guard.leave()
    assert guard.enter() is not turn


def test_an_adapter_has_one_guard_and_no_other_adapter_has_it() -> None:
    first, second = adapter_of(NoisyQuadratic()), adapter_of(NoisyQuadratic())
    assert guard_of(first) is guard_of(first)
    assert guard_of(first) is not guard_of(second)
    assert all(isinstance(name, str) for name in vars(first))  # it has a name like all others


def test_an_adapter_whose_state_was_lost_goes_on_from_a_saved_one() -> None:
    adapter = adapter_of(NoisyQuadratic())
    saved = adapter.state_dict()
    guard_of(adapter).lost = True
    with pytest.raises(StateLost):
        adapter.step()
    adapter.load_state_dict(saved)
    assert guard_of(adapter).lost is False
    assert adapter.run(4) == adapter_of(NoisyQuadratic()).run(4)


def test_what_is_guarded_gets_all_arguments_and_has_the_turn_until_it_ends() -> None:
    class Guarded:
        @one_at_a_time
        def steps(self, first: Any, *, second: Any) -> Generator[Any, None, None]:
            """What it is for."""
            yield first
            yield second
            if second is None:
                raise StateLost("nobody knows")

    guarded = Guarded()
    assert list(guarded.steps(1, second=2)) == [1, 2]  # type: ignore[comparison-overlap]
    running = guarded.steps(3, second=4)
    assert next(running) == 3  # type: ignore[comparison-overlap]
    with pytest.raises(LoopError):
        next(guarded.steps(5, second=6))
    running.close()
    assert guard_of(guarded).lost is False
    with pytest.raises(StateLost, match="nobody knows"):
        list(guarded.steps(7, second=None))
    assert guard_of(guarded).lost
    with pytest.raises(StateLost, match="a round before could not put the trainer back"):
        next(guarded.steps(8, second=9))
    assert Guarded.steps.__doc__ == "What it is for."


def test_two_that_come_at_once_do_not_both_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the other thread came right after the first look."""
    guard = OneAtATime()
    looks: list[object] = []
    turns = []

    def require_free(self: OneAtATime) -> None:
        looks.append(self)
        if len(looks) == 1:
            turns.append(self.enter())
        elif len(looks) == 3:
            look(self)

    look = OneAtATime.require_free
    monkeypatch.setattr(OneAtATime, "require_free", require_free)
    with pytest.raises(LoopError):
        guard.enter()
    assert len(turns) == 1
