"""The strategies draw what they promise, and say what they need."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from dynhp.spaces import Axis, Categorical, Float, Int, Ordered
from dynhp.testing import Fragile, check_trainer
from dynhp.testing.strategies import Toy, axes, candidates, spaces, toy_trainers

QUICK = settings(
    max_examples=2000, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@given(axes())
def test_axes_are_axes(axis: Axis) -> None:
    assert isinstance(axis, Axis)
    assert all(map(axis.admits, axis.grid()))


@pytest.mark.parametrize("kind", [Float, Int, Ordered, Categorical])
def test_all_kinds_are_drawn(kind: type) -> None:
    assert isinstance(find(axes(), lambda axis: isinstance(axis, kind), settings=QUICK), kind)


@given(st.data())
def test_candidates_lie_in_their_space(data: st.DataObject) -> None:
    space = data.draw(spaces(max_axes=2))
    assert 1 <= len(space) <= 2
    assert space.admits(data.draw(candidates(space)))


def test_candidates_lie_between_grid_points_too() -> None:
    space = find(spaces(), lambda space: isinstance(space["a"], Float), settings=QUICK)
    grid = space["a"].grid()
    between = find(candidates(space), lambda drawn: drawn["a"] not in grid, settings=QUICK)
    assert space.admits(between)


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


@settings(max_examples=20)
@given(toy_trainers(failing=False))
def test_failing_can_be_left_out(toy: Toy) -> None:
    assert not isinstance(toy[0](), Fragile)


@pytest.mark.parametrize("strategy", [axes, spaces, toy_trainers])
def test_hypothesis_is_asked_for(
    strategy: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, strategy.__module__)
    with pytest.raises(ImportError, match="pip install hypothesis"):
        exec(f"from {strategy.__module__} import {strategy.__name__}")
