"""Old Planetoid pickles read as plain data: nothing in the file is ever called."""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import SparseFeatures, features_from_csr


class _Dtype:
    """Stands for numpy.dtype: keeps the type code and the byte order."""

    def __init__(self, code: str, *_: object) -> None:
        self.code, self.little = code, True

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.little = state[1] != ">"

    def plain(self) -> np.dtype[Any]:
        dtype = np.dtype(self.code).newbyteorder("<" if self.little else ">")
        if dtype.kind not in "iuf":
            raise DataError(f"must hold plain numbers, got type {dtype!s}")
        return dtype


class _Array:
    """Stands for numpy.ndarray: takes shape and bytes, and checks that they agree."""

    value: NDArray[Any]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, by_columns, raw = state
        plain = dtype.plain()
        data = raw.encode("latin1") if isinstance(raw, str) else raw
        if math.prod(shape) * plain.itemsize != len(data):
            raise DataError(f"array must match its bytes, got {shape!r} for {len(data)} bytes")
        self.value = np.frombuffer(data, plain).reshape(shape, order="F" if by_columns else "C")


class _Matrix:
    """Stands for scipy's csr_matrix."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        height, width = state["_shape"]
        indptr, indices, data = (state[name].value for name in ("indptr", "indices", "data"))
        self.value = features_from_csr(indptr, indices, data, shape=(height, width))


def _reconstruct(*_: object) -> _Array:
    return _Array()


# The only names that a file may mention, and what stands for each of them here.
_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _KNOWN[(module, name)]
        except KeyError:
            raise DataError(f"must hold plain data only, got a call of {module}.{name}") from None


def read_pickle(raw: bytes) -> SparseFeatures | NDArray[Any] | dict[Any, Any]:
    """The matrix, array or dictionary in a pickle, or an error: never a call into other code.

    >>> read_pickle(pickle.dumps(print))
    Traceback (most recent call last):
    dynhp_pyg.graphs.errors.DataError: must hold plain data only, got a call of builtins.print
    """
    try:
        for opcode, argument, _ in pickletools.genops(raw):
            # The unpickler's memo is an array: a huge index in the file would take huge memory.
            if opcode.name == "LONG_BINPUT" and int(argument or 0) > len(raw):
                raise DataError(f"must be an intact pickle, got memo index {argument!r}")
        value = _PlainUnpickler(io.BytesIO(raw), encoding="latin1").load()
    except DataError:
        raise
    except Exception as error:  # a broken pickle can raise anything at all
        raise DataError(f"must be an intact pickle, got {str(error)!r}; fetch it again") from None
    value = getattr(value, "value", value)
    if not isinstance(value, SparseFeatures | np.ndarray | dict):
        raise DataError(
            f"must hold a matrix, an array or a dictionary, got {type(value).__name__!r}"
        )
    return value
