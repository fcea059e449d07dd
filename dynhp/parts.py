"""The parts of a loop's state: how each kind of object hands out its state and takes it back."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dynhp.errors import SettingsError

__all__ = ["Part", "global_generators", "part_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that belongs to the state. What ``get`` gave is never changed by anyone after.

    ``reseed`` is there for generators only.
    """

    get: Callable[[], Any]
    set: Callable[[Any], None]
    reseed: Callable[[int], None] | None = None


@runtime_checkable
class HasStateDict(Protocol):
    """Models, optimisers, schedulers, scalers, loaders: the usual pair of methods."""

    def state_dict(self) -> Any:
        """Hand out the state."""
        ...

    def load_state_dict(self, state: Any, /) -> Any:
        """Take it back."""
        ...


@runtime_checkable
class HasState(Protocol):
    """The other usual pair of methods."""

    def get_state(self) -> Any:
        """Hand out the state."""
        ...

    def set_state(self, state: Any, /) -> Any:
        """Take it back."""
        ...


def part_of(thing: Any) -> Part:
    """Find out how this object's state is taken and set; copies are made both ways.

    >>> generator = np.random.default_rng(0)
    >>> part = part_of(generator)
    >>> state, first = part.get(), generator.random()
    >>> part.set(state); generator.random() == first
    True
    """
    if isinstance(thing, Part):
        return thing
    if isinstance(thing, np.random.Generator):
        return _numpy_part(thing)
    if isinstance(thing, random.Random):
        return Part(get=thing.getstate, set=thing.setstate, reseed=thing.seed)
    if isinstance(thing, HasStateDict):
        return Part(
            get=lambda: copy.deepcopy(thing.state_dict()),
            set=lambda state: _ignore(thing.load_state_dict(copy.deepcopy(state))),
        )
    if isinstance(thing, HasState):
        return Part(
            get=lambda: copy.deepcopy(thing.get_state()),
            set=lambda state: _ignore(thing.set_state(copy.deepcopy(state))),
        )
    raise SettingsError(
        "state: each object must have state_dict and load_state_dict, or get_state and set_state, "
        f"or be a generator, got {thing!r}; give Part(get=..., set=...) for it"
    )


def global_generators() -> tuple[Part, ...]:
    """Python's and numpy's global generators: loops use them, so they belong to the state."""
    return (
        Part(get=random.getstate, set=random.setstate, reseed=random.seed),
        Part(
            get=np.random.get_state,
            set=np.random.set_state,
            reseed=lambda seed: np.random.seed([seed & 0xFFFFFFFF, seed >> 32]),
        ),
    )


def parts_of(things: Sequence[Any], part: Callable[[Any], Part]) -> tuple[Part, ...]:
    """The parts of a whole state; an object named twice is refused."""
    if isinstance(things, str) or not isinstance(things, Sequence):
        raise SettingsError(f"state must be a list of objects, got {things!r}")
    for index, thing in enumerate(things):
        if any(thing is other for other in things[:index]):
            raise SettingsError(f"state: each object once, got {thing!r} twice")
    return tuple(part(thing) for thing in things)


def _numpy_part(generator: np.random.Generator) -> Part:
    kind: Any = type(generator.bit_generator)

    def set_state(state: Any) -> None:
        generator.bit_generator.state = state

    return Part(
        get=lambda: copy.deepcopy(generator.bit_generator.state),
        set=set_state,
        reseed=lambda seed: set_state(kind(seed).state),
    )


def _ignore(_: object) -> None:
    """Torch's load_state_dict returns a report, which nobody here reads."""
