"""Which further types a state may hold, and how each becomes plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dynhp._checks import require_name
from dynhp.errors import SettingsError

__all__ = ["register_codec", "register_dataclass"]

BUILT_IN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, np.ndarray)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """How things of one type become plain data and come back."""

    kind: type
    name: str
    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any]


BY_TYPE: dict[type, Codec] = {}
BY_NAME: dict[str, Codec] = {}


def register_codec(
    kind: type, *, name: str, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]
) -> None:
    """Let states hold things of this very type (not of subclasses), stored as plainer things.

    ``name`` is what files call the type: never change it. ``from_plain`` may be given
    anything that a hostile file says, and must refuse what it does not expect.

    >>> from fractions import Fraction
    >>> register_codec(Fraction, name="example.fraction",
    ...                to_plain=lambda fraction: [fraction.numerator, fraction.denominator],
    ...                from_plain=lambda plain: Fraction(*plain))
    >>> from dynhp.storage.codecs import decode, encode
    >>> decode(encode({"ratio": Fraction(1, 3)}))
    {'ratio': Fraction(1, 3)}
    """
    if not isinstance(kind, type) or kind in BUILT_IN or issubclass(kind, np.generic):
        raise SettingsError(f"register_codec: a type not stored already is needed, got {kind!r}")
    require_name(f"register_codec: the name of {kind!r}", name)
    other = BY_NAME.get(name)
    if other is not None and _full_name(other.kind) != _full_name(kind):
        raise SettingsError(
            f"register_codec: {name!r} stands for {other.kind!r} already, got {kind!r}; "
            "choose another name"
        )
    codec = Codec(kind=kind, name=name, to_plain=to_plain, from_plain=from_plain)
    BY_TYPE[kind] = BY_NAME[name] = codec


def register_dataclass(kind: type, *, name: str) -> None:
    """Let states hold things of this dataclass, stored by their fields.

    A field with a default may be added later: files without it are read as if they had it.

    >>> @dataclass(frozen=True)
    ... class Counts:
    ...     seen: int
    >>> register_dataclass(Counts, name="example.counts")
    >>> from dynhp.storage.codecs import decode, encode
    >>> decode(encode([Counts(seen=3)]))
    [Counts(seen=3)]
    """
    if not (is_dataclass(kind) and isinstance(kind, type)):
        raise SettingsError(f"register_dataclass: a dataclass is needed, got {kind!r}")
    names = [field.name for field in fields(kind)]
    needed = [field.name for field in fields(kind) if field.default is field.default_factory]

    def from_plain(plain: dict[str, Any]) -> Any:
        if list(plain) != [name for name in names if name in plain or name in needed]:
            raise ValueError(f"the fields are {names}, the file has {list(plain)}")
        return kind(**plain)

    register_codec(
        kind,
        name=name,
        to_plain=lambda thing: {field: getattr(thing, field) for field in names},
        from_plain=from_plain,
    )


def _full_name(kind: type) -> str:
    # A module that is imported again makes its classes again; they are the same types.
    return f"{kind.__module__}.{kind.__qualname__}"
