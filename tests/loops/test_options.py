"""What the callback of a framework is given is refused when it is made, or becomes a loop."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dynhp import Policy, Space, adapt, plateau, recommended, rescue
from dynhp.errors import DynhpError, LoopError, SettingsError
from dynhp.loops import CallbackSettings, LoopOptions, policy_and_others, with_options
from dynhp.testing import Quadratic
from tests.support.messages import raises

RATES = {"lr": [0.1, 0.5]}


def settings(space: Any = RATES, *, adapt_every: Any = 3, try_for: int = 1, **options: Any) -> Any:
    given: Any = {"space": space, "adapt_every": adapt_every, "try_for": try_for}
    return CallbackSettings({**given, "minimize": "loss", **options}, way_out="count epochs")


def of_preset(preset: Policy, **fields: Any) -> Any:
    """The policy of a preset, and fields in place of its own."""
    return CallbackSettings({"policy": preset, **fields}, way_out="count epochs")


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 9},
        {"space": {}},
        {"try_for": 4},
        {"initial": {"lr": 7.0, "rate": 1}},
        {"start_from": "best", "max_rounds": 3},
        {"start_from": "before", "max_rescues": 2, "max_rounds": 0},
    ],
)
def test_it_is_refused_when_the_callback_is_made(options: dict[str, Any]) -> None:
    with raises(DynhpError):
        settings(**options)


def test_a_name_that_is_no_option_says_which_is_meant() -> None:
    with raises(TypeError):
        settings(minimise="loss")


def test_presets_with_a_way_back_are_refused_with_the_way_out() -> None:
    with raises(SettingsError):
        of_preset(rescue("lr", default=0.1))
    with raises(SettingsError):
        of_preset(plateau("lr", default=0.1))
    here = of_preset(plateau("lr", default=0.1), start_from="here")
    assert here.loop(adapt, 20, state=[Quadratic()], bind={}).adapter.policy.start_from == "here"
    of_preset(recommended("learning_rate", epochs=16, default=0.1, name="lr"))


def test_all_that_was_given_is_in_the_loop() -> None:
    made = settings(Space(RATES), seed=7, keep="value")
    adapter = made.loop(adapt, 9, state=[Quadratic()], bind={}).adapter
    assert (adapter.epochs, adapter.policy.adapt_every, adapter.policy.try_for) == (9, 3, 1)
    assert (adapter.policy.seed, adapter.policy.keep) == (7, "value")
    assert repr(settings()) == "{'lr': [0.1, 0.5]}, adapt_every=3, try_for=1"


def test_help_shows_every_option_as_adapt_has_it() -> None:
    def train(data: Any, *, rounds: int, **options: Any) -> None: ...

    shown, core = inspect.signature(with_options(train)), inspect.signature(adapt)
    assert list(shown.parameters) == ["data", "rounds", *LoopOptions.__annotations__]
    assert all(
        shown.parameters[name] == core.parameters[name] for name in list(shown.parameters)[2:]
    )


def test_the_policy_and_what_is_not_about_it() -> None:
    given = {"adapt_every": 4, "try_for": 1, "minimize": "loss", "progress": False}
    policy, others = policy_and_others(RATES, given, caller="train")
    assert (policy.adapt_every, others) == (4, {"progress": False})
    again, others = policy_and_others(None, {"policy": policy, "try_for": 2}, caller="train")
    assert (again.try_for, again.space, others) == (2, policy.space, {})
    with raises(TypeError):
        policy_and_others(RATES, {"minimise": "loss"}, caller="train")


def test_the_trainer_of_a_loop_does_not_train() -> None:
    loop = settings().loop(adapt, 9, state=[Quadratic()], bind={})
    with raises(LoopError):
        loop.adapter.trainer.train_k(1, {"lr": 0.1})
