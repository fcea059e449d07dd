"""The parts of a loop's state: how each kind of object hands out its state and takes it back."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dynhp.errors import SettingsError, advise, shown
from dynhp.loops import text
from dynhp.loops.copying import copy_back, copy_out, others, require_content, taken_care_of
from dynhp.selfcheck.reading import has_methods, is_estimator, is_of

__all__ = ["CopyOf", "Part", "Parts", "copied", "global_generators", "part_of", "parts_of"]
__all__ += ["stateful_part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that belongs to the state. What ``get`` returned is never changed afterwards.

    ``reseed`` is there for generators, and for objects that have such a method of their own;
    ``name`` is what messages call it, and ``shared`` says that the whole program uses it, such as a
    global generator.

    >>> position = [3]  # in the data; ``state=[model, part]`` makes it part of the state
    >>> part = Part(get=lambda: position[0], set=lambda state: position.__setitem__(0, state))
    >>> state = part.get(); position[0] = 9; part.set(state); position
    [3]
    """

    get: Callable[[], Any]
    set: Callable[[Any], None]
    reseed: Callable[[int], None] | None = None
    name: str | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOf(Part):
    """A part that copies all that is stored in this thing."""

    thing: Any


class Parts:
    """A whole state made of parts, in the words of the trainer's contract.

    >>> parts = Parts([part_of(np.random.default_rng(0)), *global_generators()])
    >>> state = parts.get_state(); parts.reseed(7); parts.set_state(state)
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.changes = 0  # how often the whole state was set, or all generators were

    def get_state(self) -> tuple[Any, ...]:
        """The state of every part, in order."""
        return tuple(part.get() for part in self.parts)

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Take it back; a state of other parts, such as one saved by another script, is refused."""
        if not isinstance(state, tuple) or len(state) != len(self.parts):
            raise SettingsError(text.other_parts(len(self.parts), state))
        self.changes += 1
        for part, value in zip(self.parts, state, strict=True):
            part.set(value)

    def reseed(self, seed: int) -> None:
        """Seed all generators, each a little differently."""
        self.changes += 1
        for offset, part in enumerate(self.parts):
            if part.reseed is not None:
                part.reseed(seed + offset)


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
    """Find out how this object's state is taken and set; torch objects belong to dynhp_torch."""
    if is_of(thing, "torch"):
        raise SettingsError(text.belongs_to_torch(thing))
    return stateful_part(thing)


def stateful_part(thing: Any) -> Part:
    """Find out how any object's state is taken and set; copies are made both ways.

    >>> generator = np.random.default_rng(0)
    >>> part = stateful_part(generator)
    >>> state, first = part.get(), generator.random()
    >>> part.set(state); generator.random() == first
    True
    """
    if isinstance(thing, Part):
        return thing
    if isinstance(thing, np.random.Generator):
        return _numpy_part(thing)
    if isinstance(thing, np.random.RandomState):
        return _legacy_part(thing)
    if isinstance(thing, random.Random):
        return Part(get=thing.getstate, set=thing.setstate, reseed=thing.seed)
    if isinstance(thing, type):
        raise SettingsError(f"state: an object, not its class, is needed, got {shown(thing)}")
    if isinstance(thing, HasStateDict):
        return Part(
            get=lambda: copy.deepcopy(thing.state_dict()),
            set=lambda state: _ignore(thing.load_state_dict(copy.deepcopy(state))),
            reseed=getattr(thing, "reseed", None),
        )
    if isinstance(thing, HasState):
        return Part(
            get=lambda: copy.deepcopy(thing.get_state()),
            set=lambda state: _ignore(thing.set_state(copy.deepcopy(state))),
            reseed=getattr(thing, "reseed", None),
        )
    if has_methods(thing, "step", "reset") or is_estimator(thing):
        if is_of(thing, "gymnasium"):
            advise(text.better_than_a_copy(thing))
        return copied(thing)
    raise SettingsError(
        "state: each object must have state_dict and load_state_dict, or get_state and set_state, "
        f"or be a generator, got {shown(thing)}; {text.way_out_for(thing)}"
    )


def copied(thing: Any) -> Part:
    """Make a part of any object by copying all that is stored in it, both ways.

    The object itself stays the same one, and so do the references among what is inside it, and
    those to objects that the state lists elsewhere (the model, a shared generator). Lists,
    dictionaries, sets and arrays are refilled in place.

    >>> class Game:
    ...     def __init__(self): self.place, self.path = 0, []
    ...     def step(self): self.place += 1; self.path.append(self.place)
    >>> game = Game()
    >>> part = copied(game); state = part.get()
    >>> game.step(); game.step(); part.set(state); vars(game)
    {'place': 0, 'path': []}
    """
    require_content(thing)
    return _copy_of(thing, ())


def _copy_of(thing: Any, kept: Sequence[Any], name: str | None = None) -> CopyOf:
    part = CopyOf(
        get=lambda: copy_out(thing, kept),
        set=lambda state: copy_back(thing, state, kept),
        name=name,
        thing=thing,
    )
    try:
        part.get()
    except Exception as error:
        raise SettingsError(
            f"copied: {type(thing).__name__} cannot be copied ({str(error)[:200]}); give "
            "Part(get=..., set=...) for it"
        ) from error
    return part


def global_generators() -> tuple[Part, ...]:
    """Python's and numpy's global generators: loops use them, so they belong to the state."""
    python = Part(get=random.getstate, set=random.setstate, reseed=random.seed)
    named = {"module random": python, "numpy.random": _legacy_part(np.random)}
    return tuple(replace(part, name=name, shared=True) for name, part in named.items())


def parts_of(
    things: Sequence[Any], part: Callable[[Any], Part], names: Sequence[str | None] = ()
) -> tuple[Part, ...]:
    """The parts of a whole state, with their names; an object that is listed twice is refused."""
    if isinstance(things, str) or not isinstance(things, Sequence):
        raise SettingsError(text.not_a_list(things))
    if not things:
        raise SettingsError(
            "state must list what decides the future (model, optimiser, generators), got nothing"
        )
    for index, thing in enumerate(things):
        if any(thing is other for other in things[:index]):
            raise SettingsError(f"state: each object once, got {shown(thing)} twice")
    named = zip_longest([part(thing) for thing in things], names[: len(things)])
    parts = [replace(made, name=made.name or name) for made, name in named]
    taken = [
        taken_care_of(thing, (thing.get, thing.set) if isinstance(thing, Part) else ())
        for thing in (*things, *global_generators())
    ]
    return tuple(
        _copy_of(made.thing, others(made.thing, taken[:place], taken[place + 1 :]), made.name)
        if isinstance(made, CopyOf)
        else made
        for place, made in enumerate(parts)
    )


def _numpy_part(generator: np.random.Generator) -> Part:
    kind: Any = type(generator.bit_generator)

    def set_state(state: Any) -> None:
        generator.bit_generator.state = state

    return Part(
        get=lambda: copy.deepcopy(generator.bit_generator.state),
        set=set_state,
        reseed=lambda seed: set_state(kind(seed).state),
    )


def _legacy_part(source: Any) -> Part:
    """A part of numpy's module ``random``, or of a ``RandomState``, which has the same methods."""
    return Part(
        get=source.get_state,
        set=source.set_state,
        reseed=lambda seed: source.seed([seed & 0xFFFFFFFF, seed >> 32]),
    )


def _ignore(_: object) -> None:
    """Drop the report that torch's load_state_dict gives."""
