"""What the first layer reads: sparse features of the nodes, or nothing but a learnt embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dynhp.errors import SettingsError
from dynhp_pyg.model.dropout import Dropout
from dynhp_pyg.model.engines.kernels import Csr, Integers, stable_order
from dynhp_pyg.splits.make import Split, with_degree_features

__all__ = ["InputKind", "SparseInput", "input_of"]

InputKind = Literal["auto", "features", "embedding", "degrees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseInput:
    """A sparse feature matrix by rows, and the way to the same matrix by columns."""

    matrix: Csr
    channels: int
    column_offsets: Tensor
    column_rows: Tensor
    by_column: Tensor

    def noisy(self, noise: Dropout) -> tuple[Csr, Csr]:
        """Give what dropout leaves of the matrix, scaled, by rows and by columns."""
        offsets, columns, values = self.matrix
        left = noise.keep_anew(values) * noise.scale
        turned = left.index_select(0, self.by_column)
        return (
            Csr(offsets, columns, left),
            Csr(self.column_offsets, self.column_rows, turned),
        )


def input_of(split: Split, kind: InputKind, device: torch.device) -> SparseInput | None:
    """Give the features a model reads, or None where it learns an embedding of each node.

    ``auto`` takes the graph's features where it has them and learns an embedding otherwise;
    ``degrees`` gives each node its training degree, one-hot.
    """
    if kind not in ("auto", "features", "embedding", "degrees"):
        raise SettingsError(
            f"inputs must be 'auto', 'features', 'embedding' or 'degrees', got {kind!r}"
        )
    if kind == "degrees":
        split = with_degree_features(split)
    features = split.graph.features
    if kind == "embedding" or (kind == "auto" and features is None):
        return None
    if features is None:
        raise SettingsError(
            f"inputs='features' needs a graph with features, got {split.graph.name!r} without; "
            "inputs='embedding' learns one vector for each node"
        )
    if not np.isfinite(features.data).all():
        raise SettingsError(
            f"features must be finite, got nan or infinity in {split.graph.name!r}; "
            "clean them, or pass inputs='embedding'"
        )
    return _sparse_input(
        features.data, features.indices, features.indptr, features.shape[1], device
    )


def _sparse_input(
    data: np.ndarray[tuple[int], np.dtype[np.floating]],
    indices: Integers,
    offsets: Integers,
    channels: int,
    device: torch.device,
) -> SparseInput:
    columns = indices.astype(np.int64)
    rows = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = stable_order(columns, channels)
    column_offsets = np.zeros(channels + 1, dtype=np.int64)
    np.cumsum(np.bincount(columns, minlength=channels), out=column_offsets[1:])

    def tensor(array: np.ndarray[tuple[int], np.dtype[np.generic]]) -> Tensor:
        return torch.tensor(array, device=device)

    return SparseInput(
        matrix=Csr(
            tensor(offsets.astype(np.int64)), tensor(columns), tensor(data.astype(np.float32))
        ),
        channels=channels,
        column_offsets=tensor(column_offsets),
        column_rows=tensor(rows[order]),
        by_column=tensor(order),
    )
