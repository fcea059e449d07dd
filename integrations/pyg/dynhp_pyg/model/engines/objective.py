"""The objective of one epoch: cross-entropy over dot products, and its gradient."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.model.batches import Batch
from dynhp_pyg.model.engines.kernels import spmm
from dynhp_pyg.model.engines.sparse import both_directions
from dynhp_pyg.splits.make import Split

__all__ = ["Objective"]


class Objective:
    """The training edges, sorted once; each epoch selects its objective edges from them."""

    def __init__(self, split: Split, device: torch.device) -> None:
        self._device = device
        self._nodes = split.graph.num_nodes
        self._edges = split.train.shape[1]
        self._structure = both_directions(split.train, self._nodes)

    def pairs(self, batch: Batch) -> Tensor:
        """Give the pairs that are scored, positives first."""
        pairs = np.concatenate([batch.positives, batch.negatives], axis=1)
        return torch.from_numpy(pairs).to(self._device)

    def gradient(self, batch: Batch, embeddings: Tensor, scores: Tensor) -> Tensor:
        """Give the gradient of the mean cross-entropy by the embeddings.

        A pair with score s and label y adds g h_v to row u and g h_u to row v, where
        g = (sigmoid(s) - y) / n: a symmetric sparse matrix times the embeddings.
        """
        edges = batch.positives.shape[1]
        slopes = scores.sigmoid()
        slopes[:edges] -= 1.0
        by_pair = slopes.div_(scores.numel()).cpu().numpy()
        by_edge = np.zeros(self._edges, dtype=np.float32)
        by_edge[batch.objective] = by_pair[:edges]
        positives = self._structure.select(~batch.message)
        values = by_edge.take(self._structure.edges.take(positives.entries))
        flowing = spmm(self._structure.csr(positives, values, self._device), embeddings)
        negatives = both_directions(batch.negatives, self._nodes)
        values = by_pair[edges:].take(negatives.edges)
        matrix = negatives.csr(negatives.all(), values, self._device)
        return flowing.add_(spmm(matrix, embeddings))
