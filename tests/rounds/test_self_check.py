"""What the self-check of a round takes from the adapter, and from what its trainer offers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, Serial, lowest
from dynhp.errors import ValueNotUsed
from dynhp.rounds.jobs import Outcome
from dynhp.rounds.repeat import self_check
from dynhp.rounds.steps import carry_out
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At


def adapter_of(trainer: Any, **changes: Any) -> Any:
    given = {"trainer": trainer, "tolerance": 0.25, "randomness": "common"}
    return SimpleNamespace(**(given | changes))


def test_a_plain_trainer_is_watched_and_gets_no_hints() -> None:
    trainer: Any = NoisyQuadratic()
    trainer.forgotten = random.Random(0)
    check = self_check(adapter_of(trainer), 5, first=3)
    assert (check.round, check.first, check.tolerance, check.common) == (5, 3, 0.25, True)
    assert (check.part_names, check.agree, check.gives_hints) == ((), None, False)
    for ended in (check.watch.first_try_ended, check.watch.back_at_origin):
        trainer.forgotten.random()
        ended()
    trainer.forgotten.random()
    assert check.watch.left_behind() == [
        "trainer.forgotten (Random) changed in the tries and was not put back"
    ]


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


def test_what_a_loop_offers_is_used() -> None:
    def agree(message: Any) -> list[Any]:
        return [message]

    watch = object()
    loop = SimpleNamespace(watch=lambda tolerance: watch, part_names=["model"], agree=agree)
    check = self_check(adapter_of(loop), 0, first=0)
    assert (check.watch, check.part_names, check.agree) == (watch, ["model"], agree)
    assert check.gives_hints is True


@pytest.mark.parametrize(("randomness", "common"), [("common", True), ("independent", False)])
def test_tries_are_compared_where_they_meet_the_same_random_numbers(
    randomness: str, common: bool
) -> None:
    adapter = adapter_of(NoisyQuadratic(), randomness=randomness)
    assert self_check(adapter, 0, first=0).common is common


class Replays:
    """Hands out tries as if a checkpoint had kept them, until it is told otherwise."""

    kept = True

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        for outcome in Serial().run(trainer, jobs, at=at):
            yield replace(outcome, replayed=self.kept)


def test_a_round_whose_tries_are_all_replayed_leaves_the_check_to_the_next() -> None:
    executor = Replays()
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1, 0.2]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        executor=executor,
    )
    adapter.step()
    executor.kept = False
    assert [each.checked for each in adapter.run(6)] == [0, 2, 0]


def test_in_a_race_only_the_first_stage_is_looked_at() -> None:
    executor, trainer = Replays(), Quadratic()
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.2, 0.3, 0.4]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=3,
        selection=Racing(),
        executor=executor,
    )
    for step in adapter.round_steps():
        carry_out(step, trainer, executor)
        executor.kept = False  # from the second stage on
    assert [try_.epochs for try_ in adapter.history[0].tries] == [1, 1, 2, 3]
    assert [each.checked for each in adapter.run(8)] == [0, 2]


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


def test_a_value_that_nobody_uses_is_an_error_in_a_race_too() -> None:
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
    with pytest.raises(ValueNotUsed, match="all 4 tries of round 0 came to exactly the same"):
        adapter.step()
