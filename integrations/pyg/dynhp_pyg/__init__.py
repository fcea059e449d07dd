"""Link prediction on PyTorch Geometric: graphs, leak-free splits, samplers and the trainer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dynhp_pyg.audit import Audit, audit
from dynhp_pyg.communities import Communities, detect_communities
from dynhp_pyg.convert import graph_from_data
from dynhp_pyg.datasets import load_dataset
from dynhp_pyg.edgelist import load_edge_list
from dynhp_pyg.errors import DataError
from dynhp_pyg.features import SparseFeatures
from dynhp_pyg.graph import Graph, graph_from_edges
from dynhp_pyg.loading import load_graph, load_npz
from dynhp_pyg.negatives import (
    CommunityNegatives,
    NegativeSampler,
    UniformNegatives,
    community_negatives,
    uniform_negatives,
)
from dynhp_pyg.planetoid import load_planetoid
from dynhp_pyg.splits import Split, make_split, parse_ratios, with_degree_features

if TYPE_CHECKING:
    from dynhp_pyg.run_settings import LinkRun
    from dynhp_pyg.runs import LinkResult, run
    from dynhp_pyg.trainer import LinkPredictionTrainer

__all__ = [
    "Audit",
    "Communities",
    "CommunityNegatives",
    "DataError",
    "Graph",
    "LinkPredictionTrainer",
    "LinkResult",
    "LinkRun",
    "NegativeSampler",
    "SparseFeatures",
    "Split",
    "UniformNegatives",
    "audit",
    "community_negatives",
    "detect_communities",
    "graph_from_data",
    "graph_from_edges",
    "load_dataset",
    "load_edge_list",
    "load_graph",
    "load_npz",
    "load_planetoid",
    "make_split",
    "parse_ratios",
    "run",
    "uniform_negatives",
    "with_degree_features",
]

# Graphs and splits need numpy only; what trains needs torch, and is imported when asked for.
_TRAINING = {
    "LinkPredictionTrainer": "dynhp_pyg.trainer",
    "LinkResult": "dynhp_pyg.runs",
    "LinkRun": "dynhp_pyg.run_settings",
    "run": "dynhp_pyg.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _TRAINING:
        raise AttributeError(f"module 'dynhp_pyg' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_TRAINING[name]), name)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"dynhp_pyg.{name} needs {missing.name}: pip install 'dynhp[pyg]'"
        ) from missing
