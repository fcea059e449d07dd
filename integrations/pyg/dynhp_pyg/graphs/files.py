"""Graphs from files: `.npz` archives and edge lists; whatever is wrong with one is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynhp_pyg.graphs.archive import MAX_BYTES, read_arrays
from dynhp_pyg.graphs.edge_list import load_edge_list
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import SparseFeatures, features_from_csr
from dynhp_pyg.graphs.graph import Directed, Graph, graph_from_edges

_FEATURES = ("x_indices", "x_indptr", "x_shape")
_NAMES = ("edge_index", "num_nodes", "y", "x_data", *_FEATURES)
_TEXT = (".txt", ".csv", ".tsv", ".edges", ".edgelist", ".el")
# A row of a model of width 64: what a node, or a feature, costs as soon as training starts.
_BYTES_PER_ROW = 256


def load_graph(path: str | Path, *, directed: Directed | None = None) -> Graph:
    """A graph from an `.npz` file or an edge list; the file's suffix says which of them it is.

    Args:
        path: the file; see `load_npz` and `load_edge_list` for what it must hold.
        directed: what to do with a directed graph; see `graph_from_edges`.

    >>> load_graph("graph.pt")
    Traceback (most recent call last):
    dynhp_pyg.graphs.errors.DataError: a graph file must end in one of .npz, .txt, .csv, .tsv, \
.edges, .edgelist, .el, got 'graph.pt'; for PyG data use graph_from_data
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        return load_npz(path, directed=directed)
    if suffix in _TEXT:
        return load_edge_list(path, directed=directed)
    raise DataError(
        f"a graph file must end in one of {', '.join(('.npz', *_TEXT))}, got {Path(path).name!r}; "
        f"for PyG data use graph_from_data"
    )


def load_npz(
    path: str | Path, *, directed: Directed | None = None, max_bytes: int = MAX_BYTES
) -> Graph:
    """A graph from the arrays `edge_index` (2, E), and where present `num_nodes`, `y`, features.

    Features are a CSR matrix: `x_indices`, `x_indptr`, `x_shape` and `x_data` (all ones where it
    is left out). `max_bytes` limits the size of the unpacked arrays, and 256 bytes for each node
    and each feature they claim, so that a small file cannot ask for all the memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.npz")
    ...     np.savez(path, edge_index=[[0, 1], [1, 2]], num_nodes=4)
    ...     load_npz(path).num_nodes
    4
    """
    path = Path(path)
    arrays = read_arrays(path, _NAMES, max_bytes=max_bytes)
    if "edge_index" not in arrays:
        raise DataError(f"{path.name} must hold the array 'edge_index', got {sorted(arrays)!r}")
    try:
        num_nodes = _count(arrays["num_nodes"], "num_nodes") if "num_nodes" in arrays else None
        graph = graph_from_edges(
            arrays["edge_index"],
            num_nodes,
            features=_features(arrays, max_bytes),
            labels=arrays.get("y"),
            name=path.stem,
            directed=directed,
        )
        _check_affordable(graph.num_nodes, "nodes", max_bytes)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    return graph


def _features(arrays: dict[str, NDArray[Any]], max_bytes: int) -> SparseFeatures | None:
    present = [name for name in (*_FEATURES, "x_data") if name in arrays]
    if not present:
        return None
    if lacking := [name for name in _FEATURES if name not in arrays]:
        raise DataError(f"features need {_FEATURES!r}, got only {present!r}; add {lacking!r}")
    indices, indptr, sides = (arrays[name] for name in _FEATURES)
    if sides.shape != (2,):
        raise DataError(f"x_shape must be (nodes, features), got shape {sides.shape!r}")
    shape = (_count(sides[0], "x_shape[0]"), _count(sides[1], "x_shape[1]"))
    _check_affordable(sum(shape), "nodes and features", max_bytes)
    data = arrays.get("x_data", np.ones(len(np.atleast_1d(indices)), np.float32))
    if data.ndim != 1:
        raise DataError(f"x_data must be a vector, got shape {data.shape!r}")
    return features_from_csr(indptr, indices, data, shape=shape)


def _count(value: ArrayLike, name: str) -> int:
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "iu" or array < 0:
        raise DataError(f"{name} must be one integer of at least 0, got {array.tolist()!r}")
    return int(array)


def _check_affordable(rows: int, what: str, max_bytes: int) -> None:
    if rows * _BYTES_PER_ROW > max_bytes:
        raise DataError(
            f"at most {max_bytes // _BYTES_PER_ROW} {what} fit max_bytes={max_bytes}, "
            f"got {rows!r}; pass a larger max_bytes="
        )
