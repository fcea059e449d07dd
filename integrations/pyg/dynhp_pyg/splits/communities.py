"""Communities of a graph by greedy modularity (Clauset, Newman and Moore), or by Leiden."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.graphs.errors import DataError

CommunityMethod = Literal["auto", "igraph", "networkx", "leiden"]
_INSTALL = {"igraph": "'dynhp[igraph]'", "networkx": "'dynhp[pyg]'"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Communities:
    """A community 0..C-1 for each node, the method that detected them, and their modularity.

    >>> Communities(membership=np.array([0, 1, 1]), method="networkx", modularity=0.0).count
    2
    """

    membership: Ints
    method: str
    modularity: float

    @property
    def count(self) -> int:
        """The number of communities."""
        return int(self.membership.max()) + 1

    def share_within(self, edges: Ints) -> float:
        """The share of edges whose two nodes are in one community."""
        return _share_within(self.membership[edges])


def detect_communities(
    num_nodes: int, edges: Ints, *, method: CommunityMethod = "auto"
) -> Communities:
    """Communities of an undirected graph.

    Args:
        num_nodes: the number of nodes; a node without edges is a community of its own.
        edges: pairs of nodes, shape (2, E).
        method: "networkx" is the reference; "igraph" is the same algorithm, over a hundred times
            faster, but breaks ties in another way, so the result names the method. "auto" is
            igraph where it is installed. "leiden" is another, better algorithm, which the paper
            does not use.

    >>> two_triangles = np.array([[0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]])
    >>> detect_communities(6, two_triangles).membership.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    one_of("community method", method, get_args(CommunityMethod), error=DataError)
    if not edges.shape[1]:
        raise DataError("communities need at least one edge, got 0; take negatives='uniform'")
    name = _installed() if method == "auto" else method
    membership = _numbered(_DETECTORS[name](num_nodes, edges))
    return Communities(membership=membership, method=name, modularity=modularity(membership, edges))


def modularity(membership: Ints, edges: Ints) -> float:
    """Newman's modularity of a partition, at resolution 1.

    >>> modularity(np.array([0, 0, 1, 1]), np.array([[0, 2], [1, 3]]))
    0.5
    """
    ends = membership[edges]
    shares = np.bincount(ends.ravel()) / ends.size
    return _share_within(ends) - float(np.sum(shares**2))


def _share_within(ends: Ints) -> float:
    return float(np.mean(ends[0] == ends[1]))


def _installed() -> str:
    try:
        import_module("igraph")
    except ImportError:
        return "networkx"
    return "igraph"


def _require(package: str, method: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError:
        raise DataError(
            f"communities={method!r} needs the package {package}, which is not installed; "
            f"run `pip install {_INSTALL[package]}` or take communities='auto'"
        ) from None


def _igraph(num_nodes: int, edges: Ints, method: str) -> Any:
    # igraph is under the GPL: an option for users who install it, never a requirement.
    return _require("igraph", method).Graph(n=num_nodes, edges=edges.T.tolist())


def _by_igraph(num_nodes: int, edges: Ints) -> Ints:
    graph = _igraph(num_nodes, edges, "igraph")
    return np.array(graph.community_fastgreedy().as_clustering().membership)


def _by_leiden(num_nodes: int, edges: Ints) -> Ints:
    graph = _igraph(num_nodes, edges, "leiden")
    igraph = import_module("igraph")
    # igraph draws from Python's global generator: give it a generator of its own meanwhile.
    igraph.set_random_number_generator(random.Random(0))
    try:
        clustering = graph.community_leiden(objective_function="modularity", n_iterations=-1)
    finally:
        igraph.set_random_number_generator(random)
    return np.array(clustering.membership)


def _by_networkx(num_nodes: int, edges: Ints) -> Ints:
    networkx = _require("networkx", "networkx")
    graph = networkx.empty_graph(num_nodes)
    graph.add_edges_from(edges.T.tolist())
    membership = np.empty(num_nodes, np.int64)
    for number, members in enumerate(networkx.community.greedy_modularity_communities(graph)):
        membership[list(members)] = number
    return membership


def _numbered(membership: Ints) -> Ints:
    """Communities numbered by their first node, so that equal partitions are equal arrays."""
    _, first, inverse = np.unique(membership, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


_DETECTORS: dict[str, Callable[[int, Ints], Ints]] = {
    "igraph": _by_igraph,
    "leiden": _by_leiden,
    "networkx": _by_networkx,
}
