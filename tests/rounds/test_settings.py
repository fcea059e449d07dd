"""The settings of an adapter: defaults, and the value in force at the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynhp import (
    Best,
    Categorical,
    DynamicGridAdapter,
    FullGrid,
    Serial,
    lowest,
)
from dynhp.errors import ContractError, SettingsError
from dynhp.testing import NoisyQuadratic
from tests.support.reference import (
    SPACE,
    Diary,
    Toy,
    diary_adapter,
    toy_settings,
)


@pytest.mark.parametrize(
    ("by_trainer", "initial", "start"),
    [
        (None, None, {"x": 2, "act": "relu"}),  # the middle of the list, the first of the words
        ({"x": 4, "act": "tanh"}, None, {"x": 4, "act": "tanh"}),
        ({"x": 4}, None, {"x": 4, "act": "relu"}),
        ({"x": 5, "act": "none"}, None, {"x": 5, "act": "none"}),  # not on the grid: they join it
        ({"x": None}, None, {"x": 2, "act": "relu"}),  # nothing is in force yet
        ({"act": None}, None, {"x": 2, "act": None}),
        ({"x": 4}, {"x": 1, "act": None}, {"x": 1, "act": None}),
    ],
)
def test_the_first_value_in_force(by_trainer: Any, initial: Any, start: Any) -> None:
    trainer: Any = Diary({1: 1})
    if by_trainer is not None:
        trainer.hyperparameters = lambda: by_trainer
    adapter = DynamicGridAdapter(
        trainer,
        {"x": [1, 2, 4], "act": Categorical("relu", "tanh", None)},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        initial=initial,
    )
    assert adapter.current == start


def test_the_initial_value_has_the_type_of_its_axis() -> None:
    adapter = diary_adapter(Diary({0.5: 1, 1.0: 2}), initial={"x": 1})
    assert type(adapter.current["x"]) is float


def test_a_read_back_of_other_names_is_refused_with_all_of_them() -> None:
    trainer: Any = Diary({1: 1})
    trainer.hyperparameters = lambda: {"rate": 0.1, "decay": 0.0}
    with pytest.raises(ContractError) as caught:
        DynamicGridAdapter(
            trainer,
            {"x": [1, 2], "y": [3, 4]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
    assert str(caught.value) == (
        "hyperparameters() names 'rate', 'decay', but 'x', 'y' is adapted, so nothing could be "
        "read back; use the same names"
    )


def test_a_word_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(SettingsError) as caught:
        diary_adapter(Diary({0: 1}), randomness="rare")
    assert str(caught.value) == "randomness must be 'common' or 'independent', got 'rare'"


def test_a_space_may_be_given_ready() -> None:
    adapter = toy_settings().adapter(Toy())
    assert adapter.space is SPACE
    assert isinstance(adapter.proposer, FullGrid)
    assert isinstance(adapter.selection, Best)
    assert isinstance(adapter.executor, Serial)


def test_a_value_in_force_that_a_float32_rounded_is_met_on_the_grid() -> None:
    trainer = NoisyQuadratic()
    trainer.in_force = {"lr": float(np.float32(0.3))}
    space = {"lr": [0.1, 0.2, 0.3]}
    adapter = DynamicGridAdapter(trainer, space, criterion=lowest("loss"), adapt_every=2, try_for=1)
    assert adapter.current == {"lr": 0.3}
