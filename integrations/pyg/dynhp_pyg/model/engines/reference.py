"""The paper's model: K graph convolutions, dropout before each, ReLU between, plain PyG."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dynhp_pyg.model.batches import Batch
from dynhp_pyg.model.dropout import DropoutNoise
from dynhp_pyg.model.engines.inputs import SparseInput

__all__ = ["GcnShape", "ReferenceGcn", "initial_weights", "layers_of"]

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GcnShape:
    """The sizes of the model; ``channels`` is None where node embeddings are learnt.

    >>> GcnShape(num_nodes=9, channels=5, width=4, layers=2).parts()
    {'weight_1': (5, 4), 'bias_1': (4,), 'weight_2': (4, 4), 'bias_2': (4,)}
    """

    num_nodes: int
    channels: int | None
    width: int
    layers: int

    def parts(self) -> dict[str, tuple[int, ...]]:
        """Name the parameters with their shapes, in the order in which they are stored."""
        learnt = {"embedding": (self.num_nodes, self.width)} if self.channels is None else {}
        parts: dict[str, tuple[int, ...]] = dict(learnt)
        for layer in range(1, self.layers + 1):
            rows = self.width if layer > 1 or self.channels is None else self.channels
            parts |= {f"weight_{layer}": (rows, self.width), f"bias_{layer}": (self.width,)}
        return parts


def initial_weights(
    shape: GcnShape, generator: np.random.Generator
) -> dict[str, NDArray[np.float32]]:
    """Draw weights as GCNConv does (Glorot, biases 0); an embedding's rows have a length near 1.

    >>> shape = GcnShape(num_nodes=9, channels=5, width=4, layers=2)
    >>> initial_weights(shape, np.random.default_rng(0))["bias_1"].tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    weights = {}
    for name, size in shape.parts().items():
        if name == "embedding":
            drawn = generator.normal(0.0, shape.width**-0.5, size)
        elif name.startswith("weight"):
            limit = np.sqrt(6.0 / sum(size))
            drawn = generator.uniform(-limit, limit, size)
        else:
            drawn = np.zeros(size)
        weights[name] = drawn.astype(np.float32)
    return weights


def layers_of(weights: Weights) -> int:
    """Count the layers of a model with these weights."""
    return sum(name.startswith("weight_") for name in weights)


class ReferenceGcn(nn.Module):
    """The model in plain PyG with the batch's noise: the fast path must equal it."""

    def __init__(self, inputs: SparseInput | None, weights: Weights) -> None:
        super().__init__()
        self.inputs = inputs
        self.embedding = _parameter(weights["embedding"]) if inputs is None else None
        self.convolutions = nn.ModuleList()
        graph_convolution = _gcn_conv()
        for layer in range(1, layers_of(weights) + 1):
            weight = weights[f"weight_{layer}"]
            convolution = graph_convolution(*weight.shape)
            convolution.lin.weight.data = torch.tensor(weight.T)
            convolution.bias.data = torch.tensor(weights[f"bias_{layer}"])
            self.convolutions.append(convolution)

    def forward(self, edge_index: Tensor, batch: Batch | None) -> Tensor:
        """Embed all nodes; without a batch, so without noise, for evaluation."""
        dropout = None if batch is None else batch.dropout
        hidden = self._first(dropout)
        for layer, convolution in enumerate(self.convolutions):
            if layer > 0:
                hidden = _dropped(hidden.relu(), dropout)
            hidden = convolution(hidden, edge_index)
        return hidden

    def _first(self, dropout: DropoutNoise | None) -> Tensor:
        if self.inputs is None:
            assert self.embedding is not None
            return _dropped(self.embedding, dropout)
        # Noise for the stored values only, as in the fast path: a zero stays zero anyway.
        return self.inputs.dense(_dropped(self.inputs.matrix.values, dropout))


def _dropped(values: Tensor, dropout: DropoutNoise | None) -> Tensor:
    if dropout is None:
        return values
    mask = dropout.keep(torch.ones_like(values))
    return values * (mask * dropout.scale)


def _parameter(array: NDArray[np.float32]) -> nn.Parameter:
    return nn.Parameter(torch.tensor(array))


def _gcn_conv() -> Callable[[int, int], Any]:
    # Imported here, because it takes seconds, the fast path does not need it, and users can do
    # nothing about its warnings of deprecated parts of torch.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric.nn import GCNConv
    made: Callable[[int, int], Any] = GCNConv
    return made
