"""The fast path against plain PyG, number by number, and its memory."""

from __future__ import annotations

import tracemalloc
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.features import features_from_coo
from dynhp_pyg.graphs.graph import graph_from_edges
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.splits.make import Split, make_split

Weights = dict[str, np.ndarray]


def _named_as_fast(weights: Weights) -> Weights:
    """The reference's weights under the fast path's names and in its layout."""
    named = {"embedding": weights["embedding"]} if "embedding" in weights else {}
    for layer in range(sum("bias" in name for name in weights)):
        named[f"weight_{layer + 1}"] = weights[f"convolutions.{layer}.lin.weight"].T
        named[f"bias_{layer + 1}"] = weights[f"convolutions.{layer}.bias"]
    return named


def _assert_same(split: Split, values: dict[str, float], arguments: dict[str, Any]) -> None:
    fast, reference = (
        LinkPredictionTrainer(split, path=path, **arguments) for path in ("fast", "reference")
    )
    before = fast.weights()
    for trainer in (fast, reference):
        trainer.train_k(20, values)
    expected = _named_as_fast(reference.weights())
    assert expected.keys() == fast.weights().keys()
    for name, weight in fast.weights().items():
        moved = np.linalg.norm(expected[name] - before[name])
        assert moved > 0, f"{name} did not learn"
        apart = np.linalg.norm(weight - expected[name])
        # Weights move far less than they are large, so the distance is also compared with how
        # far they moved. (Not to 1e-4: a sum that rounds to the other side of ReLU's corner
        # makes a larger difference.)
        assert apart < 1e-2 * moved, name
        # A ReLU that rounding switched shows in one bias of three layers over directed arcs.
        exact = split.protocol == "undirected" or arguments.get("layers", 2) == 2
        assert apart < (1e-4 if exact else 1e-3) * np.linalg.norm(expected[name]), name
    both = [
        np.concatenate([weights[name].ravel() for name in sorted(weights)])
        for weights in (fast.weights(), expected)
    ]
    assert np.linalg.norm(both[0] - both[1]) < 1e-4 * np.linalg.norm(both[1])
    # Rounding swaps pairs that are nearly equal: an AUC is not as smooth as a loss.
    for stage in ("metrics", "test"):
        for name, value in getattr(reference, stage)().items():
            if name != "epoch":
                tolerance = 1e-4 if "loss" in name else 5e-3
                assert getattr(fast, stage)()[name] == pytest.approx(value, abs=tolerance), name


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("protocol", ["undirected", "paper"])
def test_same_weights_as_pyg_on_cora(protocol: Literal["undirected", "paper"], layers: int) -> None:
    split = make_split(load_dataset("cora"), protocol=protocol, seed=1)
    _assert_same(split, {}, {"layers": layers, "seed": 3})


@pytest.mark.parametrize("protocol", ["undirected", "paper"])
@pytest.mark.parametrize("negatives", ["uniform", "community"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"layers": 1},
        {"layers": 4, "width": 5},
        {"inputs": "embedding"},
        {"inputs": "degrees"},
        {"resample_every": 3},
        {"schedule": "constant", "momentum": 0.0},
    ],
    ids=str,
)
def test_same_weights_as_pyg_on_a_small_graph(
    protocol: Literal["undirected", "paper"],
    negatives: Literal["uniform", "community"],
    arguments: dict[str, Any],
) -> None:
    split = make_split(tiny_graph(), (0.6, 0.2, 0.2), protocol=protocol, negatives=negatives)
    _assert_same(split, {}, {"width": 8, **arguments})


@pytest.mark.parametrize(
    "values",
    [
        {"edge_message_ratio": 0.9},
        {"dropout": 0.0},
        {"dropout": 0.6, "edge_message_ratio": 0.1},
        {"weight_decay": 0.1, "learning_rate_scale": 0.5, "negatives_per_positive": 2.5},
    ],
    ids=str,
)
def test_same_weights_as_pyg_for_every_hyperparameter(values: dict[str, float]) -> None:
    _assert_same(make_split(tiny_graph(), (0.6, 0.2, 0.2)), values, {"width": 8})


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches how many elements the largest tensor has that torch makes."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        result = func(*args, **(kwargs or {}))
        for part in result if isinstance(result, tuple | list) else [result]:
            if isinstance(part, torch.Tensor):
                self.elements = max(self.elements, part.numel())
        return result


@pytest.mark.parametrize("with_features", [True, False])
def test_nothing_dense_is_made(with_features: bool) -> None:
    nodes, channels, width = 20_000, 30_000, 4
    generator = np.random.default_rng(0)
    features = features_from_coo(
        np.arange(nodes),
        generator.integers(0, channels, nodes),
        np.ones(nodes),
        shape=(nodes, channels),
    )
    graph = graph_from_edges(
        generator.integers(0, nodes, (2, 40_000)),
        nodes,
        features=features if with_features else None,
        directed="symmetrize",
    )
    split = make_split(graph)
    tracemalloc.start()
    with LargestTensor() as watch:  # type: ignore[no-untyped-call]
        trainer = LinkPredictionTrainer(split, width=width)
        trainer.train_k(2, {})
        trainer.test()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The largest thing is the parameters or the gathered pairs, nowhere near N x N or N x F.
    assert nodes < watch.elements < 20 * nodes * width
    assert peak < 40 * 8 * nodes * width
