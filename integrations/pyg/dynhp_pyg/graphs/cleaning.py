"""From any list of arcs to sorted undirected pairs, with a word on what was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import MAX_SIDE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

Directed = Literal["symmetrize", "refuse"]


def cleaned(
    ids: NDArray[np.int64], num_nodes: int, directed: Directed | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Unique sorted pairs u < v of a list of arcs, and the notices of what was dropped."""
    notices = []
    tails, heads = ids[:, ids[0] != ids[1]]
    # Distinct ones: adjacency lists name each loop twice.
    if loops := len(np.unique(ids[0, ids[0] == ids[1]])):
        notices.append(f"removed {loops} self loops")
    arcs = np.unique(tails * num_nodes + heads)
    if repeats := len(tails) - len(arcs):
        notices.append(f"removed {repeats} repeated edges")
    tails, heads = np.divmod(arcs, num_nodes)
    pairs = np.unique(np.minimum(tails, heads) * num_nodes + np.maximum(tails, heads))
    one_way = 2 * len(pairs) - len(arcs)  # pairs that were written in one direction only
    if one_way:
        rising = bool((tails < heads).all())
        notices.extend(_one_way_notice(one_way, len(arcs), directed, rising=rising))
    return np.stack(np.divmod(pairs, num_nodes)), tuple(notices)


def _one_way_notice(
    one_way: int, arcs: int, directed: Directed | None, *, rising: bool
) -> list[str]:
    if directed == "symmetrize":
        return [f"made {one_way} one-way arcs undirected"]
    if directed == "refuse" or one_way < arcs:
        raise DataError(
            f"the graph must be undirected, got {one_way} of {arcs} arcs without their reverse; "
            f"pass directed='symmetrize' to drop the direction"
        )
    # u < v throughout is how undirected lists are written; anything else deserves a word.
    return [] if rising else [f"read {one_way} one-way pairs as undirected edges"]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written through."""
    view = array.view()
    view.setflags(write=False)
    return view


def to_numpy(values: ArrayLike | Tensor) -> NDArray[Any]:
    """An array or a tensor on any device as a numpy array."""
    tensor = getattr(values, "detach", None)  # told without importing torch
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


def check_in_range(ids: NDArray[Any], num_nodes: int) -> None:
    """Refuse node ids that are negative or too large."""
    if ids.size and (ids.min() < 0 or ids.max() >= num_nodes):
        wrong = (ids < 0) | (ids >= num_nodes)
        raise DataError(
            f"node ids must lie in 0..{num_nodes - 1}, got {int(ids[wrong][0])!r} "
            f"({int(wrong.sum())} such entries); correct them or pass num_nodes="
        )


def checked_labels(labels: NDArray[Any]) -> NDArray[np.int64]:
    """The same labels, if they are one integer per node."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(
            f"labels must be one integer per node, got shape {labels.shape!r} and type "
            f"{labels.dtype!s}; pass labels=None to do without"
        )
    return labels.astype(np.int64)
