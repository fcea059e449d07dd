"""Arrays of node ids, labels and pairs: converted, checked, and made read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

Ints = NDArray[np.int64]

MAX_SIDE = 2**31 - 1


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written through."""
    view = array.view()
    view.setflags(write=False)
    return view


def starts_of(counts: Ints | NDArray[np.bool_]) -> Ints:
    """Where each of several runs of entries starts, given their lengths, and where the last ends.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def distinct_pairs(edges: Ints) -> Ints:
    """Each pair of nodes once, as u < v, sorted.

    >>> distinct_pairs(np.array([[3, 0, 1], [0, 3, 0]])).tolist()
    [[0, 0], [1, 3]]
    """
    return np.unique(np.sort(edges, axis=0), axis=1)


def to_numpy(values: ArrayLike | Tensor) -> NDArray[Any]:
    """An array or a tensor on any device as a numpy array."""
    tensor = getattr(values, "detach", None)  # recognised without importing torch
    try:
        return np.asarray(values if tensor is None else tensor().cpu())
    except ValueError:
        raise DataError("an edge list must be two rows of equal length, got ragged rows") from None


def checked_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """The same ids, if they are integers of shape (2, E)."""
    if ids.ndim != 2 or ids.shape[0] != 2:
        raise DataError(f"edge_index must have shape (2, E), got {ids.shape!r}; transpose it?")
    if ids.size and ids.dtype.kind not in "iu":
        raise DataError(f"node ids must be integers, got type {ids.dtype!s}; convert them to int64")
    return ids


def checked_count(num_nodes: int) -> int:
    """The same number of nodes, if pairs of nodes can be counted in 64 bits."""
    if not isinstance(num_nodes, int | np.integer) or not 1 <= num_nodes <= MAX_SIDE:
        raise DataError(
            f"num_nodes must be an integer in 1..{MAX_SIDE}, got {num_nodes!r}; "
            f"renumber the nodes from 0"
        )
    return int(num_nodes)


def check_in_range(what: str, ids: NDArray[Any], size: int, way_out: str) -> None:
    """Refuse numbers that are negative, or not below `size`."""
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        wrong = ids[(ids < 0) | (ids >= size)]
        raise DataError(
            f"{what} must lie in 0..{size - 1}, got {int(wrong[0])!r} ({len(wrong)} such entries); "
            f"{way_out}"
        )


def checked_labels(labels: NDArray[Any]) -> Ints:
    """The same labels, if they are one integer per node."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(
            f"labels must be one integer per node, got shape {labels.shape!r} and type "
            f"{labels.dtype!s}; pass labels=None to do without"
        )
    return labels.astype(np.int64)
