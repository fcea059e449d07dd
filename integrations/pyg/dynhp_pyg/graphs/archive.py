"""Bytes and arrays out of untrusted files: no pickle, and every size is checked."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.errors import DataError

MAX_BYTES = 2**31
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    OSError,
    RuntimeError,  # an encrypted member
    NotImplementedError,  # an unknown compression
)


def read_arrays(
    path: Path, names: Iterable[str], *, max_bytes: int = MAX_BYTES
) -> dict[str, NDArray[Any]]:
    """Those of the named arrays that an `.npz` file holds, sizes checked before memory is used."""
    arrays: dict[str, NDArray[Any]] = {}
    left = max_bytes
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            for name in names:
                if info := members.get(f"{name}.npy"):
                    with archive.open(info) as stream:
                        arrays[name] = _read(stream, info.file_size, left)
                    left -= arrays[name].nbytes
    except DataError as error:
        raise DataError(f"{path.name}: array {name!r}: {error}") from None
    except FileNotFoundError:
        raise missing(path) from None
    except _BROKEN as error:
        raise DataError(
            f"{path.name} must be an intact .npz archive, got {str(error)!r}; "
            f"fetch or write it again with numpy.savez_compressed"
        ) from None
    return arrays


def read_bytes(path: Path, *, max_bytes: int | None = None) -> bytes:
    """All bytes of a file, if there are not too many."""
    try:
        size = path.stat().st_size
        if max_bytes is not None and size > max_bytes:
            raise DataError(
                f"{path.name} must not be larger than {max_bytes} bytes, got {size}; "
                f"pass a larger max_bytes="
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise DataError(f"{path.name} must be a readable file, got {error.strerror!r}") from None


def missing(path: Path) -> DataError:
    """The error for a file that does not exist."""
    return DataError(f"the file must exist, got {str(path)!r}; check the name and the folder")


def _read(stream: IO[bytes], size: int, left: int) -> NDArray[Any]:
    shape, by_columns, dtype = _header(stream)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise DataError(
            f"must hold plain numbers, got type {dtype!s} (pickled objects are never read); "
            f"convert it and save again"
        )
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed != size - stream.tell():
        raise DataError(
            f"must be as long as its header says, got shape {shape!r} of {dtype!s} for "
            f"{size - stream.tell()} bytes; fetch or write the file again"
        )
    if claimed > left:
        raise DataError(f"takes {claimed} bytes where {left} are allowed; pass a larger max_bytes=")
    return np.frombuffer(stream.read(), dtype).reshape(shape, order="F" if by_columns else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream)
    raise DataError(f"must be in .npy format 1 or 2, got {version!r}; save it with numpy")
