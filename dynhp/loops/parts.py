"""The parts of a loop's state: how each kind of object hands out its state and takes it back."""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from dynhp.errors import SettingsError, advise, shown
from dynhp.frameworks import integrations_of
from dynhp.loops.counter import Counter
from dynhp.records import Round
from dynhp.selfcheck.contents import has_methods
from dynhp.selfcheck.reach import is_module
from dynhp.selfcheck.things import is_estimator, of_module, used_by

_CONTAINERS = (list, dict, set, deque, np.ndarray)
_PLAIN = (type(None), int, float, complex, str, bytes, tuple, frozenset)  # nothing to put back


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that belongs to the state. What ``get`` returned is never changed afterwards.

    ``reseed`` is there for generators, and for objects that have such a method of their own;
    ``name`` is what messages call it. ``shared`` says that the whole program uses it, such as a
    global generator; ``set`` then also takes what JSON makes of the state, lists for tuples and
    arrays, because loops are saved with it. ``deliver`` hands over averaged weights after the run,
    where the part holds some; a policy that ends by averages needs one.

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
    deliver: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOf(Part):
    """A part that copies all that is stored in this thing."""

    thing: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterPart(Part):
    """A part that is a number."""

    counter: Counter


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
            got = f"{len(state)} parts" if isinstance(state, tuple) else type(state).__name__
            raise SettingsError(
                f"a state of this loop has {len(self.parts)} parts, got {got}; give adapt the same "
                "state=, bind= and keep_best= as in the run that saved it"
            )
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
    """Find out how an object's state is taken and set; refuse what needs an integration's adapt."""
    for integration in integrations_of(type(thing)):
        if integration.own_adapt is not None:
            raise SettingsError(f"state: {type(thing).__name__} {integration.own_adapt}")
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
        kind = thing.get_state(legacy=False)["bit_generator"]
        return _legacy_part(thing) if kind == "MT19937" else _other_legacy_part(thing, kind)
    if isinstance(thing, random.Random):
        return Part(get=thing.getstate, set=thing.setstate, reseed=thing.seed)
    if isinstance(thing, Counter):
        return CounterPart(get=thing.get_state, set=thing.set_state, counter=thing)

    if isinstance(thing, type):
        raise SettingsError(f"state: an object, not its class, is needed, got {shown(thing)}")
    if isinstance(thing, HasStateDict):
        return Part(
            get=lambda: copy.deepcopy(thing.state_dict()),
            set=lambda state: thing.load_state_dict(copy.deepcopy(state)),
            reseed=getattr(thing, "reseed", None),
        )
    if isinstance(thing, HasState):
        return Part(
            get=lambda: copy.deepcopy(thing.get_state()),
            set=lambda state: thing.set_state(copy.deepcopy(state)),
            reseed=getattr(thing, "reseed", None),
        )

    if is_copied_whole(thing):
        for integration in integrations_of(type(thing)):
            if integration.better_than_a_copy is not None:
                advise(f"state: {type(thing).__name__} {integration.better_than_a_copy}")
        return copied(thing)

    raise SettingsError(
        "state: each object must have state_dict and load_state_dict, or get_state and set_state, "
        f"or be a generator, got {shown(thing)}; {_way_out_for(thing)}"
    )


def is_copied_whole(thing: Any) -> bool:
    """Whether it is an environment or an estimator: a copy has all that it stores."""
    return has_methods(thing, "step", "reset") or is_estimator(thing)


def _way_out_for(thing: object) -> str:
    """What to list in a state in place of a thing without one."""
    if thing is None:
        return "leave it out"
    if isinstance(thing, int | float):
        return "a number belongs to the state as a Counter of dynhp"
    if isinstance(thing, dict):
        return "give the object itself, not its state_dict(), or copied(thing) of dynhp.loops"
    if isinstance(thing, list | tuple):
        return "list its items one by one, or give copied(thing) of dynhp.loops for it"
    if isinstance(thing, Iterator):
        return "an iterator cannot be put back: give what it is made of, such as the model"
    return "give Part(get=..., set=...) or copied(thing) of dynhp.loops for it"


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
        # numpy takes a seed of more than 32 bits in pieces.
        reseed=lambda seed: source.seed([seed & 0xFFFFFFFF, seed >> 32]),
    )


