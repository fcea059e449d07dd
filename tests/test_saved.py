"""The saved state of an adapter: all that decides its future, refused where it is damaged."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp import (
    BestByMargin,
    DynamicGridAdapter,
    Float,
    Interpolation,
    Racing,
    Serial,
    Space,
    lowest,
    phased,
    smoothed,
    trainer_from,
)
from dynhp.drivers import TrainerDriver
from dynhp.engine.commands import Train, Trained
from dynhp.errors import SettingsError
from tests.support.messages import raises
from tests.support.reference import (
    Diary,
    Toy,
    bits,
    diary_adapter,
    toy_settings,
    without_times,
)


def a_criterion(series: Any, progress: Any) -> float:
    return -float(series[-1]["loss"])


class WithoutRepr:
    """A criterion whose repr is its address."""

    def __call__(self, series: Any, progress: Any) -> float:
        return a_criterion(series, progress)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lowest("loss"),
        lambda: a_criterion,
        lambda: smoothed(a_criterion),
        lambda: smoothed(lambda series, progress: 0.0),
        lambda: phased(WithoutRepr(), a_criterion),
        lambda: functools.partial(a_criterion),
        WithoutRepr,
    ],
)
def test_a_state_goes_through_json_into_a_new_object(make: Any) -> None:
    whole, first, second = Toy(1), Toy(1), Toy(1)
    chosen = {"randomness": "independent", "selection": BestByMargin(noise=1.0)}
    toy_settings(criterion=make(), **chosen).adapter(whole).run(23)
    keep_alive = make()  # so that the next one has another address
    adapter = toy_settings(criterion=keep_alive, **chosen).adapter(first)
    for round_ in adapter.rounds(23):
        if round_.index == 2:
            break
    saved = json.dumps(adapter.state_dict(), allow_nan=False)
    second.set_state(first.get_state())
    resumed = toy_settings(criterion=make(), **chosen).adapter(second)
    resumed.load_state_dict(json.loads(saved))
    assert resumed.state_dict() == adapter.state_dict()
    assert (resumed.epoch, resumed.current) == (15, adapter.current)
    while resumed.epoch < 23:
        resumed.step()  # it knows the planned epochs
    assert bits(second.get_state()) == bits(whole.get_state())


def test_a_state_says_all() -> None:
    adapter = diary_adapter(Diary({0: 3, 1: 2}), epochs=9, initial={"x": 1})
    adapter.step()
    state = adapter.state_dict()
    assert set(state) == {
        "version",
        "settings",
        "epochs",
        "current",
        "generator",
        "history",
        "held",
    }
    assert (state["version"], state["epochs"], state["current"]) == (2, 9, {"x": 1})
    assert (len(state["history"]), state["held"]) == (1, [])
    assert state["settings"] == {
        "space": "Space(x=Ordered(0, 1))",
        "criterion": "lowest('loss')",
        "adapt_every": "4",
        "try_for": "2",
        "proposer": "FullGrid()",
        "selection": "Best()",
        "keep": "'winner'",
        "randomness": "'common'",
        "seed": "0",
        "initial": "{'x': 1}",
    }


class WithAttributes:
    """A criterion whose repr is its address, with attributes of all kinds."""

    def __init__(self) -> None:
        self.window = 3
        self.a = 0.5
        self.names = ("loss", "norm")
        self.nothing = None
        self.word, self.flag = "mean", True
        self.seen: list[float] = []  # may change as the run goes: not compared
        self._cache = 7

    def __call__(self, series: Any, progress: Any) -> float:
        return 0.0


class WithAddress(WithoutRepr):
    def __repr__(self) -> str:
        return "<WithAddress at 0xAF09 around <a function at 0xfa90>>"


HERE = "tests.test_saved"


@pytest.mark.parametrize(
    ("criterion", "text"),
    [
        (a_criterion, f"{HERE}.a_criterion"),
        (smoothed(a_criterion), "smoothed(<function a_criterion>, None)"),
        (WithAddress(), "<WithAddress around <a function>>"),
        (WithoutRepr(), f"<{HERE}.WithoutRepr object> with {{}}"),
        (
            WithAttributes(),
            f"<{HERE}.WithAttributes object> with {{'a': 0.5, 'flag': True, "
            "'names': ('loss', 'norm'), 'nothing': None, 'window': 3, 'word': 'mean'}",
        ),
        (functools.partial(a_criterion), "functools.partial(<function a_criterion>)"),
        (dict.get, "?.dict.get"),  # of no module
    ],
)
def test_settings_are_compared_by_a_text_without_addresses(criterion: Any, text: str) -> None:
    state = diary_adapter(Diary({0: 3, 1: 2}), criterion=criterion).state_dict()
    assert state["settings"]["criterion"] == text


def test_what_has_no_dictionary_is_compared_by_its_class() -> None:
    class Bare:
        __slots__ = ()

        def __call__(self, series: Any, progress: Any) -> float:
            return 0.0

    state = diary_adapter(Diary({0: 3, 1: 2}), criterion=Bare()).state_dict()
    assert state["settings"]["criterion"].endswith("Bare object> with {}")


def test_of_what_is_no_state_the_beginning_is_shown() -> None:
    adapter = diary_adapter(Diary({0: 3}))
    with pytest.raises(SettingsError) as caught:
        adapter.load_state_dict("x" * 100)
    assert str(caught.value) == f"not a state of version 2 of this adapter, got {'x' * 80!r}"


def moved_run() -> tuple[Any, Toy]:
    """The state of a run that started from 3.0 and goes on with another value."""
    trainer = Toy(1)
    adapter = toy_settings(space=Space({"lr": [0.1, 3.0]})).adapter(trainer, initial={"lr": 3.0})
    adapter.run(5)
    assert adapter.current == {"lr": 0.1}
    return adapter.state_dict(), trainer


def taken_up(saved: Any, trainer: Any, **more: Any) -> DynamicGridAdapter:
    adapter = toy_settings(space=Space({"lr": [0.1, 3.0]})).adapter(trainer, **more)
    adapter.load_state_dict(saved)
    return adapter


def test_around_a_trainer_that_was_restored_the_initial_value_is_not_compared() -> None:
    saved, trainer = moved_run()
    assert taken_up(saved, trainer).state_dict() == saved  # it reads 0.1 back
    # A float32 holds 0.1 only nearly.
    trainer.values = {"lr": float(np.float32(0.1))}
    assert taken_up(saved, trainer).state_dict() == saved


def without_read_back(trainer: Toy) -> Any:
    names = ("get_state", "set_state", "train_k", "metrics")
    return trainer_from(**{name: getattr(trainer, name) for name in names})


@pytest.mark.parametrize("in_force", [{"lr": 3.0}, {"lr": 0.1}, {}, None])
@pytest.mark.parametrize("initial", [{"lr": 0.1}, {"lr": 3.0}])
def test_otherwise_the_initial_value_is_compared(in_force: Any, initial: Any) -> None:
    saved, trainer = moved_run()
    trainer.values = in_force or {}
    made: Any = without_read_back(trainer) if in_force is None else trainer
    if initial == {"lr": 3.0} or in_force == {"lr": 0.1}:
        assert taken_up(saved, made, initial=initial).current == {"lr": 0.1}
        return
    with raises(SettingsError):
        taken_up(saved, made, initial=initial)


def test_an_adapter_that_has_trained_must_have_started_alike() -> None:
    saved, trainer = moved_run()
    trainer = Toy(1)
    adapter = toy_settings(space=Space({"lr": [0.1, 3.0]})).adapter(trainer, initial={"lr": 0.1})
    adapter.run(5)
    assert (adapter.current, trainer.values) == ({"lr": 0.1}, {"lr": 0.1})
    with raises(SettingsError):
        adapter.load_state_dict(saved)


def test_failed_tries_are_saved_too() -> None:
    trainer = Diary({0: float("nan"), 1: 2, 2: ValueError("no")})
    adapter = diary_adapter(trainer)
    adapter.run(8)
    resumed = diary_adapter(Diary(trainer.losses))
    resumed.load_state_dict(json.loads(json.dumps(adapter.state_dict(), allow_nan=False)))
    assert without_times(resumed.history) == without_times(adapter.history)
    assert resumed.history[0].tries[1].error == "loss is nan after epoch 1"


def test_a_round_cut_off_before_its_first_epoch_can_be_saved() -> None:
    adapter = toy_settings(keep="value", randomness="independent").adapter(Toy(1))

    class FailsAtOnce(TrainerDriver):
        def _train(self, command: Train) -> Trained:
            return Trained(epochs=0, failure="ValueError: no")

    adapter.driver = FailsAtOnce(adapter.trainer, adapter.table, Serial())
    adapter.step()
    assert adapter.history[0].epochs == 0
    adapter.load_state_dict(adapter.state_dict())
    assert adapter.epoch == 0


def test_the_space_may_be_a_range() -> None:
    adapter = toy_settings(
        space=Space({"lr": Float(0.01, 1.0, log=True)}), proposer=Interpolation()
    ).adapter(Toy(1))
    adapter.run(20)
    assert adapter.policy.space.admits(adapter.current)
    adapter.load_state_dict(json.loads(json.dumps(adapter.state_dict())))


def adapter_for(trainer: Toy, **changes: Any) -> Any:
    settings = toy_settings(space=Space({"lr": [0.01, 0.1]}), adapt_every=4)
    return settings.adapter(trainer, **changes)


# Damaged states: each is the saved state with something done to it.


def without(key: str) -> Callable[[Any], Any]:
    return lambda state: {name: value for name, value in state.items() if name != key}


def put(*way: Any, value: Any) -> Callable[[Any], Any]:
    def change(state: Any) -> Any:
        *path, last = way
        part = state
        for step in path:
            part = part[step]
        part[last] = value
        return state

    return change


def drop(*way: Any) -> Callable[[Any], Any]:
    def change(state: Any) -> Any:
        *path, last = way
        part = state
        for step in path:
            part = part[step]
        del part[last]
        return state

    return change


OTHER = "this state was saved with other settings; make the adapter with the same ones. "


DAMAGED: list[Callable[[Any], Any]] = [
    lambda state: None,
    lambda state: [],
    lambda state: "state",
    lambda state: {},
    put("version", value=1),
    without("version"),
    without("settings"),
    without("history"),
    without("current"),
    without("generator"),
    without("epochs"),
    put("settings", value=None),
    put("settings", value={}),
    put("settings", "keep", value="'value'"),
    put("settings", "try_for", value="3"),
    put("epochs", value=0),
    put("epochs", value="8"),
    put("current", value={"lr": 5.0}),
    put("current", value={}),
    put("current", value=None),
    put("current", value={"lr": 0.01}),
    put("generator", value=None),
    put("generator", value={}),
    put("generator", "bit_generator", value="MT19937"),
    # numpy 1 warns of a number that does not fit, and takes it.
    put("generator", "state", "state", value=-1),
    put("generator", "more", value=1),
    put("generator", "state", "state", value="x"),
    drop("generator", "state", "inc"),
    put("history", value=None),
    put("history", value={}),
    put("history", value=[3]),
    drop("history", 1, "tries"),
    put("history", 1, "tries", value=[]),
    put("history", 1, "chosen", value=2),
    put("history", 1, "chosen", value=-1),
    put("history", 1, "chosen", value=None),
    put("history", 1, "index", value=0),
    put("history", 1, "start", value=3),
    put("history", 1, "epochs", value=-4),
    put("history", 0, "epochs", value=5),
    put("history", 1, "epochs", value="4"),
    drop("history", 0),
    put("history", 0, "metrics", value={"loss": "low"}),
    put("history", 0, "tries", 0, "score", value=None),
    put("history", 0, "tries", 0, "candidate", value={"lr": 7.0}),
    put("history", 0, "tries", 0, "candidate", value={}),
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_state_is_refused_and_changes_nothing(damage: Any) -> None:
    trainer = Toy()
    adapter = adapter_for(trainer)
    adapter.run(8)
    saved = copy.deepcopy(adapter.state_dict())
    assert (saved["current"], saved["history"][1]["chosen"]) == ({"lr": 0.1}, 0)
    other_trainer = Toy()
    other = adapter_for(other_trainer, epochs=40)
    other.run(4)
    before, history = copy.deepcopy(other.state_dict()), without_times(other.history)
    with raises(SettingsError):
        other.load_state_dict(damage(copy.deepcopy(saved)))
    assert other.state_dict() == before
    assert without_times(other.history) == history
    other.load_state_dict(saved)  # undamaged, it is taken
    assert other.state_dict() == saved


def test_all_other_settings_are_listed() -> None:
    saved = adapter_for(Toy(), try_for=3, keep="value").state_dict()
    with pytest.raises(SettingsError) as caught:
        adapter_for(Toy(), selection=Racing()).load_state_dict(saved)
    assert str(caught.value) == (
        f"{OTHER}try_for: saved 3, here 2; selection: saved Best(), here "
        "Racing(keep=0.5, every=1); keep: saved 'value', here 'winner'"
    )
    with raises(SettingsError):
        adapter_for(Toy(), criterion=lowest("norm")).load_state_dict(
            adapter_for(Toy()).state_dict()
        )


def test_rounds_that_are_kept_already_need_not_be_given_again() -> None:
    adapter = adapter_for(Toy())
    adapter.run(12)
    whole, rest = adapter.state_dict(), adapter.state_dict(since=2)
    assert len(whole["history"]) == 3
    assert rest == {**whole, "history": whole["history"][2:]}


def test_an_adapter_that_is_put_back_forgets_where_it_was_and_how_it_was_described() -> None:
    adapter = diary_adapter(Diary({0: 3, 1: 2}))
    saved = adapter.state_dict()
    adapter.step()
    assert adapter.described
    adapter.load_state_dict(saved)
    assert adapter.table.here is None
    assert adapter.described == {}
