"""The state of an environment: physics, generators, wrappers, all that decides the next steps."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, VectorEnv

from dynhp.errors import ContractError, SettingsError, shown
from dynhp.loops import Part
from dynhp_gymnasium.contents import content_of, generators_in, put_back

__all__ = ["state_of"]


def state_of(env: Any) -> Part:
    """Make an environment a part of the state of a loop, with all its wrappers and generators.

    Its attributes are copied out layer by layer and written back into the same objects, so that
    references to an inner environment stay right. Spaces belong to it, as ``action_space.sample()``
    draws from a generator of theirs. Constants, render windows and clocks are left alone.

    Args:
        env: an environment of gymnasium, wrapped or not, or a ``SyncVectorEnv`` of some.

    >>> env = gymnasium.make("CartPole-v1")
    >>> _ = env.reset(seed=0)
    >>> part = state_of(env); state = part.get()
    >>> first = [env.step(env.action_space.sample())[0].tolist() for _ in range(5)]
    >>> part.set(state)
    >>> first == [env.step(env.action_space.sample())[0].tolist() for _ in range(5)]
    True
    """
    if not isinstance(env, gymnasium.Env | VectorEnv):
        raise SettingsError(
            "state_of: an environment of gymnasium is needed, such as gymnasium.make('CartPole-v1')"
            f", got {shown(env)}; for another one give copied(env) of dynhp.loops"
        )
    _require_in_this_process(env)
    for owner in _seedable(env):
        _ = owner.np_random  # made now where there is none yet, so that it is in every state
    content_of(env)  # refuses what cannot be copied before anything is trained

    def reseed(seed: int) -> None:
        for offset, generator in enumerate(generators_in(env)):
            kind: Any = type(generator.bit_generator)
            generator.bit_generator.state = kind([seed, offset]).state

    def set_state(state: Any) -> None:
        layers = state[0] if isinstance(state, tuple) and len(state) == 2 else state
        if layers != _layers(env):
            raise ContractError(
                f"a state of this environment is of {_layers(env)}, got {shown(layers)}; make the "
                "environment as in the run that saved it"
            )
        put_back(env, state[1])

    return Part(get=lambda: (_layers(env), content_of(env)), set=set_state, reseed=reseed)


def _require_in_this_process(env: Any) -> None:
    layer = env
    while layer is not None:
        if isinstance(layer, AsyncVectorEnv):
            raise SettingsError(
                "state_of: the environments of AsyncVectorEnv are in other processes, out of reach "
                "of a snapshot; use SyncVectorEnv, or make_vec(..., vectorization_mode='sync')"
            )
        if type(layer).__name__ in ("RecordVideo", "HumanRendering"):
            raise SettingsError(
                f"state_of: {type(layer).__name__} shows or records every episode, those of tries "
                "too, and that cannot be undone; use it on an environment of its own, to evaluate"
            )
        layer = vars(layer).get("env")


def _layers(env: Any) -> str:
    names, layer = [], env
    while layer is not None:
        names.append(type(layer).__name__)
        layer = vars(layer).get("env")
    return " of ".join(names)


def _seedable(env: Any) -> list[Any]:
    """Environments and spaces that make a generator of their own when they first need one."""
    met: dict[int, Any] = {}
    waiting = [env]
    while waiting:
        thing = waiting.pop()
        if id(thing) in met:
            continue
        met[id(thing)] = thing
        inside = [each for each in vars(thing).values() if _has_generator(each)]
        listed = [each for each in vars(thing).values() if isinstance(each, list | tuple | dict)]
        for group in listed:
            members = group.values() if isinstance(group, dict) else group
            inside += [each for each in members if _has_generator(each)]
        waiting += inside
    return [thing for thing in met.values() if "_np_random" in dir(thing)]


def _has_generator(thing: Any) -> bool:
    return isinstance(thing, gymnasium.Env | VectorEnv | gymnasium.Space)
