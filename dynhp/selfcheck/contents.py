"""What the values in a state hold: numbers of any framework, generators, packed bytes, files."""

from __future__ import annotations

import inspect
import io
import math
import os
import random
from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType
from typing import Any, Final

import numpy as np

from dynhp.frameworks import loaded_integrations

UNKNOWN: Final = object()
"""Stands for contents that cannot be read."""


def numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """The value as a numpy array if it is a number, an array or a tensor, otherwise None."""
    if isinstance(value, float | complex | np.generic | np.ndarray):
        return np.asanyarray(value)
    try:
        if not hasattr(value, "detach"):
            return np.asarray(value) if hasattr(value, "__array__") else None
        tensor = value.detach().cpu()
        if getattr(tensor, "is_quantized", False):
            tensor = tensor.dequantize()
        try:
            return np.asarray(tensor.numpy())
        except TypeError:  # numpy has no bfloat16; each of its numbers is a float32 too
            return np.asarray(tensor.float().numpy())
    except Exception:  # a tensor without a numpy form (sparse, on a meta device): by its pickle
        return None


def generator_reader(value: Any) -> Callable[[], Any] | None:
    """Give a function that reads what a random generator draws from; None for anything else.

    Its seed sequence is left out: setting a generator's state keeps the old one.

    >>> generator = np.random.default_rng(0)
    >>> read = generator_reader(generator); before = read()
    >>> _ = generator.random(); read() == before
    False
    """
    if isinstance(value, random.Random):
        return value.getstate
    if isinstance(value, np.random.Generator):
        return lambda: value.bit_generator.state
    if isinstance(value, np.random.BitGenerator):
        return lambda: value.state
    if isinstance(value, np.random.RandomState):
        return lambda: value.get_state(legacy=False)
    if has_methods(value, "get_state", "set_state", "seed"):  # as generators of frameworks have
        return lambda: value.get_state()
    return None


def pickled_parts(value: Any) -> Any:
    """What pickle would store, as plain data to compare, or UNKNOWN if it cannot."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:
        return UNKNOWN
    if isinstance(parts, str):  # the name of a global
        return parts
    return tuple(list(part) if isinstance(part, Iterator) else part for part in parts)


def unpacked(packed: bytes) -> Any:
    """What is packed in these bytes (a pickle, also a compressed one), or UNKNOWN.

    Equal states may be packed into different bytes: a pickle depends on which objects are shared,
    a gzip file on the time.
    """
    if not packed:
        return UNKNOWN
    import bz2  # these take long to import, and few states need them
    import gzip
    import lzma
    import pickle
    import zipfile
    import zlib

    def pickles(packed: bytes) -> list[Any]:
        """All pickles in these bytes, one behind the other: what follows the first counts too."""
        stream = io.BytesIO(packed)
        objects = [pickle.load(stream)]
        while stream.tell() < len(packed):
            objects.append(pickle.load(stream))
        return objects

    def zipped_files(packed: bytes) -> dict[str, bytes]:
        """The files in a zip file, as numpy's npz is one; its times do not count."""
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    ways: list[Callable[[bytes], Any]] = [
        gzip.decompress,
        bz2.decompress,
        lzma.decompress,
        zlib.decompress,
        pickles,
        *(each.unpack for each in loaded_integrations() if each.unpack is not None),
        zipped_files,
        lambda packed: np.load(io.BytesIO(packed)),
    ]
    for unpack in ways:
        try:
            return unpack(packed)
        except Exception:
            continue
    return UNKNOWN


def file_contents(
    name: str | os.PathLike[str], *, most_files: int | None = None, most_bytes: float = math.inf
) -> Any:
    """The bytes of the file of this name, or of all files in a folder by name, or UNKNOWN.

    A folder with as many files or bytes as the limits say is UNKNOWN too.
    """
    from pathlib import Path  # it takes long to import

    try:
        path = Path(name)
        if path.is_file():
            return path.read_bytes()
        if path.is_absolute() and path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file())
            files = sorted(islice(inside, most_files))
            size = sum(file.stat().st_size for file in files)
            if len(files) != most_files and size < most_bytes:
                return {str(file.relative_to(path)): file.read_bytes() for file in files}
    except (OSError, ValueError):  # too long for a name, not readable
        pass
    return UNKNOWN


def digest(raw: Any) -> bytes:
    """What stands for these bytes in a record."""
    import hashlib  # not needed before the first round

    return hashlib.blake2b(raw, digest_size=16).digest()


def closure_variables(function: FunctionType) -> dict[str, Any]:
    """The variables that a function takes from around it, by name."""
    variables = {}
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return variables


def attributes(thing: Any) -> dict[str, Any]:
    """What is stored in an object under a name, without calling any code of its class."""
    try:
        stored = object.__getattribute__(thing, "__dict__")
    except Exception:  # no such dictionary
        stored = {}
    named = dict(stored) if isinstance(stored, dict) else {}
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            descriptor = vars(kind).get(slot)
            if inspect.ismemberdescriptor(descriptor):
                try:
                    named[slot] = descriptor.__get__(thing)
                except AttributeError:  # it has no value yet
                    continue
    return named


def has_methods(thing: Any, *names: str) -> bool:
    """Whether its class has these methods; asking the thing itself might run code of its own.

    >>> has_methods([], "append", "sort"), has_methods([], "state_dict")
    (True, False)
    """
    kinds = type(thing).__mro__
    return all(any(callable(vars(kind).get(name)) for kind in kinds) for name in names)


def shown(value: Any, most: int = 60, text: Callable[[Any], str] = repr) -> str:
    """The value in a message: one line of at most this many characters.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    try:
        line = " ".join(text(value).split())
    except Exception:
        line = f"<{type(value).__qualname__}>"
    return line if len(line) <= most else f"{line[: most - 3]}..."
