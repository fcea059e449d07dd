"""The few tensor operations of the fast path, each as fast as the CPU allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.model.dropout import DropoutNoise

__all__ = ["Csr", "Rates", "pair_scores", "relu_dropout", "relu_dropout_backward", "sgd_step"]
__all__ += ["spmm", "stable_order"]

_PAIRS_AT_ONCE = 1 << 12


class Csr(NamedTuple):
    """A sparse matrix by rows: row i holds columns ``indices[offsets[i]:offsets[i + 1]]``."""

    offsets: Tensor
    indices: Tensor
    values: Tensor


def spmm(matrix: Csr, dense: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one.

    >>> swap = Csr(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([1.0, 2.0]))
    >>> spmm(swap, torch.tensor([[1.0], [3.0]])).tolist()
    [[3.0], [2.0]]
    """
    # A weighted sum of rows is an embedding bag, whose kernel (FBGEMM on CPU) took a third of
    # the time of the CSR product (MKL) at Cora's size; each row is summed by one thread, so the
    # result does not depend on the number of threads.
    bags = torch.embedding_bag(
        dense, matrix.indices, matrix.offsets, False, 0, False, matrix.values, True
    )
    return bags[0]


def pair_scores(embeddings: Tensor, pairs: Tensor) -> Tensor:
    """Give the dot product of the two rows of each pair (equation 1 of the paper's appendix).

    >>> pair_scores(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0], [1]])).tolist()
    [11.0]
    """
    # In blocks: gathered rows stay in the cache, and memory does not grow with the pairs.
    sides = (torch.split(side, _PAIRS_AT_ONCE) for side in pairs)
    blocks = [_dots(embeddings, left, right) for left, right in zip(*sides, strict=True)]
    return blocks[0] if len(blocks) == 1 else torch.cat(blocks)


def _dots(embeddings: Tensor, left: Tensor, right: Tensor) -> Tensor:
    product, factor = embeddings.index_select(0, left), embeddings.index_select(0, right)
    # Autograd needs both factors later; without it one array fewer is written.
    product = product * factor if product.requires_grad else product.mul_(factor)
    return product.sum(1)


def relu_dropout(values: Tensor, noise: DropoutNoise) -> Tensor:
    """Apply ReLU in place, then dropout without its scale."""
    return noise.keep(values.relu_())


def relu_dropout_backward(gradient: Tensor, output: Tensor) -> Tensor:
    """Give the gradient before ``relu_dropout``: it passes where the output is positive."""
    passed: Tensor = torch.ops.aten.threshold_backward(gradient, output, 0)
    return passed


class Rates(NamedTuple):
    """What an optimiser step needs in addition to the gradient."""

    learning_rate: float
    momentum: float
    weight_decay: float


def sgd_step(parameters: Tensor, momenta: Tensor, gradient: Tensor, *, rates: Rates) -> None:
    """Update in place as ``torch.optim.SGD`` does: m <- mu m + g + lambda p; p <- p - eta m."""
    momenta.mul_(rates.momentum).add_(gradient).add_(parameters, alpha=rates.weight_decay)
    parameters.add_(momenta, alpha=-rates.learning_rate)


def stable_order(keys: Ints, bound: int) -> Ints:
    """Give the order that sorts keys in [0, bound), in linear time.

    >>> stable_order(np.array([70_000, 5, 70_000, 0]), 70_001).tolist()
    [3, 1, 0, 2]
    """
    # numpy sorts 16-bit integers by radix; two digits of 16 bits cover 2**32 nodes.
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    if bound <= 1 << 16:
        return order
    return order[np.argsort((keys[order] >> 16).astype(np.uint16), kind="stable")]
