"""The citation graphs that come with the package: no network, no pickle."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files

from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.files import load_npz
from dynhp_pyg.graphs.graph import Graph

DATASETS = ("cora", "citeseer")


def load_dataset(name: str) -> Graph:
    """A bundled graph, "cora" or "citeseer", with its binary features and its classes.

    >>> cora = load_dataset("cora")
    >>> cora.num_nodes, cora.num_edges, cora.num_features
    (2708, 5278, 1433)
    """
    key = str(name).lower()
    one_of("dataset", key, DATASETS, error=DataError)
    with as_file(files("dynhp_pyg") / "data" / f"{key}.npz") as path:
        return replace(load_npz(path), name=key)
