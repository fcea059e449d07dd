"""The parts of a state: copies both ways, the same numbers again, seeds that differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp.errors import Hint, SettingsError
from dynhp.frameworks import Integration
from dynhp.loops import Part
from dynhp.loops.parts import Parts, global_generators, part_of, parts_of
from tests.support.messages import raises, warns


class WithStateDict:
    def __init__(self) -> None:
        self.weights = [1.0]

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> str:
        self.weights = state["weights"]
        return "a report that is not read"


class WithState:
    def __init__(self) -> None:
        self.weights = [1.0]

    def get_state(self) -> list[float]:
        return self.weights

    def set_state(self, state: list[float]) -> None:
        self.weights = state


@pytest.mark.parametrize("kind", [WithStateDict, WithState])
def test_copies_are_made_both_ways(kind: Any) -> None:
    thing = kind()
    part = part_of(thing)
    state = part.get()
    thing.weights[0] = 2.0
    part.set(state)
    assert thing.weights == [1.0]
    thing.weights[0] = 3.0
    part.set(state)
    assert thing.weights == [1.0]
    assert part.reseed is None


def draws(source: Any) -> list[float]:
    return [source.random() for _ in range(3)]


GENERATORS: list[Any] = [
    np.random.default_rng(0),
    np.random.Generator(np.random.MT19937(0)),
    np.random.RandomState(0),
    random.Random(0),
]


@pytest.mark.parametrize("source", GENERATORS)
def test_generators_go_back_and_can_be_seeded(source: Any) -> None:
    part = part_of(source)
    assert part.reseed is not None
    state = part.get()
    first = draws(source)
    part.set(state)
    assert draws(source) == first
    part.set(state)
    assert draws(source) == first
    part.reseed(2**62 + 1)
    seeded = draws(source)
    part.reseed(2**62 + 1)
    assert draws(source) == seeded != first


@pytest.mark.parametrize("place", [0, 1])
def test_global_generators(place: int) -> None:
    source: Any = (random, np.random)[place]
    part = global_generators()[place]
    assert part.reseed is not None
    before = part.get()
    try:
        first = draws(source)
        part.set(before)
        assert draws(source) == first
        part.reseed(2**63 - 1)
        seeded = draws(source)
        part.reseed(2**63 - 1)
        assert draws(source) == seeded
    finally:
        part.set(before)


def test_a_part_is_its_own_part() -> None:
    part = Part(get=lambda: 1, set=lambda state: None)
    assert part_of(part) is part


def test_a_whole_state() -> None:
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    parts = Parts(parts_of([first, second, WithState()], part_of))
    state = parts.get_state()
    parts.reseed(5)
    assert draws(first) != draws(second)
    parts.set_state(state)
    assert draws(first) == draws(second)


@pytest.mark.parametrize("kind", [WithStateDict, WithState])
def test_an_object_with_reseed_is_seeded_too(kind: Any) -> None:
    seeds: list[int] = []
    thing = kind()
    thing.reseed = seeds.append
    Parts([part_of(thing)]).reseed(7)
    assert seeds == [7]


def test_an_object_named_twice_is_refused() -> None:
    thing = WithState()
    with raises(SettingsError):
        parts_of([thing, WithState(), thing], part_of)


def test_objects_of_a_framework_are_sent_to_the_adapt_of_its_integration(
    registry: Callable[[Integration], None],
) -> None:
    kind = type("Linear", (WithStateDict,), {"__module__": "acme.nn.linear"})
    derived = type("Mine", (kind,), {})
    registry(Integration(package="dynhp_too", frameworks=("acme",)))
    part_of(kind())
    registry(Integration(package="dynhp_acme", frameworks=("acme",), own_adapt="is of acme"))
    for thing in (kind(), derived()):
        with raises(SettingsError):
            part_of(thing)
    part_of(WithStateDict())


def test_what_an_integration_knows_better_is_copied_with_a_hint(
    registry: Callable[[Integration], None],
) -> None:
    class Env:
        __module__ = "acme.envs"

        def __init__(self) -> None:
            self.place = 0

        def step(self) -> None:
            self.place += 1

        def reset(self) -> None:
            self.place = 0

    registry(Integration(package="dynhp_too", frameworks=("acme",)))
    part_of(Env())
    acme = Integration(package="dynhp_acme", frameworks=("acme",), better_than_a_copy="is of acme")
    registry(acme)
    env = Env()
    with warns(Hint):
        part = part_of(env)
    state = part.get()
    env.step()
    part.set(state)
    assert env.place == 0


@pytest.mark.parametrize("state", [(1, 2), [1], None])
def test_a_state_of_other_parts_is_refused(state: Any) -> None:
    parts = Parts([part_of(np.random.default_rng(0))])
    with raises(SettingsError):
        parts.set_state(state)


def test_a_state_that_is_no_list_is_refused() -> None:
    with raises(SettingsError):
        parts_of({1, 2}, part_of)  # type: ignore[arg-type]
