"""What the self-check of a round takes from the adapter, and from what its trainer offers."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp.rounds.repeat import self_check
from dynhp.testing import NoisyQuadratic


def adapter_of(trainer: Any, **changes: Any) -> Any:
    given = {"trainer": trainer, "tolerance": 0.25, "randomness": "common"}
    return SimpleNamespace(**(given | changes))


def test_a_plain_trainer_is_watched_and_gets_no_hints() -> None:
    trainer: Any = NoisyQuadratic()
    trainer.forgotten = random.Random(0)
    check = self_check(adapter_of(trainer), 5)
    assert (check.round, check.tolerance, check.common) == (5, 0.25, True)
    assert (check.part_names, check.agree, check.gives_hints) == ((), None, False)
    for ended in (check.watch.first_try_ended, check.watch.back_at_origin):
        trainer.forgotten.random()
        ended()
    trainer.forgotten.random()
    assert check.watch.left_behind() == [
        "trainer.forgotten (Random) changed in the tries and was not put back"
    ]


def test_what_a_loop_offers_is_used() -> None:
    def agree(message: Any) -> list[Any]:
        return [message]

    watch = object()
    loop = SimpleNamespace(watch=lambda: watch, part_names=["model"], agree=agree)
    check = self_check(adapter_of(loop), 0)
    assert (check.watch, check.part_names, check.agree) == (watch, ["model"], agree)
    assert check.gives_hints is True


@pytest.mark.parametrize(("randomness", "common"), [("common", True), ("independent", False)])
def test_tries_are_compared_where_they_meet_the_same_random_numbers(
    randomness: str, common: bool
) -> None:
    assert self_check(adapter_of(NoisyQuadratic(), randomness=randomness), 0).common is common
