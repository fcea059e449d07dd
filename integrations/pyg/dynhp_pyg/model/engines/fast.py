"""The paper's model on sparse data with its backward pass written out: the default path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.model.batches import Batch
from dynhp_pyg.model.dropout import DropoutNoise
from dynhp_pyg.model.engines.evaluation import EvaluationStage, StageName, evaluation_stage
from dynhp_pyg.model.engines.inputs import SparseInput
from dynhp_pyg.model.engines.kernels import (
    Csr,
    Rates,
    pair_scores,
    relu_dropout,
    relu_dropout_backward,
    sgd_step,
    spmm,
)
from dynhp_pyg.model.engines.objective import Objective
from dynhp_pyg.model.engines.reference import Weights, layers_of
from dynhp_pyg.model.engines.sparse import MessagePassing, Propagation
from dynhp_pyg.splits.make import Split

__all__ = ["FastGcn"]


class ForwardPass(NamedTuple):
    """What the backward pass needs of the forward pass."""

    propagation: Propagation
    first: Csr | Tensor
    hidden: list[Tensor]
    scale: float
    embeddings: Tensor
    pairs: Tensor
    scores: Tensor


class FastGcn:
    """K graph convolutions whose parameters are one flat vector, trained without autograd.

    With A the normalised adjacency, X the input after dropout, s dropout's scale and U_k the
    output of layer k after ReLU and dropout (not scaled), the forward pass is

        Z_1 = A (s X) W_1 + b_1,   U_k = dropout(relu(Z_k)),   Z_k+1 = A U_k (s W_k+1) + b_k+1,

    the scores are z_u . z_v over the last Z, and the backward pass is its transpose.
    """

    def __init__(
        self, split: Split, inputs: SparseInput | None, *, weights: Weights, device: torch.device
    ) -> None:
        self._split, self._inputs, self._device = split, inputs, device
        self._messages = MessagePassing(split, device)
        self._objective = Objective(split, device)
        self._stages: dict[StageName, EvaluationStage] = {}
        self._layers = layers_of(weights)
        flat = np.concatenate([array.ravel() for array in weights.values()])
        self.parameters = torch.tensor(flat, device=device)
        self.momentum = torch.zeros_like(self.parameters)
        self.buffers: list[Tensor] = []
        self._gradient = torch.zeros_like(self.parameters)
        self._weights = _views(self.parameters, weights)
        self._gradients = _views(self._gradient, weights)

    def step(self, batch: Batch, rates: Rates) -> Tensor:
        """Train on one batch and give the scores before the step, positives first."""
        with torch.inference_mode():
            passed = self.forward(batch)
            self.backward(batch, passed)
            sgd_step(self.parameters, self.momentum, self._gradient, rates=rates)
            return passed.scores

    def forward(self, batch: Batch) -> ForwardPass:
        """Embed the nodes and score the batch's pairs."""
        weights, noise = self._weights, batch.dropout
        propagation = self._messages.of(batch.message)
        first, ready = self._first_layer(noise)
        hidden: list[Tensor] = []
        for layer in range(1, self._layers + 1):
            if layer > 1:
                ready = hidden[-1] @ (weights[f"weight_{layer}"] * noise.scale)
            output = spmm(propagation.forward, ready).add_(weights[f"bias_{layer}"])
            if layer < self._layers:
                hidden.append(relu_dropout(output, noise))
        pairs = self._objective.pairs(batch)
        scores = pair_scores(output, pairs)
        return ForwardPass(propagation, first, hidden, noise.scale, output, pairs, scores)

    def backward(self, batch: Batch, passed: ForwardPass) -> None:
        """Fill the gradient of the mean cross-entropy."""
        gradients = self._gradients
        flowing = self._objective.gradient(batch, passed.embeddings, passed.scores)
        for layer in range(self._layers, 0, -1):
            torch.sum(flowing, 0, out=gradients[f"bias_{layer}"])
            flowing = spmm(passed.propagation.backward, flowing)
            if layer == 1:
                self._first_layer_backward(flowing, passed.first)
                return
            below = passed.hidden[layer - 2]
            torch.mm(below.t(), flowing, out=gradients[f"weight_{layer}"]).mul_(passed.scale)
            weight = self._weights[f"weight_{layer}"] * passed.scale
            flowing = relu_dropout_backward(flowing @ weight.t(), below)

    def scores(self, name: StageName) -> Tensor:
        """Score the pairs of an evaluation stage, positives first, without noise."""
        if name not in self._stages:
            self._stages[name] = evaluation_stage(self._split, name, self._device)
        stage, weights = self._stages[name], self._weights
        with torch.inference_mode():
            hidden = self._first_layer(None)[1]
            for layer in range(1, self._layers):
                if layer > 1:
                    hidden = hidden @ weights[f"weight_{layer}"]
                hidden = spmm(stage.adjacency, hidden).add_(weights[f"bias_{layer}"]).relu_()
            # (A H) W rather than A (H W): only the rows that some pair needs.
            last = spmm(stage.needed_rows, hidden)
            if self._layers > 1:
                last = last @ weights[f"weight_{self._layers}"]
            return pair_scores(last.add_(weights[f"bias_{self._layers}"]), stage.pairs)

    def named(self) -> dict[str, Tensor]:
        """Give the parameters by name, as views."""
        return dict(self._weights)

    def _first_layer(self, noise: DropoutNoise | None) -> tuple[Csr | Tensor, Tensor]:
        """Give what the backward pass needs, and the product of the input after dropout.

        The former is this input by columns, or, for an embedding, ones after dropout.
        """
        weight, inputs = self._weights["weight_1"], self._inputs
        if inputs is None:
            embedding = self._weights["embedding"]
            if noise is None:
                return embedding, embedding @ weight
            kept = noise.keep(torch.ones_like(embedding)).mul_(noise.scale)
            return kept, (embedding * kept) @ weight
        if noise is None:
            return inputs.matrix, spmm(inputs.matrix, weight)
        by_row, by_column = noise.once(lambda: inputs.noisy(noise))
        return by_column, spmm(by_row, weight)

    def _first_layer_backward(self, flowing: Tensor, first: Csr | Tensor) -> None:
        gradients = self._gradients
        if isinstance(first, Csr):
            gradients["weight_1"].copy_(spmm(first, flowing))
            return
        read = self._weights["embedding"] * first
        torch.mm(read.t(), flowing, out=gradients["weight_1"])
        torch.mm(flowing, self._weights["weight_1"].t(), out=gradients["embedding"])
        gradients["embedding"].mul_(first)


def _views(flat: Tensor, weights: Weights) -> dict[str, Tensor]:
    parts = torch.split(flat, [array.size for array in weights.values()])
    return {
        name: part.view(array.shape)
        for (name, array), part in zip(weights.items(), parts, strict=True)
    }
