"""JSON in the one form that this library writes, and reads back strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dynhp.errors import DamagedFile

__all__ = ["MOST_JSON", "json_line", "strict_json"]

MOST_JSON = 64 << 20
"""The most bytes of JSON in a line; the worst of it takes some thirty times as much memory."""


def json_line(fields: Mapping[str, Any]) -> bytes:
    """Write fields as a line of JSON.

    >>> json_line({"event": "run", "seconds": 0.5})
    b'{"event":"run","seconds":0.5}\\n'
    """
    return json.dumps(fields, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def strict_json(data: bytes | bytearray, *, most: int = MOST_JSON) -> Any:
    """Read JSON that was written by this library; whatever JSON leaves open is refused."""
    if len(data) > most:
        raise DamagedFile(f"{len(data)} bytes of JSON are more than {most}")
    try:
        return json.loads(
            data.decode("ascii"),
            parse_constant=_no_constant,
            parse_int=_int,
            parse_float=_float,
            object_pairs_hook=_no_twins,
        )
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"the JSON in it cannot be read ({error})") from None


def _int(digits: str) -> int:
    if len(digits) > 400:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is not a finite number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members
