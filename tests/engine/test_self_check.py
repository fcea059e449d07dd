"""The self-check of rounds: in which of them it is carried out, and what their records say."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.errors import ValueNotUsed
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At
from tests.support.messages import raises


@pytest.mark.parametrize(("check", "checked"), [("first", 1), ("every", 2), ("off", 0)])
def test_a_round_without_tries_is_not_the_first_that_is_checked(check: Any, checked: int) -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), when=At([2, 6]), try_for=1,
        record_every=2, check=check,
    )  # fmt: skip
    rounds = adapter.run(10)
    assert [round_.start for round_ in rounds if round_.tries] == [2, 6]
    assert not rounds[0].tries
    assert [round_.checked > 0 for round_ in rounds if round_.tries] == [
        number < checked for number in range(2)
    ]


class CountsRestores(Quadratic):
    restored = 0

    def set_state(self, state: Any) -> None:
        self.restored += 1
        super().set_state(state)


def test_a_repeat_finds_the_trainer_at_its_origin() -> None:
    def restored(check: Any) -> int:
        trainer = CountsRestores()
        adapter = DynamicGridAdapter(
            trainer,
            {"lr": [0.1, 0.2]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
            check=check,
        )
        adapter.step()
        return trainer.restored

    assert restored("off") == 1  # the second try; the first finds the trainer there
    assert restored("first") == 1 + 3


def test_a_record_says_how_far_its_repeats_might_be_off() -> None:
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1, 0.2]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        tolerance=0.25,
    )
    assert [(each.checked, each.tolerance) for each in adapter.run(4)] == [(2, 0.25), (0, 0.0)]


def test_a_value_that_is_not_used_is_an_error_in_a_race_too() -> None:
    class IgnoresInARace(Quadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, {"lr": 0.1})

    adapter = DynamicGridAdapter(
        IgnoresInARace(),
        {"lr": [0.1, 0.2, 0.3, 0.4]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
        selection=Racing(),
    )
    with raises(ValueNotUsed):
        adapter.step()
