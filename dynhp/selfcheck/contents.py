"""What a leaf of a state holds: numbers of any framework, generators, packed bytes, files."""

from __future__ import annotations

import io
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType
from typing import Any, Final

import numpy as np

__all__ = ["UNKNOWN", "closure_of", "file_contents", "generator_state", "numbers", "parts_of"]
__all__ += ["shown", "unpacked"]

UNKNOWN: Final = object()
"""What is given where something has no contents of the kind that was asked for."""

MOST = 60
"""So many characters of a value are shown at most, on one line."""


def numbers(value: Any) -> Any:
    """The value as a numpy array where it is a number, an array or a tensor, otherwise None."""
    if isinstance(value, float | complex | np.generic | np.ndarray):
        return np.asanyarray(value)
    try:
        if hasattr(value, "detach"):
            return _from_tensor(value.detach().cpu())
        return np.asarray(value) if hasattr(value, "__array__") else None
    except Exception:  # a tensor without a numpy form (sparse, on a meta device): by its pickle
        return None


def _from_tensor(tensor: Any) -> Any:
    if getattr(tensor, "is_quantized", False):
        tensor = tensor.dequantize()
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # numpy has no bfloat16; as float32 each of its numbers stays itself
        return np.asarray(tensor.float().numpy())


def generator_state(value: Any) -> Any:
    """What a random generator will draw from, or UNKNOWN where the value is none.

    Its seed sequence is left out: who sets a generator's state keeps the old one.
    """
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, np.random.BitGenerator):
        return value.state
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Generator):
        return value.get_state()
    return UNKNOWN


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
    import zlib

    compressed = (gzip.decompress, bz2.decompress, lzma.decompress, zlib.decompress)
    for unpack in (*compressed, _pickles, _torch_file, _zip_file, _numpy_file):
        try:
            return unpack(packed)
        except Exception:
            continue
    return UNKNOWN


def _pickles(packed: bytes) -> list[Any]:
    """All pickles in these bytes, one behind the other: what follows the first counts too."""
    import pickle

    stream = io.BytesIO(packed)
    objects = [pickle.load(stream)]
    while stream.tell() < len(packed):
        objects.append(pickle.load(stream))
    return objects


def _torch_file(packed: bytes) -> Any:
    return sys.modules["torch"].load(io.BytesIO(packed), weights_only=False)


def _zip_file(packed: bytes) -> Any:
    """The files in a zip file, as numpy's npz is one; its times do not count."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _numpy_file(packed: bytes) -> Any:
    return np.load(io.BytesIO(packed))


def file_contents(
    name: str | os.PathLike[str], *, most_files: int | None = None, most_bytes: float = math.inf
) -> Any:
    """The bytes of the file of this name, or those of all files in a folder, or UNKNOWN.

    A folder is UNKNOWN too where it has so many files, or so many bytes, that it is not looked at.
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


def closure_of(function: FunctionType) -> tuple[Any, ...]:
    """What a function brings along besides its code; trainers are left out, they are no state."""
    contents = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            value = UNKNOWN
        contents.append(UNKNOWN if hasattr(value, "train_k") else value)
    return function.__defaults__, function.__kwdefaults__, contents, vars(function)


def parts_of(value: Any) -> Any:
    """What pickle would store, as plain data to compare, or UNKNOWN where it cannot."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:
        return UNKNOWN
    if isinstance(parts, str):
        return parts
    return tuple(list(part) if isinstance(part, Iterator) else part for part in parts)


def shown(value: Any, most: int = MOST, text: Callable[[Any], str] = repr) -> str:
    """The value in a message: one line, and not a long one.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    try:
        line = " ".join(text(value).split())
    except Exception:
        line = f"<{type(value).__qualname__}>"
    return line if len(line) <= most else f"{line[: most - 3]}..."
