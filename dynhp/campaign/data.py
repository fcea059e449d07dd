"""Plain data: what JSON can carry and gives back unchanged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["canonical", "plain"]

_MOST_LEVELS = 100
_MOST_BITS = 1000  # strict_json reads numbers of up to 400 digits


def plain(value: Any, where: str, *, levels: int = _MOST_LEVELS) -> Any:
    """Give data as JSON gives it back; what JSON cannot carry is refused, with the path to it.

    >>> plain({"curve": (0.5, 1)}, "result")
    {'curve': [0.5, 1]}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if levels and isinstance(value, list | tuple):
        return [
            plain(item, f"{where}[{place}]", levels=levels - 1) for place, item in enumerate(value)
        ]
    if levels and isinstance(value, Mapping):
        return {
            _name(name, where): plain(item, f"{where}[{name!r}]", levels=levels - 1)
            for name, item in value.items()
        }
    raise TypeError(
        f"{where} is {value!r:.200}, which JSON cannot carry; make it a number, a string, a list "
        "or a mapping with names, and None if it is not finite"
    )


def canonical(settings: Mapping[str, Any]) -> str:
    """Name settings so that equal ones have equal names, in whatever order.

    >>> canonical({"b": 1, "a": [2.0]})
    '{"a":[2.0],"b":1}'
    """
    return json.dumps(settings, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _name(name: Any, where: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{where} has the name {name!r:.200}; names must be strings")
    return str.__str__(name)
