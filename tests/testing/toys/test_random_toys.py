"""The toys that tests draw at random obey the laws, and some fail for some values."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from dynhp.testing import check_trainer
from dynhp.testing.toys.fragile import Fragile
from tests.support.toys import Toy, toy_trainers

QUICK = settings(
    max_examples=2000, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@settings(max_examples=15)
@given(toy_trainers())
def test_toy_trainers_obey_the_laws(toy: Toy) -> None:
    make, space = toy
    check_trainer(make, space, epochs=1, another_process=False)


def fails(toy: Toy, failure: str) -> bool:
    trainer = toy[0]()
    return isinstance(trainer, Fragile) and trainer.failure == failure


@pytest.mark.parametrize("failure", ["raise", "nan"])
def test_some_toys_fail_for_some_values_but_not_for_all(failure: str) -> None:
    make, space = find(toy_trainers(), lambda toy: fails(toy, failure), settings=QUICK)
    trainer = make()
    assert isinstance(trainer, Fragile)
    assert 0 < len(set(trainer.bad)) < len(space.grid())
