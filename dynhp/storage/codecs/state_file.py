"""States written to files and read back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from dynhp.errors import CodecError, DamagedFile, advise, shown
from dynhp.storage.codecs import archive
from dynhp.storage.codecs.decoder import MOST_STATE, Decoder
from dynhp.storage.codecs.encoder import Encoder
from dynhp.storage.codecs.json_text import strict_json

__all__ = ["decode", "encode", "read_parts", "read_state", "write_state"]

FORMAT = "dynhp state"
VERSION = 2


def write_state(state: Any, file: BinaryIO) -> str:
    """Write a state into an open file, and give the digest of what was written.

    >>> import numpy as np
    >>> file = io.BytesIO()
    >>> digest = write_state({"weights": np.ones(3), "epoch": 2}, file)
    >>> read_state(file)
    {'weights': array([1., 1., 1.]), 'epoch': 2}
    """
    encoder = Encoder()
    node = encoder.state(state)
    document = {"format": FORMAT, "version": VERSION, "state": node}
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MOST_STATE // 8:
        _look_at_size(len(text), node)
    return archive.write(file, [text, *encoder.buffers])


def _look_at_size(size: int, node: Any) -> None:
    """Refuse a state with too much JSON, and say it in time if there is much."""
    path, bytes_ = heaviest(node)
    way_out = "keep what is long in numpy arrays, in bytes, or in plain lists of floats"
    if size > MOST_STATE:
        where = "" if path == "state" else f", most of them ({bytes_}) for {path}"
        raise CodecError(
            f"the state takes {size} bytes of JSON, more than {MOST_STATE}{where}; {way_out}"
        )
    advise(
        f"{path} takes {bytes_} bytes of JSON in every checkpoint, and a state may have "
        f"{MOST_STATE} in all: if it grows from round to round, checkpoints will fail; {way_out}",
        about=("JSON", path),
    )


def heaviest(node: Any) -> tuple[str, int]:
    """The path to what takes most, as far down as one part holds half of the whole, and its bytes.

    >>> heaviest({"epoch": 3, "seen": [["a", 1], ["b", 2], ["c", 3], ["d", 4]]})
    ("state['seen']", 33)
    """
    path, whole = "state", _size(node)
    size = whole
    while True:
        sized = [(_size(child), name, child) for name, child in _children(node)]
        largest = max(sized, key=lambda each: each[0], default=(0, "", None))
        if 2 * largest[0] < whole or not isinstance(largest[2], list | dict):
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
            if key == "$dict":
                for name, value in child:
                    yield f"[{name!r}]", value
            elif key.startswith("$"):
                yield "", child[1] if key == "$codec" else child
            else:
                yield f"[{key!r}]", child


def _size(node: Any) -> int:
    return len(json.dumps(node, separators=(",", ":")))


def read_state(file: BinaryIO) -> Any:
    """Read the state back from a file, or refuse one that is not exactly as it was written.

    Nothing in the file is ever executed, and the memory taken is bounded by its real size.

    >>> read_state(io.BytesIO(b"something else"))
    Traceback (most recent call last):
    ...
    dynhp.errors.DamagedFile: it is not as it was written (File is not a zip file)
    """
    text, *buffers = archive.read(file)
    return Decoder(buffers).state(_state_node(text))


def read_parts(file: BinaryIO, *paths: Sequence[str]) -> list[Any]:
    """Read the plain data at these paths in a state, without the rest, which may be large.

    Nothing in the file is executed. What is read is checked as by ``read_state``, the rest is not.

    >>> file = io.BytesIO(encode({"a": {"b": [1]}, "c": b"raw", "d": 0}))
    >>> read_parts(file, ("a", "b"), ("d",))
    [[1], 0]
    """
    node = _state_node(archive.read_first(file))
    return [Decoder([]).part(node, path) for path in paths]


def _state_node(text: bytes | bytearray) -> Any:
    """The encoded state in the JSON of a file of this format and version."""
    document = strict_json(text, most=MOST_STATE)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DamagedFile(f"it is not a {FORMAT}")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise CodecError(
            f"this dynhp reads version {VERSION} of states, the file has {shown(version, 60)}; use "
            "the dynhp that wrote it"
        )
    if set(document) != {"format", "version", "state"}:
        names = ", ".join(map(repr, sorted(document)))
        raise DamagedFile(f"a {FORMAT} has 'format', 'version' and 'state', not {names[:200]}")
    return document["state"]


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
