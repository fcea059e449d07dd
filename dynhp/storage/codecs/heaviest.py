"""Which part of a state takes most of its JSON, to be named where that is too much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["heaviest"]


def heaviest(node: Any) -> tuple[str, int]:
    """The path to what takes most, as far down as one part holds half of it, and its bytes.

    >>> heaviest({"epoch": 3, "seen": [["a", 1], ["b", 2], ["c", 3], ["d", 4]]})
    ("state['seen']", 33)
    """
    path, size = "state", _size(node)
    while True:
        sized = [(_size(child), name, child) for name, child in _children(node)]
        largest = max(sized, key=lambda each: each[0], default=(0, "", None))
        if 2 * largest[0] < size or not isinstance(largest[2], list | dict):
            return path, size
        size, name, node = largest
        path += name


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an encoded node, each with what is added to the path; tags add nothing."""
    if isinstance(node, list):
        for place, child in enumerate(node):
            yield f"[{place}]", child
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from _tagged(key, child) if key[:1] == "$" else ((f"[{key!r}]", child),)


def _tagged(tag: str, child: Any) -> Iterator[tuple[str, Any]]:
    if tag == "$dict":
        for key, value in child:
            yield f"[{key!r}]", value
    else:
        yield "", child[1] if tag == "$codec" else child


def _size(node: Any) -> int:
    return len(json.dumps(node, separators=(",", ":")))