def _other_legacy_part(source: np.random.RandomState, kind: str) -> Part:
    """A ``RandomState`` around another bit generator, which it cannot seed itself."""

    def reseed(seed: int) -> None:
        bits = getattr(np.random, kind)(seed).state
        source.set_state({**bits, "has_gauss": 0, "gauss": 0.0})

    return Part(
        get=lambda: copy.deepcopy(source.get_state(legacy=False)),
        set=source.set_state,
        reseed=reseed,
    )


def global_generators() -> tuple[Part, ...]:
    """Python's and numpy's global generators: loops use them, so they belong to the state."""
    python = Part(get=random.getstate, set=_set_python, reseed=random.seed)
    named = {"module random": python, "numpy.random": _legacy_part(np.random)}
    return tuple(replace(part, name=name, shared=True) for name, part in named.items())


def _set_python(state: Any) -> None:
    version, numbers, gauss = state
    random.setstate((version, tuple(numbers), gauss))


class GeneratorsBefore:
    """Remembers where the global generators were before a loop, also across a resume.

    A main line that goes on with its own random numbers leaves the generators as the plain loop
    would. One that was reseeded (after independent tries, or by a rescue) cannot, so they are put
    back to where they were before the loop.

    >>> generators = GeneratorsBefore([Part(get=random.getstate, set=random.setstate)])
    >>> generators.enter(); before = random.getstate()
    >>> _ = random.random(); generators.leave([]); random.getstate() == before
    False
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = {part.name or f"generator {n}": part for n, part in enumerate(parts)}
        self._before: Mapping[str, Any] = {}  # their states by name, once the loop has begun

    def part(self) -> Part:
        """What is remembered, as a part of the state, so that checkpoints hold it."""
        return Part(
            get=lambda: self._before,
            set=partial(setattr, self, "_before"),
            name="the generators before the loop",
        )

    def enter(self) -> None:
        """The loop begins, or goes on after a resume."""
        now = {name: part.get() for name, part in self._parts.items()}
        self._before = {**now, **self._before}

    def leave(self, rounds: Sequence[Round]) -> None:
        """The loop has ended with these rounds."""
        if all(round_.seed is None for round_ in rounds):
            return
        for name, part in self._parts.items():
            try:
                part.set(self._before[name])
            except Exception as failure:  # the state is damaged, or that of another machine
                advise(
                    f"{name} does not take back the state that it had before the loop was saved "
                    f"({type(failure).__name__}: {str(failure)[:200]}), so it stays as the tries "
                    "have left it; seed it before you go on"
                )

    def to_plain(self) -> dict[str, Any]:
        """What is remembered, as JSON can store it."""
        return {name: _plain(state) for name, state in self._before.items()}

    def load_plain(self, plain: Mapping[str, Any]) -> None:
        """Remember what an earlier process did; no generator is touched yet."""
        self._before = dict(plain)


def _plain(state: Any) -> Any:
    """The state of a generator as numbers, texts and lists."""
    if isinstance(state, Mapping):
        return {name: _plain(each) for name, each in state.items()}
    if isinstance(state, tuple | list):
        return [_plain(each) for each in state]
    return state.tolist() if hasattr(state, "tolist") else state


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
    stores_names = hasattr(thing, "__dict__") and not isinstance(thing, type)
    if not isinstance(thing, _CONTAINERS) and not stores_names:
        raise SettingsError(
            f"copied: {type(thing).__name__} stores nothing under names that could be copied; give "
            "Part(get=..., set=...) for it"
        )
    return _copy_of(thing, ())


def _copy_of(thing: Any, others: Sequence[Any], name: str | None = None) -> CopyOf:
    """Copy a thing, except for the objects that other parts of the state take care of."""
    part = CopyOf(
        get=lambda: copy_out(thing, others),
        set=lambda state: copy_back(thing, state, others),
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


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Stands in a copy for an object that another part of the state takes care of."""

    place: int
    method: str | None = None

    def __getattr__(self, name: str) -> Elsewhere:
        # pickle stores a bound method as getattr(owner, name); when it is read back, the owner is
        # an Elsewhere.
        if name.startswith("__"):
            raise AttributeError(name)
        return Elsewhere(self.place, name)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if (others := memo.get(Elsewhere)) is None:
            return self
        thing = others[self.place]
        return thing if self.method is None else getattr(thing, self.method)

    def __call__(self) -> NoReturn:
        """Never meant to be: a ``partial`` can only be copied with something callable in it."""
        raise TypeError("a place in a copied state cannot be called")


