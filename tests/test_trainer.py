"""Trainers made of functions, and what is no trainer."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import Trainer, trainer_from
from dynhp.errors import SettingsError
from dynhp.trainer import ReadsBack, Reseeds, TriesBatches, require_trainer
from tests.support.messages import raises
from tests.support.reference import Diary, Toy

NEEDED = ("get_state", "set_state", "train_k", "metrics")


def functions(**changes: Any) -> dict[str, Any]:
    toy = Toy()
    return {name: getattr(toy, name) for name in NEEDED} | changes


def test_a_power_not_given_is_not_there() -> None:
    trainer = trainer_from(**functions())
    assert isinstance(trainer, Trainer)
    assert not isinstance(trainer, ReadsBack)
    assert not isinstance(trainer, Reseeds)
    assert not isinstance(trainer, TriesBatches)
    assert not hasattr(trainer, "reseed")
    assert repr(trainer) == "trainer_from(get_state, set_state, train_k, metrics)"


def test_a_power_given_is_there() -> None:
    toy = Toy()
    trainer = trainer_from(**functions(reseed=toy.reseed, hyperparameters=toy.hyperparameters))
    assert isinstance(trainer, ReadsBack)
    assert isinstance(trainer, Reseeds)
    assert repr(trainer).endswith("metrics, hyperparameters, reseed)")


def test_the_functions_are_the_methods() -> None:
    given = functions()
    trainer: Any = trainer_from(**given)
    assert all(getattr(trainer, name) == given[name] for name in NEEDED)


@pytest.mark.parametrize("name", [*NEEDED, "hyperparameters", "reseed"])
def test_what_is_no_function_is_refused(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        trainer_from(**functions(**{name: 3}))
    assert str(caught.value) == f"trainer_from: {name} must be a function, got 3"


@pytest.mark.parametrize("name", NEEDED)
def test_none_for_what_is_needed_is_refused(name: str) -> None:
    with raises(SettingsError):
        trainer_from(**functions(**{name: None}))


@pytest.mark.parametrize("name", NEEDED)
def test_a_function_left_out_is_a_type_error(name: str) -> None:
    given = functions()
    del given[name]
    with pytest.raises(TypeError, match=name):
        trainer_from(**given)


@pytest.mark.parametrize(
    "trainer",
    [
        None,
        3,
        Toy,
        type("Half", (), {"get_state": len, "train_k": 3})(),
    ],
)
def test_what_is_no_trainer_is_refused(trainer: Any) -> None:
    with raises(SettingsError):
        require_trainer(trainer)


def test_what_is_a_trainer_is_accepted() -> None:
    for trainer in (Toy(), Diary({}), trainer_from(**functions())):
        require_trainer(trainer)
