"""Any plain object as a part: copied both ways, refilled in place."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp import adapt, lowest
from dynhp.errors import SettingsError
from dynhp.loops import Part, copied
from dynhp.loops.parts import part_of, parts_of
from dynhp.storage.codecs import decode, encode
from dynhp.testing import Quadratic
from tests.support.messages import raises


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
    "thing",
    [
        3,
        SimpleNamespace,
        SimpleNamespace(lock=threading.Lock()),
    ],
)
def test_bad_input(thing: Any) -> None:
    with raises(SettingsError):
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
    linear = pytest.importorskip("sklearn.linear_model")  # not with the oldest numpy
    model = linear.SGDClassifier(loss="log_loss", random_state=random_state, shuffle=True)
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


class RandomWalkEnv:
    """An environment that draws from a generator that is not its own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.place = rng, 0.0

    def reset(self) -> float:
        self.place = self.rng.random()
        return self.place

    def step(self, action: float) -> float:
        self.place += 0.1 * self.rng.normal() + action
        return self.place


class Weight:
    """A model with one number."""

    number = 1.0

    def state_dict(self) -> float:
        return self.number

    def load_state_dict(self, number: float) -> None:
        self.number = number


def walked(epochs: Any, rng: np.random.Generator, env: RandomWalkEnv, model: Weight) -> list[float]:
    for epoch in epochs:
        rate = epoch["lr"] if hasattr(epoch, "report") else 0.2
        env.reset()
        model.number -= rate * (model.number + env.step(0.1) + rng.normal())
        if hasattr(epoch, "report"):
            epoch.report(loss=model.number**2)
    return [rng.random(), env.place, model.number]


@pytest.mark.parametrize("auto", [False, True])
def test_a_generator_that_parts_share_stays_shared(auto: bool) -> None:
    """The self-check would accuse this loop, and a dry run would not end as the plain loop does."""
    ends = []
    for dry in (False, True):
        rng, model = np.random.default_rng(0), Weight()
        env = RandomWalkEnv(rng)
        loop: Any = range(8)
        if dry:
            loop = adapt(
                8,
                state="auto" if auto else [model, env, rng],
                space={"lr": [0.1, 0.2, 0.3]},
                minimize="loss",
                adapt_every=4,
                try_for=1,
                dry_run=True,
            )
        ends.append(walked(loop, rng, env, model))
        assert env.rng is rng
    assert ends[0] == ends[1]


def test_what_other_parts_take_care_of_is_kept_also_from_a_file() -> None:
    """A state that came from a file must lead to the objects of this process, not to copies."""
    rng, listed, own, model = np.random.default_rng(0), [1], [2], Weight()
    legacy = np.random.mtrand._rand
    thing = SimpleNamespace(rng=rng, listed=listed, own=own, legacy=legacy, get=model.state_dict)
    memory = Part(get=listed.copy, set=listed.extend)
    none = Part(get=dict, set=print)
    part, *_ = parts_of([copied(thing), rng, memory, none, model], part_of)
    state = pickle.loads(pickle.dumps(copy.deepcopy(part.get())))
    vars(thing).clear()
    part.set(state)
    assert thing.rng is rng
    assert thing.listed is listed
    assert thing.get.__self__ is model
    assert thing.legacy is legacy
    assert thing.own == own
    assert thing.own is not own
    assert not hasattr(state["rng"], "__array__")


def test_what_is_kept_can_be_in_a_checkpoint() -> None:
    rng, model = np.random.default_rng(0), Weight()
    thing = SimpleNamespace(rng=rng, models=[model], own=[2])
    part, *_ = parts_of([copied(thing), rng, model], part_of)
    state = decode(encode(part.get()))
    vars(thing).clear()
    part.set(state)
    assert thing == SimpleNamespace(rng=rng, models=[model], own=[2])


def test_a_callable_that_is_kept_may_be_in_a_partial() -> None:
    """Such as a model; what stands for it in a copy is there to be put back, not to be called."""

    class CallableQuadratic(Quadratic):
        def __call__(self) -> None: ...

    model = CallableQuadratic()
    thing = SimpleNamespace(predict=functools.partial(model))
    part, _ = parts_of([copied(thing), model], part_of)
    state = part.get()
    with raises(TypeError):
        state["predict"]()
    part.set(state)
    assert thing.predict.func is model


def test_a_copied_object_has_the_name_of_its_variable() -> None:
    ema, model = SimpleNamespace(weight=1), Quadratic()
    loop = adapt(
        4,
        state=[model, copied(ema)],
        space={"lr": [0.1, 0.2]},
        minimize="loss",
        adapt_every=2,
        try_for=1,
    )
    assert vars(loop.adapter.trainer)["part_names"][:2] == [
        "model (Quadratic)",
        "ema (SimpleNamespace)",
    ]
