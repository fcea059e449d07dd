"""What the callback of a framework is given is refused when it is made, or becomes a loop."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dynhp import Space, adapt, plateau, recommended, rescue
from dynhp.errors import DynhpError, SettingsError
from dynhp.loops import CallbackSettings, LoopOptions, with_options
from dynhp.testing import Quadratic

RATES = {"lr": [0.1, 0.5]}


def settings(space: Any = RATES, *, adapt_every: Any = 3, try_for: int = 1, **options: Any) -> Any:
    given: Any = {"minimize": "loss", **options}
    return CallbackSettings(
        space, adapt_every=adapt_every, try_for=try_for, options=given, way_out="count epochs"
    )


def of_preset(preset: Any) -> Any:
    """A preset is unpacked into a callback: all of it is taken."""
    given = {**preset, "minimize": None}
    return settings(given.pop("space"), adapt_every=given.pop("adapt_every", None), **given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 9}, "counts in epochs, got steps=9; count epochs"),
        ({"space": {}}, "space"),
        ({"try_for": 4}, "try_for"),
        ({"initial": {"lr": 7.0, "rate": 1}}, "rate"),
        ({"start_from": "best", "max_rounds": 3}, "got start_from='best' and max_rescues=0"),
        (
            {"start_from": "before", "max_rescues": 2, "max_rounds": 0},
            "a framework that owns the loop",
        ),
    ],
)
def test_it_is_refused_when_the_callback_is_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DynhpError, match=words):
        settings(**options)


def test_a_name_that_is_no_option_says_which_is_meant() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'minimise'; did you mean 'mi"):
        settings(minimise="loss")


def test_presets_with_a_way_back_are_refused_with_the_way_out() -> None:
    with pytest.raises(SettingsError, match=r"write the loop yourself with adapt\(\.\.\.\)"):
        of_preset(rescue("lr", default=0.1))
    with pytest.raises(SettingsError, match=r'plateau\(\.\.\.\) \| \{"start_from": "here"\}'):
        of_preset(plateau("lr", default=0.1))
    here = of_preset({**plateau("lr", default=0.1), "start_from": "here"})
    assert here.loop(adapt, 20, state=[Quadratic()], bind={}).adapter.start_from == "here"
    of_preset(recommended("learning_rate", epochs=16, default=0.1, name="lr"))


def test_all_that_was_given_is_in_the_loop() -> None:
    made = settings(Space(RATES), seed=7, keep="value")
    adapter = made.loop(adapt, 9, state=[Quadratic()], bind={}).adapter
    assert (adapter.epochs, adapter.adapt_every, adapter.try_for) == (9, 3, 1)
    assert (adapter.seed, adapter.keep) == (7, "value")
    assert repr(settings()) == "{'lr': [0.1, 0.5]}, adapt_every=3, try_for=1"


def test_help_shows_every_option_as_adapt_has_it() -> None:
    def train(data: Any, *, rounds: int, **options: Any) -> None: ...

    shown, core = inspect.signature(with_options(train)), inspect.signature(adapt)
    assert list(shown.parameters) == ["data", "rounds", *LoopOptions.__annotations__]
    assert all(
        shown.parameters[name] == core.parameters[name] for name in list(shown.parameters)[2:]
    )
