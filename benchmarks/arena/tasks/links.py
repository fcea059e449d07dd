"""Link prediction: a small graph convolution on the leak-free splits of ``dynhp_pyg``."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from scipy.stats import rankdata
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder
from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.files import load_npz
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.splits.make import make_split

__all__ = ["links_citeseer", "links_cora", "links_usair"]

WIDTH, REDUCED = 16, 48


class _Spread(torch.autograd.Function):
    """Sums over the neighbours of each node and itself; gradients spread alike, by symmetry.

    By a sparse matrix of scipy: torch's own sums over indices took most of the time of a run.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: csr_matrix) -> Tensor:
        """The sums."""
        ctx.matrix = matrix
        return x + torch.from_numpy(matrix @ x.numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The sums of the gradients."""
        [gradient] = gradients
        return gradient + torch.from_numpy(ctx.matrix @ gradient.numpy()), None


class _Products(torch.autograd.Function):
    """The product of both ends of each pair, with gradients by a sparse matrix, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pairs: Tensor) -> Tensor:
        """The products."""
        ctx.save_for_backward(x, pairs)
        return (x.index_select(0, pairs[0]) * x.index_select(0, pairs[1])).sum(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Each end gets the other, times the gradient of the pair."""
        x, pairs = ctx.saved_tensors
        [gradient] = gradients
        return torch.from_numpy(_matrix(pairs, len(x), gradient.numpy()) @ x.numpy()), None


def _matrix(pairs: Tensor, nodes: int, weights: Any = None) -> csr_matrix:
    """Both directions of the pairs, by the node that they lead to."""
    source, target = torch.cat([pairs, pairs.flip(0)], 1).numpy().astype(np.uint16)
    order = np.argsort(target, kind="stable")  # of small numbers, which are sorted in one pass
    ends = np.zeros(nodes + 1, np.int32)
    np.cumsum(np.bincount(target, minlength=nodes), out=ends[1:])
    given = np.ones(len(order), np.float32) if weights is None else np.tile(weights, 2)[order]
    return csr_matrix((given, source[order].astype(np.int32), ends), shape=(nodes, nodes))


class LinkModel(nn.Module):
    """Two graph convolutions; a pair of nodes scores the product of what they come to."""

    def __init__(self, inputs: Tensor | None, nodes: int) -> None:
        super().__init__()
        self.inputs = inputs if inputs is not None else nn.Parameter(torch.randn(nodes, REDUCED))
        self.first = nn.Linear(REDUCED, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)

    def forward(self, edges: Tensor, pairs: Tensor) -> Tensor:
        """The score of each pair, where messages pass along these edges in both directions."""
        matrix = _matrix(edges, len(self.inputs))
        scale = torch.from_numpy(np.diff(matrix.indptr) + 1).float().rsqrt()[:, None]

        def spread(x: Tensor) -> Tensor:
            return scale * _Spread.apply(scale * x, matrix)  # type: ignore[no-any-return,no-untyped-call]

        hidden = spread(self.second(spread(self.first(self.inputs)).relu()))
        return _Products.apply(hidden, pairs)  # type: ignore[no-any-return,no-untyped-call]


def links_cora(seed: int) -> LearningTask:
    """Cora: 48 directions of its features."""
    return _links("cora", seed, "adam")


def links_citeseer(seed: int) -> LearningTask:
    """CiteSeer: 48 directions of its features."""
    return _links("citeseer", seed, "adam")


def links_usair(seed: int) -> LearningTask:
    """Airports of the United States: no features, so the inputs are learnt."""
    return _links("usair", seed, "sgd")


@cache
def _graph(name: str) -> tuple[Graph, Tensor | None]:
    graph = load_npz(data_folder() / "graphs/USAir.npz") if name == "usair" else load_dataset(name)
    given = graph.features
    if given is None:
        return graph, None
    # A start that does not change: the same directions in every process.
    matrix = csr_matrix((given.data, given.indices, given.indptr), shape=given.shape, dtype=float)
    left, size, _ = svds(matrix, REDUCED, v0=np.ones(min(matrix.shape)))
    reduced = left * size
    return graph, torch.from_numpy((reduced / reduced.std()).astype(np.float32))


def _links(name: str, seed: int, optimizer: Literal["sgd", "adam"]) -> LearningTask:
    graph, inputs = _graph(name)
    split = make_split(graph, seed=seed)
    train = torch.from_numpy(np.array(split.train))
    model = LinkModel(inputs, graph.num_nodes)
    pairs, labels = {}, {}
    for part in ("validation", "test"):
        held_out = np.concatenate([getattr(split, part), getattr(split, f"{part}_negatives")], 1)
        pairs[part] = torch.from_numpy(held_out)
        labels[part] = (torch.arange(held_out.shape[1]) < getattr(split, part).shape[1]).float()

    def batch_loss(generator: torch.Generator) -> Tensor:
        # Half of the edges pass messages; the others, and as many random pairs, are told apart.
        order = torch.randperm(train.shape[1], generator=generator)
        messages, positives = train[:, order].tensor_split(2, 1)
        negatives = torch.randint(graph.num_nodes, positives.shape, generator=generator)
        chosen = torch.cat([positives, negatives], 1)
        wanted = (torch.arange(chosen.shape[1]) < positives.shape[1]).float()
        return nn.functional.binary_cross_entropy_with_logits(model(messages, chosen), wanted)

    def measure(part: str) -> Measured:
        scores = model(train, pairs[part])
        loss = nn.functional.binary_cross_entropy_with_logits(scores, labels[part])
        return Measured(100 * _auc(scores, labels[part]), float(loss))

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer=optimizer)


def _auc(scores: Tensor, labels: Tensor) -> float:
    if not bool(torch.isfinite(scores).all()):
        return 0.0
    ranks = rankdata(scores.numpy())
    positive = labels.numpy() > 0
    count, others = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))
