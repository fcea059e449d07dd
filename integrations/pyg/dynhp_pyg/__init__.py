"""Link prediction on PyTorch Geometric: graphs, leak-free splits, samplers and the trainer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dynhp.frameworks import Integration, register_integration
from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.edge_list import load_edge_list
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.files import load_graph, load_npz
from dynhp_pyg.graphs.from_pyg import graph_from_data
from dynhp_pyg.graphs.graph import graph_from_edges
from dynhp_pyg.graphs.planetoid import load_planetoid
from dynhp_pyg.splits.audit import audit
from dynhp_pyg.splits.make import make_split

if TYPE_CHECKING:
    from dynhp_pyg.model.trainer import LinkPredictionTrainer
    from dynhp_pyg.runs.run import run
    from dynhp_pyg.runs.spec import LinkRun

__all__ = [
    "DataError",
    "LinkPredictionTrainer",
    "LinkRun",
    "audit",
    "graph_from_data",
    "graph_from_edges",
    "load_dataset",
    "load_edge_list",
    "load_graph",
    "load_npz",
    "load_planetoid",
    "make_split",
    "run",
]

# Graphs and splits need numpy only; what trains needs torch, and is imported when asked for.
_TRAINING = {
    "LinkPredictionTrainer": "dynhp_pyg.model.trainer",
    "LinkRun": "dynhp_pyg.runs.spec",
    "run": "dynhp_pyg.runs.run",
}

register_integration(Integration(package=__name__, frameworks=("torch_geometric",)))


def __getattr__(name: str) -> Any:
    if name not in _TRAINING:
        raise AttributeError(f"module 'dynhp_pyg' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_TRAINING[name]), name)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"dynhp_pyg.{name} needs {missing.name}: pip install 'dynhp[pyg]'"
        ) from missing
