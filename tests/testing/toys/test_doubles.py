"""Every broken trainer is caught by its law, every law is needed, and sound toys pass all."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from dynhp.errors import LawBroken
from dynhp.spaces import Categorical, Space
from dynhp.testing import (
    LAWS,
    NoisyQuadratic,
    Quadratic,
    check_trainer,
    trainer_checks,
)
from dynhp.testing.laws.check import verdicts
from dynhp.testing.laws.experiments import Make
from dynhp.testing.toys.quadratic import example
from examples.softmax import SoftmaxRegression
from tests.support.doubles import BROKEN, SPACE, SPACES
from tests.support.forgetful import WritesInPlace
from tests.support.toys import TwoSurrogates

ALSO = {
    "forgets its random state": {"order"},
    "hands out live state": {"order"},
    "trains in place on a handed-in state": {"order"},
    "keeps momentum outside the state": {"order"},
    "keeps a counter outside the state": {"order"},
    "starts a new optimiser on restore": {"order"},
    "get_state draws random numbers": {"restore", "order"},
    "restores an old value over the new one": {"restore"},
}
"""The laws that a double breaks besides its own; the others break one law only."""

OTHER_PROCESS_ONLY = "depends on its process"  # can be seen only in another process


@functools.cache
def broken_laws(name: str) -> frozenset[str]:
    make, _ = BROKEN[name]
    space = SPACES.get(name, SPACE)
    given = verdicts(make, space, another_process=name == OTHER_PROCESS_ONLY)
    return frozenset(verdict.law for verdict in given if verdict.status == "BROKEN")


@pytest.mark.parametrize("name", BROKEN)
def test_each_double_is_caught_by_its_law_and_by_no_other_than_listed(name: str) -> None:
    _, law = BROKEN[name]
    assert broken_laws(name) == {law} | ALSO.get(name, set())


def test_a_process_is_needed_for_what_depends_on_it() -> None:
    make, law = BROKEN[OTHER_PROCESS_ONLY]
    dict(trainer_checks(make, SPACE, another_process=False))[law]()
    # The numbers in its text depend on the process.
    with pytest.raises(LawBroken, match="another process gave another result"):
        dict(trainer_checks(make, SPACE))[law]()


@pytest.mark.parametrize("law", LAWS)
def test_each_law_is_needed(law: str) -> None:
    """Without it, some broken trainer would pass all the others."""
    assert any(broken_laws(name) == {law} for name in BROKEN)


def test_there_are_enough_doubles() -> None:
    assert len(BROKEN) >= 12
    assert set(ALSO) <= set(BROKEN)


X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
SOUND = [
    (Quadratic, {"lr": [0.1, 0.5, 1.0]}),
    (NoisyQuadratic, {"lr": [0.01, 0.1], "momentum": [0.0, 0.9]}),
    (WritesInPlace, SPACE),
    (TwoSurrogates, {"surrogate": Categorical("first", "second")}),
    (
        functools.partial(SoftmaxRegression, X, Y, batch_size=8),
        {"learning_rate": [0.01, 0.1], "weight_decay": [0.0, 0.1]},
    ),
    example(),
]


@pytest.mark.parametrize(("make", "space"), SOUND)
def test_honest_toys_pass_all(make: Make, space: Space) -> None:
    report = check_trainer(make, space, another_process=False)
    assert {verdict.law for verdict in report.verdicts if verdict.notes} == {"restore"}


def test_honest_toys_pass_in_another_process() -> None:
    make = functools.partial(SoftmaxRegression, X, Y, batch_size=8)
    report = check_trainer(make, {"learning_rate": [0.01, 0.1]})
    assert not any(verdict.notes for verdict in report.verdicts)
