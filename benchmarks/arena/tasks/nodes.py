"""Classes of nodes: products of Amazon Photo, by GraphSAGE."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder

__all__ = ["products_sage"]

NODES, WORDS, TRAIN = 2000, 100, 250


class GraphSage(nn.Module):
    """Two layers: each node by itself, and the mean of its neighbours."""

    def __init__(self, mean: Tensor, classes: int, width: int = 32) -> None:
        super().__init__()
        self.mean = mean
        self.own = nn.Linear(2 * WORDS, width)
        self.out = nn.Linear(2 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """The scores of each class, where ``x`` has the neighbours' mean already."""
        hidden = self.own(x).relu()
        return self.out(torch.cat([hidden, self.mean @ hidden], 1))


@cache
def _photo(data: Path) -> tuple[Tensor, np.ndarray, Tensor]:
    file = np.load(data / "graphs/AmazonPhoto.npz")
    count = int(file["num_nodes"])
    shape = tuple(file["x_shape"])
    words = csr_matrix((file["x_data"], file["x_indices"], file["x_indptr"]), shape=shape)
    rare = np.argsort(-np.asarray(words.sum(0))[0], kind="stable")[WORDS : 2 * WORDS]
    x = torch.from_numpy(words[:, rare].toarray().astype(np.float32))
    return x.reshape(count, -1), file["edge_index"], torch.from_numpy(file["y"].astype(np.int64))


def products_sage(seed: int) -> LearningTask:
    """2,000 products, 250 of them with a class: two layers of GraphSAGE, AdamW."""
    x, edges, y = _photo(data_folder())
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))[:NODES]
    number = np.full(len(y), -1)
    number[order.numpy()] = np.arange(NODES)
    ends = number[edges]
    ends = ends[:, (ends >= 0).all(0)]
    both = np.concatenate([ends, ends[::-1]], 1)
    ones = np.ones(both.shape[1], np.float32)
    matrix = csr_matrix((ones, tuple(both)), shape=(NODES, NODES))
    degree = np.maximum(1, np.asarray(matrix.sum(1))).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that such matrices are new
        mean = torch.from_numpy((matrix.multiply(1 / degree)).toarray()).to_sparse_csr()
    chosen = x[order]
    chosen = torch.cat([chosen, mean @ chosen], 1)
    labels = y[order]
    rows, validation, test = torch.arange(NODES).split([TRAIN, 650, NODES - TRAIN - 650])
    parts = {"validation": validation, "test": test}
    model = GraphSage(mean, int(y.max()) + 1)

    def batch_loss(generator: torch.Generator) -> Tensor:
        batch = rows[torch.randint(TRAIN, (64,), generator=generator)]
        kept = torch.rand((NODES, 1), generator=generator) < 0.5  # half of the nodes say nothing
        return nn.functional.cross_entropy(model(2 * kept * chosen)[batch], labels[batch])

    def measure(part: str) -> Measured:
        loss = float(nn.functional.cross_entropy(model(chosen)[parts[part]], labels[parts[part]]))
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adamw")
