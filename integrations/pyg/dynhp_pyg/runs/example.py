"""A tiny trainer on a random graph, for ``dynhp check`` and for first steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dynhp_pyg.graphs.graph import Graph, graph_from_edges
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.splits.make import Split, make_split

__all__ = ["example", "tiny_graph", "tiny_split"]


def tiny_graph(seed: int = 0) -> Graph:
    """Make a random graph of 60 nodes in three groups, whose features show the groups.

    >>> tiny_graph().num_nodes
    60
    """
    generator = np.random.default_rng(seed)
    group = np.arange(60) % 3
    same = group[:, None] == group[None, :]
    joined = generator.random((60, 60)) < np.where(same, 0.25, 0.02)
    features = generator.random((60, 12)) < np.where(np.arange(12) % 3 == group[:, None], 0.6, 0.1)
    return graph_from_edges(
        np.stack(np.nonzero(np.triu(joined, 1))), 60, features=features, name="tiny"
    )


def tiny_split(seed: int = 0) -> Split:
    """Split the tiny graph.

    >>> tiny_split().protocol
    'undirected'
    """
    return make_split(tiny_graph(), (0.6, 0.2, 0.2), protocol="undirected", seed=seed)


def example() -> tuple[Callable[[], LinkPredictionTrainer], dict[str, list[float]]]:
    """Give a factory of fresh trainers and the space to adapt them over.

    >>> make, space = example()
    >>> trainer = make()
    >>> trainer.train_k(1, {"edge_message_ratio": space["edge_message_ratio"][0]})
    >>> trainer.hyperparameters()["edge_message_ratio"]
    0.2
    """
    make = partial(LinkPredictionTrainer, tiny_split(), width=8, epochs=40)
    return make, {"edge_message_ratio": [0.2, 0.5, 0.8]}
