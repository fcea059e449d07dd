"""Which things in an environment are in its state, which never change, and which are refused."""

from __future__ import annotations

import copy
import io
import types
from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv

from dynhp.errors import SettingsError, shown

__all__ = ["deep_copy", "is_constant", "is_left", "is_plain_object", "is_times", "kind_of"]
__all__ += ["require_kind", "require_reach"]

# How things were made, and how they are shown: it never changes, or decides nothing.
_CONSTANT = {"_saved_kwargs", "spec", "_cached_spec", "env_fns"}
_CLOCKS = {"episode_start_time", "episode_start_times"}  # of RecordEpisodeStatistics
_NAMED = (types.FunctionType, types.BuiltinFunctionType, type)
_LEFT = (*_NAMED, types.MethodType, types.ModuleType, EnvSpec, AutoresetMode)
_SHOWN = ("pygame", "moviepy", "matplotlib", "cv2")
_PROCESSES = ("multiprocessing", "threading", "_thread", "socket", "subprocess", "_io")
_SIMULATORS = ("mujoco", "Box2D", "ale_py")  # their state is in C


def kind_of(value: Any) -> str:
    """The class of a thing, or which function or class it is, as one text.

    >>> kind_of({}), kind_of(len)
    ('builtins.dict', 'builtins.len')
    """
    named = value if isinstance(value, _NAMED) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def require_kind(live: Any, kind: str, place: str) -> None:
    """Refuse to write into what is something else now."""
    if kind_of(live) != kind:
        raise SettingsError(
            f"state_of: {place} was of {kind} when the state was taken and is {shown(live)} now, "
            "so it cannot be put back; give Part(get=..., set=...) for the environment"
        )


def is_plain_object(value: Any) -> bool:
    """Whether all that it stores is under its names; what pickles in its own way may hide more."""
    kind: Any = type(value)
    usual = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
    containers = isinstance(value, list | tuple | dict | set | frozenset | deque | Enum | Exception)
    slots = any(vars(each).get("__slots__") for each in kind.__mro__)
    return usual and hasattr(value, "__dict__") and not containers and not slots


def is_left(value: Any) -> bool:
    """Whether it is left as it is: functions and classes, settings, windows."""
    return isinstance(value, _LEFT) or _module(value) in _SHOWN


def _module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def is_constant(owner: Any, name: str) -> bool:
    """Whether this attribute says how the owner was made, or what time it is."""
    table = name == "P" and type(owner).__module__.startswith("gymnasium.envs.toy_text")
    clock = name in _CLOCKS and type(owner).__name__ == "RecordEpisodeStatistics"
    made = name in _CONSTANT and isinstance(owner, gymnasium.Env | VectorEnv)
    return table or clock or made


def is_times(owner: Any, name: str) -> bool:
    """Whether these are durations of episodes, which are other ones each time."""
    return name == "time_queue" and type(owner).__name__ == "RecordEpisodeStatistics"


def require_reach(value: Any, place: str) -> None:
    """Refuse what goes on by itself or elsewhere."""
    streams = isinstance(value, io.IOBase | Iterator)
    if streams or _module(value) in (*_PROCESSES, *_SIMULATORS):
        raise SettingsError(
            f"state_of: {place} ({type(value).__name__}) cannot be copied out and put back; give "
            "Part(get=..., set=...) for the environment, or one without it"
        )


def deep_copy(value: Any, place: str) -> Any:
    """A copy, or an error that says where it is that cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise SettingsError(
            f"state_of: {place} ({type(value).__name__}) cannot be copied: {str(error)[:200]}; "
            "give Part(get=..., set=...) for the environment"
        ) from error
