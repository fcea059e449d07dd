"""Which types a state may hold beside the plainest, and how each becomes plain data."""

from __future__ import annotations

import reprlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, Philox

from dynhp._checks import require_name
from dynhp.errors import SettingsError
from dynhp.records import Candidate
from dynhp.records.metrics import FixedMetrics

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


_BIT_GENERATORS = {kind.__name__: kind for kind in (MT19937, PCG64, PCG64DXSM, Philox, SFC64)}

# numpy does not check a position, and reads its memory there.
_HIGHEST = {
    "pos": 624,
    "buffer_pos": 4,
    "has_uint32": 1,
    "uinteger": 2**32 - 1,
    "state": 2**128 - 1,
    "inc": 2**128 - 1,
}


def _bits_from_plain(plain: Any) -> Any:
    """A bit generator in this state, or an error if no bit generator can be in it."""
    name = plain["bit_generator"]
    if name not in _BIT_GENERATORS:
        raise ValueError(f"no bit generator of numpy: {reprlib.repr(name)}")
    bits: Any = _BIT_GENERATORS[name](0)
    _require_like(plain, bits.state, name)
    bits.state = plain
    return bits


def _require_like(state: Any, model: Any, name: str) -> None:
    """Refuse what has other names, types, lengths or numbers than the state of a sound one."""
    if isinstance(model, dict):
        sound = isinstance(state, dict) and state.keys() == model.keys()
        for key in model if sound else ():
            _require_like(state[key], model[key], key)
    elif isinstance(model, np.ndarray):
        kind = (model.dtype, model.shape)
        sound = isinstance(state, np.ndarray) and (state.dtype, state.shape) == kind
    elif isinstance(model, str):
        sound = state == model
    else:
        sound = type(state) is int and 0 <= state <= _HIGHEST[name]
    if not sound:
        raise ValueError(f"no bit generator of numpy has such a {name}: {reprlib.repr(state)}")


_FACTORIES: dict[str, Any] = {
    kind.__name__: kind for kind in (int, float, bool, str, list, tuple, dict, set)
}


def _default_to_plain(value: defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = getattr(factory, "__name__", None)
    if factory is not None and _FACTORIES.get(str(name)) is not factory:
        raise ValueError(f"its default_factory is {factory!r}, which is code; use a plain dict")
    return [name, dict(value)]


def _default_from_plain(plain: Any) -> defaultdict[Any, Any]:
    name, items = plain
    return defaultdict(None if name is None else _FACTORIES[name], items)


def _generator_from_plain(plain: Any) -> np.random.Generator:
    if not isinstance(plain, np.random.BitGenerator):
        raise ValueError(f"a generator needs a bit generator of numpy, not {type(plain)!r}")
    return np.random.Generator(plain)


def _in_order(value: Iterable[Any]) -> list[Any]:
    # The order of a set differs from process to process, that of its texts does not.
    return sorted(value, key=lambda item: (type(item).__name__, repr(item)))


register_codec(OrderedDict, name="ordered", to_plain=dict, from_plain=OrderedDict)
register_codec(Counter, name="counter", to_plain=dict, from_plain=Counter)
register_codec(
    defaultdict, name="default", to_plain=_default_to_plain, from_plain=_default_from_plain
)
register_codec(set, name="set", to_plain=_in_order, from_plain=set)
register_codec(frozenset, name="frozenset", to_plain=_in_order, from_plain=frozenset)
register_codec(Candidate, name="candidate", to_plain=dict, from_plain=Candidate)
register_codec(FixedMetrics, name="metrics", to_plain=dict, from_plain=FixedMetrics)
register_codec(
    np.random.Generator,
    name="numpy.generator",
    to_plain=lambda generator: generator.bit_generator,
    from_plain=_generator_from_plain,
)
for _kind in _BIT_GENERATORS.values():
    register_codec(
        _kind,
        name=f"numpy.{_kind.__name__}",
        to_plain=lambda bits: bits.state,
        from_plain=_bits_from_plain,
    )
