"""The one form every graph takes before it is split: undirected, clean, sorted, checked."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import (
    Ints,
    check_in_range,
    checked_count,
    checked_ids,
    checked_labels,
    read_only,
    to_numpy,
)
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import SparseFeatures, features_from

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

Directed = Literal["symmetrize", "refuse"]

log = logging.getLogger("dynhp.pyg")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """An undirected graph: `edges` of shape (2, E) with u < v, unique, sorted; read-only arrays.

    Attributes:
        name: what results and messages call the graph.
        num_nodes: the number of nodes.
        edges: each edge once, as described above.
        features: of the nodes, None where there are none.
        labels: an integer for each node, or None; training does not read them.
        notices: what was removed or changed when the graph was read.

    >>> Graph(name="path", num_nodes=3, edges=np.array([[0, 1], [1, 2]])).num_edges
    2
    """

    name: str
    num_nodes: int
    edges: Ints
    features: SparseFeatures | None = None
    labels: Ints | None = None
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_canonical(self.edges, self.num_nodes)
        if self.features is not None and self.features.shape[0] != self.num_nodes:
            raise DataError(
                f"features need one row per node, got {self.features.shape[0]!r} rows for "
                f"{self.num_nodes!r} nodes; pass num_nodes= or correct the features"
            )
        if self.labels is not None and self.labels.shape != (self.num_nodes,):
            raise DataError(
                f"labels need one integer per node, got shape {self.labels.shape!r} for "
                f"{self.num_nodes!r} nodes; pass labels=None to do without"
            )
        # Views, so that the caller's own arrays stay writable.
        object.__setattr__(self, "edges", read_only(self.edges))
        if self.labels is not None:
            object.__setattr__(self, "labels", read_only(self.labels))

    @property
    def num_edges(self) -> int:
        """The number of undirected edges."""
        return int(self.edges.shape[1])

    @property
    def num_features(self) -> int:
        """The number of features of a node, 0 where there are none."""
        return 0 if self.features is None else self.features.shape[1]

    def arcs(self) -> Ints:
        """Both directions of every edge, shape (2, 2E): first all u -> v, then all v -> u."""
        return np.concatenate([self.edges, self.edges[::-1]], axis=1)

    def degrees(self) -> Ints:
        """The number of edges at each node."""
        return np.bincount(self.edges.ravel(), minlength=self.num_nodes)


def graph_from_edges(
    edge_index: ArrayLike | Tensor,
    num_nodes: int | None = None,
    *,
    features: ArrayLike | Tensor | SparseFeatures | None = None,
    labels: ArrayLike | Tensor | None = None,
    name: str = "graph",
    directed: Directed | None = None,
) -> Graph:
    """A clean graph from an edge list of shape (2, E); `notices` lists what was removed.

    How the list is read, after self loops and repeated arcs are removed:

    - every arc has its reverse: undirected, each pair is one edge;
    - no arc has its reverse: undirected too, each pair was written once;
    - some have it and some do not: the graph is *directed*, which is refused, with counts.

    Args:
        edge_index: the two ends of each arc, as an array or a tensor of integers.
        num_nodes: the number of nodes; by default that of the features, of the labels, or the
            largest id + 1.
        features: a dense or sparse matrix with a row for each node.
        labels: an integer for each node; training does not read them.
        name: what results and messages call the graph.
        directed: `"symmetrize"` drops the direction of a directed graph; `"refuse"` accepts only
            lists in which every arc has its reverse.

    >>> graph_from_edges([[0, 1, 2, 2], [1, 0, 2, 1]], directed="symmetrize").notices
    ('removed 1 self loops', 'made 1 one-way arcs undirected')
    """
    if directed not in (None, "symmetrize", "refuse"):
        raise DataError(
            f"directed must be None, 'symmetrize' or 'refuse', got {directed!r}; choose one"
        )
    matrix = None if features is None else features_from(features)
    classes = None if labels is None else checked_labels(to_numpy(labels))
    ids = checked_ids(to_numpy(edge_index))
    if num_nodes is None:
        num_nodes = _number_of_nodes(ids, matrix, classes)
    _check_ids(ids, num_nodes)
    edges, notices = _cleaned(ids.astype(np.int64), int(num_nodes), directed)
    for notice in notices:
        log.info("%s: %s", name, notice)
    return Graph(
        name=name,
        num_nodes=int(num_nodes),
        edges=edges,
        features=matrix,
        labels=classes,
        notices=notices,
    )


def _number_of_nodes(
    ids: NDArray[Any], features: SparseFeatures | None, labels: Ints | None
) -> int:
    if features is not None:
        return features.shape[0]
    if labels is not None:
        return len(labels)
    return int(ids.max()) + 1 if ids.size else 0


def _check_ids(ids: NDArray[Any], num_nodes: int) -> None:
    checked_count(num_nodes)
    check_in_range("node ids", checked_ids(ids), num_nodes, "correct them or pass num_nodes=")


def _cleaned(ids: Ints, num_nodes: int, directed: Directed | None) -> tuple[Ints, tuple[str, ...]]:
    """Unique sorted pairs u < v of a list of arcs, and notices of what was dropped."""
    notices = []
    tails, heads = ids[:, ids[0] != ids[1]]
    # Distinct loops: adjacency lists name each loop twice.
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
    # Undirected lists are usually written with u < v; any other order is worth a notice.
    return [] if rising else [f"read {one_way} one-way pairs as undirected edges"]


def _check_canonical(edges: Ints, num_nodes: int) -> None:
    _check_ids(edges, num_nodes)
    tails, heads = edges
    if (tails >= heads).any() or (np.diff(tails * num_nodes + heads) <= 0).any():
        raise DataError(
            f"edges must be pairs u < v, unique and sorted, got {edges.shape[1]!r} pairs that are "
            f"not; use graph_from_edges"
        )
