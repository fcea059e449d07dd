"""Any plain object as a part: copied both ways, refilled in place."""

from __future__ import annotations

import threading
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from dynhp import adapt, lowest
from dynhp.errors import SettingsError
from dynhp.loops import copied
from dynhp.loops.parts import part_of


def test_references_inside_stay_as_they_are() -> None:
    shared = [1]
    thing = SimpleNamespace(left=shared, right=shared, own=None)
    thing.own = thing
    part = copied(thing)
    state = part.get()
    thing.left.append(2)
    thing.added = 3
    part.set(state)
    assert thing.left == [1]
    assert thing.left is thing.right
    assert thing.own is thing
    assert not hasattr(thing, "added")


def test_a_state_is_never_changed_afterwards() -> None:
    thing = SimpleNamespace(rows=[1])
    part = copied(thing)
    state = part.get()
    for _ in range(2):
        part.set(state)
        assert thing.rows == [1]
        thing.rows.append(2)


@pytest.mark.parametrize(
    "thing", [[1, [2]], {"a": [1]}, {1, 2}, deque([1, 2], maxlen=3), np.arange(3.0)]
)
def test_containers_are_refilled_in_place(thing: Any) -> None:
    part = copied(thing)
    state, before = part.get(), repr(thing)
    if isinstance(thing, np.ndarray):
        thing += 1
    else:
        thing.clear()
    part.set(state)
    assert repr(thing) == before


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (3, r"copied: int stores nothing under names"),
        (SimpleNamespace, r"copied: type stores nothing under names"),
        (
            SimpleNamespace(lock=threading.Lock()),
            r"copied: SimpleNamespace cannot be copied \(.*lock",
        ),
    ],
)
def test_bad_input(thing: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        copied(thing)


class Grid:
    """An environment in the manner of gym."""

    def __init__(self) -> None:
        self.np_random, self.place = np.random.RandomState(0), 0

    def reset(self) -> int:
        self.place = 0
        return self.place

    def step(self, action: int) -> int:
        self.place += action * self.np_random.randint(1, 9)
        return self.place


def test_an_environment_is_a_part_as_it_is() -> None:
    env = Grid()
    part = part_of(env)
    state, first = part.get(), [env.step(1) for _ in range(5)]
    part.set(state)
    assert [env.step(1) for _ in range(5)] == first


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)], ids=["seed", "generator"])
def test_an_estimator_is_a_part_as_it_is(random_state: Any) -> None:
    """The self-check carries out a try twice, so a wrong copy would be noticed."""
    inputs = np.linspace(-1, 1, 40).reshape(20, 2)
    labels = (inputs.sum(1) > 0).astype(int)
    model = SGDClassifier(loss="log_loss", random_state=random_state, shuffle=True)
    for epoch in adapt(
        4,
        state=[model],
        space={"alpha": [1e-4, 1.0]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
    ):
        model.alpha = epoch["alpha"]
        model.partial_fit(inputs, labels, classes=[0, 1])
        epoch.report(loss=-model.score(inputs, labels))
    assert model.t_ == 81
