"""Records and states as plain data in which equal means equal to the bit; times are left out."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

TRY_FIELDS = ["candidate", "series", "epochs", "score", "error", "seed", "tail", "reported"]
ROUND_FIELDS = [
    "index",
    "start",
    "epochs",
    "previous",
    "chosen",
    "reason",
    "metrics",
    "seed",
    "restarted",
    "checked",
    "tolerance",
    "stretch",
    "because",
    "rescue",
    "abandoned",
    "failure",
    "corrected",
    "unit",
]
COST_FIELDS = ["main_line", "overhead", "abandoned", "total", "candidates", "unit"]
STARTED_FIELDS = ["index", "start", "epochs", "abandoned", "planned", "unit"]
LARGE = 16
"""Of arrays with more elements only a digest is kept."""


def exact(thing: Any) -> Any:
    """Anything that occurs in a record or in a trainer's state, for JSON; floats as their repr."""
    if thing is None or type(thing) in (bool, int):
        return thing
    if isinstance(thing, str | float | bytes):
        return repr(thing)
    if hasattr(thing, "detach"):  # a tensor
        return exact(thing.detach().cpu().numpy())
    if isinstance(thing, np.ndarray):
        held = thing.tolist() if thing.size <= LARGE else hashed(thing.tobytes())
        return [f"array of {thing.dtype}", list(thing.shape), exact(held)]
    if isinstance(thing, Mapping):
        return {key if isinstance(key, str) else repr(key): exact(thing[key]) for key in thing}
    if isinstance(thing, list | tuple):
        return [exact(each) for each in thing]
    return f"{type(thing).__name__} {thing!r}"


def hashed(content: bytes) -> str:
    """A short digest."""
    return hashlib.sha256(content).hexdigest()[:16]


def fields_of(record: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a record."""
    return {name: exact(getattr(record, name, "no such field")) for name in names}


def history_of(history: Iterable[Any]) -> list[dict[str, Any]]:
    """A history without its times."""
    return [
        {
            **fields_of(round_, ROUND_FIELDS),
            "tries": [fields_of(try_, TRY_FIELDS) for try_ in round_.tries],
        }
        for round_ in history
    ]


def cost_of(cost: Any) -> dict[str, Any]:
    """A cost in numbers."""
    return fields_of(cost, COST_FIELDS)


def event_of(event: Any) -> list[Any]:
    """What a callback was given: the kind of event, and what tells it from the others."""
    kind = type(event).__name__
    if kind == "RoundStarted":
        return [kind, fields_of(event, STARTED_FIELDS)]
    if kind == "Try":
        return [kind, fields_of(event, ("candidate", "epochs", "score", "error", "tail"))]
    return [kind, fields_of(event, ("index", "start", "epochs", "chosen", "checked"))]


def error_of(error: BaseException | None) -> dict[str, Any]:
    """An exception: its class, and apart from that the beginning of its message."""
    if error is None:
        return {"error": None, "message": None}
    return {"error": type(error).__name__, "message": str(error)[:80]}


def global_generators() -> dict[str, str]:
    """Where Python's and numpy's global generators stand."""
    kind, keys, place, *gauss = np.random.get_state()
    numpys = repr((kind, place, gauss)).encode() + np.asarray(keys).tobytes()
    return {"random": hashed(repr(random.getstate()).encode()), "numpy": hashed(numpys)}
