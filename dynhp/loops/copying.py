"""All that is stored in an object, copied out of it and back into it."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dynhp.errors import SettingsError
from dynhp.selfcheck.reach import is_module
from dynhp.selfcheck.things import of_module, used_by

__all__ = ["Elsewhere", "copy_back", "copy_out", "others", "require_content", "taken_care_of"]

_PLAIN = (type(None), int, float, complex, str, bytes, tuple, frozenset)  # nothing to put back
_CONTAINERS = (list, dict, set, deque, np.ndarray)


def require_content(thing: Any) -> None:
    """Refuse what stores nothing that could be copied."""
    names = hasattr(thing, "__dict__") and not isinstance(thing, type)
    if not isinstance(thing, _CONTAINERS) and not names:
        raise SettingsError(
            f"copied: {type(thing).__name__} stores nothing under names that could be copied; give "
            "Part(get=..., set=...) for it"
        )


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Stands in a copy for an object that another part of the state takes care of."""

    place: int
    method: str | None = None

    def __getattr__(self, name: str) -> Elsewhere:
        # A bound method is stored in a file as a name to be asked for.
        if name.startswith("__"):
            raise AttributeError(name)
        return Elsewhere(self.place, name)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if (kept := memo.get(Elsewhere)) is None:
            return self
        thing = kept[self.place]
        return thing if self.method is None else getattr(thing, self.method)

    def __call__(self) -> NoReturn:
        """Never meant to be: a ``partial`` can only be copied with something callable in it."""
        raise TypeError("a place in a copied state cannot be called")


def copy_out(thing: Any, kept: Sequence[Any] = ()) -> Any:
    """A copy of all that the thing stores; of the objects that are kept, only which one it is."""
    elsewhere = {id(each): Elsewhere(place) for place, each in enumerate(kept)}
    return _copy(_content(thing), thing, elsewhere)


def copy_back(thing: Any, state: Any, kept: Sequence[Any] = ()) -> None:
    """Make the thing store a copy of this and nothing else; it stays the same object."""
    content, saved = _content(thing), _copy(state, thing, {Elsewhere: kept})
    if isinstance(content, np.ndarray):
        content[...] = saved
        return
    content.clear()
    if isinstance(content, list | deque):
        content.extend(saved)
    else:
        content.update(saved)


def taken_care_of(thing: Any, functions: Iterable[Callable[..., Any]]) -> list[Any]:
    """The objects whose state a thing in the list of a state, or its functions, stand for."""
    objects = [thing, *(used for function in functions for used in used_by(function))]
    modules = (part for each in objects if is_module(each) for part in of_module(each))
    return [each for each in (*objects, *modules) if not isinstance(each, _PLAIN)]


def others(thing: Any, *taken: Iterable[Iterable[Any]]) -> list[Any]:
    """What other parts take care of, each once and always in the same order."""
    objects = (each for side in taken for part in side for each in part)
    return list({id(each): each for each in objects if each is not thing}.values())


def _content(thing: Any) -> Any:
    return thing if isinstance(thing, _CONTAINERS) else vars(thing)


def _copy(content: Any, thing: Any, memo: dict[Any, Any]) -> Any:
    # What is inside may refer to the thing itself, which is not replaced. A container is its own
    # content, so there is nothing to keep.
    itself = {} if content is thing else {id(thing): thing}
    return copy.deepcopy(content, memo | itself)