def copy_out(thing: Any, others: Sequence[Any] = ()) -> Any:
    """A copy of all that the thing stores; of other parts' objects, only which one it is."""
    # deepcopy takes what its memo has under an object's id in place of a copy.
    elsewhere = {id(each): Elsewhere(place) for place, each in enumerate(others)}
    return _deep_copy(_content(thing), thing, elsewhere)


def copy_back(thing: Any, state: Any, others: Sequence[Any] = ()) -> None:
    """Make the thing store a copy of this and nothing else; it stays the same object."""
    content = _content(thing)
    # The class is a key that no id can be; Elsewhere.__deepcopy__ finds the real objects there.
    saved = _deep_copy(state, thing, {Elsewhere: others})
    if isinstance(content, np.ndarray):
        content[...] = saved
        return
    content.clear()
    if isinstance(content, list | deque):
        content.extend(saved)
    else:
        content.update(saved)


def _content(thing: Any) -> Any:
    return thing if isinstance(thing, _CONTAINERS) else vars(thing)


def _deep_copy(content: Any, thing: Any, memo: dict[Any, Any]) -> Any:
    # What is inside may refer to the thing itself, which is not replaced. A container is its own
    # content, so there is nothing to keep.
    itself = {} if content is thing else {id(thing): thing}
    return copy.deepcopy(content, memo | itself)


def require_list(state: Any) -> None:
    """Refuse a state that is not a list of objects."""
    if isinstance(state, str) or not isinstance(state, Sequence):
        raise SettingsError(
            f"state must be a list of objects, got {shown(state)}; write state=[model, optimizer] "
            'with the objects themselves, or state="auto"'
        )


def parts_of(
    things: Sequence[Any], as_part: Callable[[Any], Part], names: Sequence[str | None] = ()
) -> tuple[Part, ...]:
    """The parts of a whole state, with their names; an object that is listed twice is refused."""
    require_list(things)
    if not things:
        raise SettingsError(
            "state must list what decides the future (model, optimiser, generators), got nothing"
        )
    for index, thing in enumerate(things):
        if any(thing is other for other in things[:index]):
            raise SettingsError(f"state: each object once, got {shown(thing)} twice")

    parts = []
    for thing, name in zip(things, names or [None] * len(things), strict=True):
        part = as_part(thing)
        parts.append(replace(part, name=part.name or name))

    # A copy leaves to the other parts what they take care of, each object once.
    cared_for = [_cared_for(thing) for thing in (*things, *global_generators())]
    for place, part in enumerate(parts):
        if isinstance(part, CopyOf):
            elsewhere = [*cared_for[:place], *cared_for[place + 1 :]]
            others = {id(each): each for objects in elsewhere for each in objects}
            others.pop(id(part.thing), None)
            parts[place] = _copy_of(part.thing, list(others.values()), part.name)
    return tuple(parts)


def _cared_for(thing: Any) -> list[Any]:
    """The objects whose state a thing in the list of a state stands for."""
    objects = [thing]
    if isinstance(thing, Part):
        objects += [used for function in (thing.get, thing.set) for used in used_by(function)]
    inside = [part for each in objects if is_module(each) for part in of_module(each)]
    return [each for each in (*objects, *inside) if not isinstance(each, _PLAIN)]
