"""States written to files and read back, and the codecs of the types that come with the library."""

from __future__ import annotations

import io
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from dynhp.errors import CodecError, DamagedFile, advise
from dynhp.records import Candidate
from dynhp.storage.codecs import archive, bit_generators
from dynhp.storage.codecs.decoder import MOST_STATE, Decoder
from dynhp.storage.codecs.encoder import Encoder
from dynhp.storage.codecs.heaviest import heaviest
from dynhp.storage.codecs.json_text import strict_json
from dynhp.storage.codecs.registry import register_codec, register_dataclass

__all__ = ["decode", "encode", "read_state", "register_codec", "register_dataclass"]
__all__ += ["write_state"]

FORMAT = "dynhp state"
VERSIONS = (2, 3)  # the third has long lists of numbers as buffers


def write_state(state: Any, file: BinaryIO) -> str:
    """Write a state into an open file, and give the digest of what was written.

    >>> file = io.BytesIO()
    >>> digest = write_state({"weights": np.ones(3), "epoch": 2}, file)
    >>> read_state(file)
    {'weights': array([1., 1., 1.]), 'epoch': 2}
    """
    encoder = Encoder()
    node = encoder.state(state)
    document = {"format": FORMAT, "version": encoder.version, "state": node}
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MOST_STATE // 8:
        _look_at_size(len(text), node)
    return archive.write(file, [text, *encoder.buffers])


def _look_at_size(size: int, node: Any) -> None:
    """Refuse a state with too much JSON, and say it in time where there is much."""
    path, bytes_ = heaviest(node)
    way_out = "keep what is long in numpy arrays, in bytes, or in plain lists of floats"
    if size > MOST_STATE:
        raise CodecError(
            f"the state takes {size} bytes of JSON, more than {MOST_STATE}, most of them "
            f"({bytes_}) for {path}; {way_out}"
        )
    advise(
        f"{path} takes {bytes_} bytes of JSON in every checkpoint, and a state may have "
        f"{MOST_STATE} in all: if it grows from round to round, checkpoints will fail; {way_out}",
        about=("JSON", path),
    )


def read_state(file: BinaryIO) -> Any:
    """Read the state back from a file, or refuse one that is not exactly as it was written.

    Nothing in the file is ever executed, and the memory taken is bounded by its real size.

    >>> read_state(io.BytesIO(b"something else"))
    Traceback (most recent call last):
    ...
    dynhp.errors.DamagedFile: the file does not end where it should
    """
    members = archive.read(file)
    if not members:
        raise DamagedFile("there is nothing in it")
    document = strict_json(members[0], most=MOST_STATE)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DamagedFile(f"it is not a {FORMAT}")
    known = type(document.get("version")) is int and document["version"] in VERSIONS
    if not known or set(document) != {"format", "version", "state"}:
        raise CodecError(
            f"this dynhp reads versions {VERSIONS[0]} and {VERSIONS[1]} of states, the file has "
            f"{str(document.get('version'))[:40]}; use the dynhp that wrote it"
        )
    return Decoder(members[1:]).state(document["state"])


def encode(state: Any) -> bytes:
    """Give a state as the bytes of a file; equal states give equal bytes.

    What is one thing in several places is so again when it is read.

    >>> encode([1.5, None]) == encode([1.5, None])
    True
    """
    file = io.BytesIO()
    write_state(state, file)
    return file.getvalue()


def decode(data: bytes) -> Any:
    """Read back what ``encode`` gave.

    >>> decode(encode({("a", 1): 2**100, "b": [float("inf"), b"raw"]}))
    {('a', 1): 1267650600228229401496703205376, 'b': [inf, b'raw']}
    """
    return read_state(io.BytesIO(data))


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
register_codec(
    np.random.Generator,
    name="numpy.generator",
    to_plain=lambda generator: generator.bit_generator,
    from_plain=_generator_from_plain,
)
for _kind in bit_generators.KINDS.values():
    register_codec(
        _kind,
        name=f"numpy.{_kind.__name__}",
        to_plain=lambda bits: bits.state,
        from_plain=bit_generators.from_plain,
    )
