"""From PyTorch Geometric's `Data` to a `Graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import to_numpy
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.graph import Directed, Graph, graph_from_edges, log

if TYPE_CHECKING:
    from torch_geometric.data import Data


def graph_from_data(data: Data, *, name: str = "graph", directed: Directed | None = None) -> Graph:
    """A clean graph from any homogeneous PyG `Data`, with dense, sparse or no features.

    In PyG an undirected graph holds both arcs of each edge; any other graph is directed, and
    needs `directed="symmetrize"`.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> data = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
    >>> graph_from_data(data).num_edges
    2
    """
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None or not hasattr(data, "num_nodes"):
        raise DataError(
            f"a graph needs edge_index, got {type(data).__name__!r} without it; "
            f"heterogeneous data needs to_homogeneous() first"
        )
    labels = _usable_labels(data)
    if labels is None and getattr(data, "y", None) is not None:
        log.info("%s: ignored y: it is not one integer per node", name)
    return graph_from_edges(
        edge_index,
        data.num_nodes,
        features=getattr(data, "x", None),
        labels=labels,
        name=name,
        directed="refuse" if directed is None else directed,
    )


def _usable_labels(data: Data) -> NDArray[Any] | None:
    """Labels play no part in link prediction, so odd ones are left out, not refused."""
    labels = getattr(data, "y", None)
    if labels is None or not hasattr(labels, "detach"):
        return None
    array = to_numpy(labels)
    return array if array.shape == (data.num_nodes,) and array.dtype.kind in "iu" else None
