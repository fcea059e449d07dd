"""Environments of one's own: objects inside, cycles, what hides its state, what is refused."""

from __future__ import annotations

import io
import random
import threading
from collections import OrderedDict, deque
from enum import Enum
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers

from dynhp.errors import ContractError, SettingsError
from dynhp.testing import difference
from dynhp_gymnasium import state_of
from tests.support.messages import raises


class Mood(Enum):
    CALM = 1
    WILD = 2


class Opponent:
    """Belongs to an environment, and knows it."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.mood = 0


class SlottedClock:
    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time = 0


class Everything(gymnasium.Env[Any, Any]):
    """Stores something of every kind, and changes all of it in every step."""

    def __init__(self) -> None:
        self.action_space = spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (2,))))
        self.observation_space = spaces.Dict({"place": spaces.Discrete(9)})
        self.opponents = [Opponent(self), Opponent(self)]
        self.best = self.opponents[0]
        self.python, self.legacy = random.Random(1), np.random.RandomState(2)
        self.board = np.zeros((2, 2))
        self.same_board = self.board
        self.path: list[Any] = []
        self.recent: Any = deque(maxlen=3)
        self.seen: set[int] = set()
        self.counts: Any = OrderedDict(a=0)
        self.colour = Mood.CALM
        self.clock = SlottedClock()
        self.nested = {"deep": [{"er": (1, [2])}]}
        self.callback = len

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return {"place": 0}, {}

    def step(self, action: Any) -> Any:
        drawn = [self.python.random(), self.legacy.rand(), self.np_random.random()]
        self.board[0, 0] += drawn[0]
        self.best = self.opponents[int(drawn[1] > 0.5)]
        self.best.mood += 1
        self.path.append((action, drawn))
        self.recent.append(drawn[2])
        self.seen.add(len(self.path))
        self.counts["a"] += 1
        self.counts[f"b{len(self.path)}"] = 1
        self.colour = Mood.WILD if self.colour is Mood.CALM else Mood.CALM
        self.clock.time += 1
        self.nested["deep"][0]["er"][1].append(len(self.path))  # type: ignore[index]
        self.new = len(self.path)
        return {"place": 1}, float(self.same_board[0, 0]), False, False, {}

    def shown(self) -> Any:
        """All of it, in a form that can be compared."""
        place = [opponent.mood for opponent in self.opponents], self.opponents.index(self.best)
        rest = [self.path, list(self.recent), self.seen, dict(self.counts), self.colour.name]
        return [
            place,
            self.board.copy(),
            *rest,
            self.clock.time,
            self.nested,
            vars(self).get("new"),
        ]


def steps(env: Any, count: int) -> list[Any]:
    return [(env.step(env.action_space.sample())[1], repr(env.shown())) for _ in range(count)]


@pytest.mark.parametrize("before", [0, 4])
def test_all_that_an_environment_may_store_goes_back(before: int) -> None:
    env = Everything()
    env.reset(seed=0)
    env.action_space.seed(0)
    part, opponents = state_of(env), list(env.opponents)
    steps(env, before)
    state, now = part.get(), repr(env.shown())
    first = steps(env, 6)
    for _ in range(2):  # training after it writes nothing into the state
        part.set(state)
        assert repr(env.shown()) == now
        assert steps(env, 6) == first
    assert env.opponents == opponents  # the very objects
    assert env.opponents[0].game is env
    assert env.same_board is env.board
    assert env.recent.maxlen == 3
    assert env.callback is len


def test_every_kind_matters() -> None:
    """A state that leaves one kind alone is another state: each is seen to go back above."""
    env = Everything()
    env.reset(seed=0)
    part = state_of(env)
    state = part.get()
    steps(env, 1)
    text = difference(state, part.get())
    assert text is not None
    assert len(part.get()[1][1]) > len(state[1][1])  # 'new' appeared, and goes again
    part.set(state)
    assert "new" not in vars(env)


class Holding(gymnasium.Env[Any, Any]):
    """Holds one thing."""

    action_space = spaces.Discrete(2)

    def __init__(self, thing: Any) -> None:
        self.held = {"inside": [thing]}


@pytest.mark.parametrize(
    "thing",
    [threading.Lock(), io.StringIO(), iter([1]), (each for each in [1]), threading.Thread()],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_put_back_is_refused_with_its_place(thing: Any) -> None:
    with raises(SettingsError):
        state_of(Holding(thing))


class Uncopied:
    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("it is bolted down")


def test_what_refuses_to_be_copied() -> None:
    with raises(SettingsError):
        state_of(Holding(Uncopied()))


def test_an_object_that_became_another_kind_is_not_filled_by_mistake() -> None:
    env = Holding(Opponent(None))
    part = state_of(env)
    state = part.get()
    for other in (None, SlottedClock(), Holding(1)):
        env.held["inside"][0] = other
        with raises(SettingsError):
            part.set(state)
    env = Holding(deque([1]))
    part = state_of(env)
    state = part.get()
    env.held["inside"][0] = [1]
    with raises(SettingsError):
        part.set(state)


def test_containers_and_generators_that_became_something_else_are_made_anew() -> None:
    things = [[1], {"a": 1}, (1,), np.random.default_rng(0)]
    for thing in things:
        env = Holding(thing)
        part = state_of(env)
        state = part.get()
        env.held["inside"][0] = None
        part.set(state)
        assert difference(part.get(), state) is None


def test_a_function_that_became_another_is_not_kept_by_mistake() -> None:
    for before, after in (([len, max], [max]), ([len, max], [max, len]), ([len], [None])):
        env = Holding(before)
        part = state_of(env)
        state = part.get()
        env.held["inside"][0][:] = after
        with raises(SettingsError):
            part.set(state)


def test_names_that_are_constant_in_an_environment_count_elsewhere() -> None:
    thing = Opponent(None)
    thing.spec = 1  # type: ignore[attr-defined]
    env = Holding(thing)
    part = state_of(env)
    state = part.get()
    thing.spec = 2  # type: ignore[attr-defined]
    part.set(state)
    assert thing.spec == 1  # type: ignore[attr-defined]


class FakeSurface:
    __module__ = "pygame.surface"


def test_windows_are_left_alone() -> None:
    surface = FakeSurface()
    env = Holding(surface)
    part = state_of(env)
    part.set(part.get())
    assert env.held["inside"] == [surface]


# --- refused


def test_environments_in_other_processes_are_refused() -> None:
    env = gymnasium.make_vec("CartPole-v1", num_envs=1, vectorization_mode="async")
    try:
        for each in (env, wrappers.vector.RecordEpisodeStatistics(env)):
            with raises(SettingsError):
                state_of(each)
    finally:
        env.close()


def test_what_records_every_episode_is_refused() -> None:
    class RecordVideo(gymnasium.Wrapper[Any, Any, Any, Any]):
        """As the one of gymnasium, which needs a package for films."""

    with raises(SettingsError):
        state_of(wrappers.TimeLimit(RecordVideo(gymnasium.make("CartPole-v1")), 5))


@pytest.mark.parametrize("thing", [None, 3, gymnasium.make, gymnasium.Env, spaces.Discrete(2)])
def test_what_is_no_environment(thing: Any) -> None:
    with raises(SettingsError):
        state_of(thing)


@pytest.mark.parametrize("state", [None, (), ("CartPole", {}, 3), 7])
def test_a_state_of_something_else(state: Any) -> None:
    part = state_of(gymnasium.make("CartPole-v1"))
    with raises(ContractError):
        part.set(state)
    with raises(ContractError):
        part.set(state_of(gymnasium.make("Pendulum-v1")).get())
