"""All that is stored in an object, copied out of it and back into it."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np

from dynhp.errors import SettingsError

__all__ = ["copy_back", "copy_out", "require_content"]

_CONTAINERS = (list, dict, set, deque, np.ndarray)


def require_content(thing: Any) -> None:
    """Refuse what stores nothing that could be copied."""
    names = hasattr(thing, "__dict__") and not isinstance(thing, type)
    if not isinstance(thing, _CONTAINERS) and not names:
        raise SettingsError(
            f"copied: {type(thing).__name__} stores nothing under names that could be copied; give "
            "Part(get=..., set=...) for it"
        )


def copy_out(thing: Any) -> Any:
    """A copy of all that the thing stores."""
    return _copy(_content(thing), thing)


def copy_back(thing: Any, state: Any) -> None:
    """Make the thing store a copy of this and nothing else; it stays the same object."""
    content, saved = _content(thing), _copy(state, thing)
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


def _copy(content: Any, thing: Any) -> Any:
    # What is inside may refer to the thing itself, which is not replaced. A container is its own
    # content, so there is nothing to keep.
    return copy.deepcopy(content, None if content is thing else {id(thing): thing})
