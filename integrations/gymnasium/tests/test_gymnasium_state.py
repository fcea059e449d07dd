"""An environment goes back exactly: whatever it is, wherever it was, whatever came after."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp.storage.codecs import decode, encode
from dynhp.testing import difference
from dynhp_gymnasium import state_of

NAMES = [
    *("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
    *("FrozenLake-v1", "Taxi", "CliffWalking", "Blackjack-v1"),
]


def newest(name: str) -> str:
    """The newest version of an environment that this gymnasium has, where none is asked for."""
    specs = gymnasium.registry.values()
    versions = [spec.version for spec in specs if spec.name == name and spec.namespace is None]
    return f"{name}-v{max(version or 0 for version in versions)}" if versions else name


def made(name: str) -> Any:
    """As ``make`` wraps it (TimeLimit, order and checks), with short episodes and their records."""
    return wrappers.RecordEpisodeStatistics(gymnasium.make(newest(name), max_episode_steps=15))


def normalised(name: str) -> Any:
    env = wrappers.NormalizeObservation(gymnasium.make(name, max_episode_steps=15))
    return wrappers.NormalizeReward(wrappers.FrameStackObservation(env, 3))


def vector(name: str) -> Any:
    env = gymnasium.make_vec(name, num_envs=3, vectorization_mode="sync", max_episode_steps=15)
    return wrappers.vector.RecordEpisodeStatistics(env)


def own_vector(name: str) -> Any:
    return gymnasium.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point")


def played(env: Any, steps: int) -> list[Any]:
    """What happens in so many random steps, with resets where episodes end."""
    seen: list[Any] = []
    for _ in range(steps):
        observation, reward, ended, cut, info = env.step(env.action_space.sample())
        info = {key: value for key, value in info.items() if "episode" not in key}
        seen.append((observation, reward, ended, cut, info))
        if not hasattr(env, "num_envs") and (ended or cut):
            seen.append(env.reset())
    return copy.deepcopy(seen)


def same(first: Any, second: Any) -> bool:
    return difference(first, second) is None


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(before=st.integers(0, 40), after=st.integers(0, 40), seed=st.integers(0, 9))
def test_what_follows_is_the_same(name: str, before: int, after: int, seed: int) -> None:
    env = made(name)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    part = state_of(env)
    played(env, before)
    state = part.get()
    kept = copy.deepcopy(state)
    first = played(env, 30)
    queues = [list(env.return_queue), list(env.length_queue), env.episode_count]
    played(env, after)
    part.set(state)
    assert same(played(env, 30), first)
    assert [list(env.return_queue), list(env.length_queue), env.episode_count] == queues
    assert len(env.time_queue) == len(env.return_queue)
    assert same(state, kept)  # nothing was written into it
    part.set(state)
    assert same(part.get(), state)


CASES = [
    (normalised, "CartPole-v1"),
    (normalised, "Pendulum-v1"),
    (vector, "CartPole-v1"),
    (vector, "FrozenLake-v1"),
    (own_vector, "CartPole-v1"),
]


@pytest.mark.parametrize(("make", "name"), CASES)
def test_wrappers_and_vectors(make: Callable[[str], Any], name: str) -> None:
    env = make(name)
    env.reset(seed=3)
    env.action_space.seed(3)
    part = state_of(env)
    for before in (0, 7, 33):
        played(env, before)
        state = part.get()
        first = played(env, 40)
        env.reset(seed=9)  # puts a generator of another seed in place
        played(env, 5)
        part.set(state)
        assert same(played(env, 40), first)


def test_before_the_first_reset_and_without_a_seed() -> None:
    env = made("CartPole-v1")
    part = state_of(env)
    state = part.get()
    first = [env.reset(), *played(env, 20)]
    part.set(state)
    assert same([env.reset(), *played(env, 20)], first)


def test_references_to_inner_layers_stay_right() -> None:
    env = made("CartPole-v1")
    env.reset(seed=0)
    inner, generator, queue = env.unwrapped, env.unwrapped.np_random, env.return_queue
    part = state_of(env)
    state = part.get()
    played(env, 50)
    part.set(state)
    assert env.unwrapped is inner
    assert inner.np_random is generator
    assert env.return_queue is queue


def test_observations_in_the_records_of_a_user_are_not_written_to() -> None:
    class HandsOut(gymnasium.Env[Any, Any]):
        """Hands out the array that it keeps."""

        observation_space = gymnasium.spaces.Box(-1, 1, (2,))
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.where = np.zeros(2)
            return self.where, {}

        def step(self, action: Any) -> Any:
            self.where = self.where + self.np_random.normal(size=2)
            return self.where, 0.0, False, False, {}

    env = HandsOut()
    env.reset(seed=0)
    part = state_of(env)
    state = part.get()
    record = env.step(0)[0]
    before = record.copy()
    part.set(state)
    env.step(1)
    assert np.array_equal(record, before)


def test_a_new_environment_takes_the_state_over_a_file_too() -> None:
    first, second = made("CartPole-v1"), made("CartPole-v1")
    first.reset(seed=0)
    played(first, 33)
    state = decode(encode(state_of(first).get()))
    state_of(second).set(state)
    assert len(second.time_queue) == len(second.return_queue) > 0
    assert same(played(second, 30), played(first, 30))


def test_reseeding_makes_other_episodes_and_always_the_same() -> None:
    env = made("CartPole-v1")
    env.reset(seed=0)
    part = state_of(env)
    state, runs = part.get(), []
    for seed in (1, 1, 2):
        part.set(state)
        assert part.reseed is not None
        part.reseed(seed)
        runs.append(played(env, 30))
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])
