"""Node features as a compressed sparse row matrix, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import MAX_SIDE, Ints, check_in_range, read_only
from dynhp_pyg.graphs.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor


class SparseMatrix(Protocol):
    """What scipy's sparse matrices have in common."""

    def tocoo(self) -> Any:
        """The same matrix by coordinates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseFeatures:
    """Features by node in CSR form: row i is `data[indptr[i]:indptr[i+1]]` at those `indices`.

    >>> features_from([[0.0, 2.0], [0.0, 0.0]]).nonzeros
    1
    """

    data: NDArray[np.float32]
    indices: Ints
    indptr: Ints
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        for name in ("data", "indices", "indptr"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def nonzeros(self) -> int:
        """The number of stored values, all of them different from zero."""
        return len(self.data)


def features_from(values: ArrayLike | Tensor | SparseFeatures | SparseMatrix) -> SparseFeatures:
    """Sparse features from a dense array or tensor, a torch sparse tensor or a scipy matrix.

    >>> features_from([[1, 0, 3]]).indices.tolist()
    [0, 2]
    """
    if isinstance(values, SparseFeatures):
        return values
    if hasattr(values, "detach"):  # a tensor, recognised without importing torch
        return _from_tensor(cast("Tensor", values))
    if hasattr(values, "tocoo"):
        coo = cast("SparseMatrix", values).tocoo()
        return features_from_coo(coo.row, coo.col, coo.data, shape=coo.shape)
    return _from_dense(np.asarray(values))


def features_from_csr(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], *, shape: tuple[int, int]
) -> SparseFeatures:
    """Sparse features from the three arrays of a CSR matrix, in any order inside a row.

    >>> features_from_csr(np.array([0, 1]), np.array([4]), np.array([1.0]), shape=(1, 5)).nonzeros
    1
    """
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DataError(
                f"feature {name} must be a vector of integers, got shape {array.shape!r} "
                f"and type {array.dtype!s}; save the matrix again"
            )
    ends = indptr.astype(np.int64)
    counts = ends[1:] - ends[:-1]
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (counts < 0).any():
        raise DataError(
            f"feature indptr must rise from 0 in {shape[0] + 1} entries, "
            f"got {len(indptr)} entries; save the matrix again"
        )
    if not indptr[-1] == len(indices) == len(data):
        raise DataError(
            f"feature arrays must agree in length, got {int(indptr[-1])!r} (end of indptr), "
            f"{len(indices)!r} (indices), {len(data)!r} (data); save the matrix again"
        )
    rows = np.repeat(np.arange(shape[0]), counts)
    return features_from_coo(rows, indices, data, shape=shape)


def features_from_coo(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], *, shape: tuple[int, ...]
) -> SparseFeatures:
    """Sparse features from coordinates; repeated coordinates are added up.

    >>> rows, columns, values = np.array([0, 0]), np.array([1, 1]), np.array([2.0, 1.0])
    >>> features_from_coo(rows, columns, values, shape=(1, 2)).data.tolist()
    [3.0]
    """
    height, width = _checked_shape(shape)
    for name, places, side in (("row", rows, height), ("column", columns, width)):
        check_in_range(f"a feature's {name}", places, side, "correct it or the matrix's shape")
    keys = rows.astype(np.int64) * width + columns.astype(np.int64)
    kept, where = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(kept), np.float64)
    np.add.at(sums, where, _checked_values(values))
    with np.errstate(over="ignore"):
        data = sums.astype(np.float32)
    _check_finite(data, kept, width)
    kept, data = kept[data != 0], data[data != 0]
    indptr = np.searchsorted(kept, np.arange(height + 1, dtype=np.int64) * width)
    return SparseFeatures(
        data=data, indices=kept % max(width, 1), indptr=indptr, shape=(height, width)
    )


def _from_dense(array: NDArray[Any]) -> SparseFeatures:
    _checked_shape(array.shape)
    _checked_values(array)
    rows, columns = np.nonzero(array)  # nan and inf are not zero: they reach the check
    return features_from_coo(rows, columns, array[rows, columns], shape=array.shape)


def _from_tensor(tensor: Tensor) -> SparseFeatures:
    tensor = tensor.detach().cpu()
    shape = tuple(tensor.shape)
    if str(tensor.layout) == "torch.strided":
        return _from_dense(tensor.numpy())
    coo = tensor.to_sparse().coalesce()  # from any sparse layout
    rows, columns = coo.indices().numpy()
    return features_from_coo(rows, columns, coo.values().numpy(), shape=shape)


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2 or not all(0 <= side <= MAX_SIDE for side in shape):
        raise DataError(
            f"features must be a matrix of shape (nodes, features), got shape {shape!r}; reshape it"
        )
    return int(shape[0]), int(shape[1])


def _checked_values(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"features must be real numbers, got type {values.dtype!s}; convert them to float32"
        )
    return values


def _check_finite(data: NDArray[np.float32], keys: Ints, width: int) -> None:
    bad = np.flatnonzero(~np.isfinite(data))
    if len(bad):
        node, column = divmod(int(keys[bad[0]]), width)
        raise DataError(
            f"features must be finite in float32, got {float(data[bad[0]])!r} at node {node}, "
            f"feature {column} ({len(bad)} such values); replace or drop them"
        )
