"""What the first layer reads: sparse features of the nodes, or only a learnt embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynhp.errors import SettingsError
from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.features import SparseFeatures
from dynhp_pyg.model.dropout import DropoutNoise
from dynhp_pyg.model.engines.kernels import Csr
from dynhp_pyg.model.engines.sparse import Structure
from dynhp_pyg.splits.make import Split, with_degree_features

__all__ = ["InputKind", "SparseInput", "input_of"]

InputKind = Literal["auto", "features", "embedding", "degrees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseInput:
    """A sparse feature matrix by rows, and what is needed for the same matrix by columns."""

    matrix: Csr
    channels: int
    column_offsets: Tensor
    column_rows: Tensor
    by_column: Tensor

    def noisy(self, noise: DropoutNoise) -> tuple[Csr, Csr]:
        """Give what dropout leaves of the matrix, scaled, by rows and by columns."""
        offsets, columns, values = self.matrix
        left = noise.keep_anew(values) * noise.scale
        turned = left.index_select(0, self.by_column)
        return (Csr(offsets, columns, left), Csr(self.column_offsets, self.column_rows, turned))

    def dense(self, values: Tensor) -> Tensor:
        """Give the dense matrix with these values at the stored places."""
        offsets, columns, _ = self.matrix
        rows = torch.repeat_interleave(offsets.diff())
        return values.new_zeros(len(offsets) - 1, self.channels).index_put((rows, columns), values)


def input_of(split: Split, kind: InputKind, device: torch.device) -> SparseInput | None:
    """Give the features that a model reads, or None where it learns an embedding of each node.

    ``auto`` takes the graph's features where it has them and learns an embedding otherwise;
    ``degrees`` gives each node its training degree, one-hot.
    """
    one_of("inputs", kind, get_args(InputKind))
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
    return _sparse_input(features, device)


def _sparse_input(features: SparseFeatures, device: torch.device) -> SparseInput:
    height, channels = features.shape
    rows = np.repeat(np.arange(height), np.diff(features.indptr))
    by_column = Structure.sort(features.indices, rows, np.arange(rows.size), size=channels)

    def tensor(array: NDArray[np.generic], dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.tensor(array, dtype=dtype, device=device)

    values = tensor(features.data, torch.float32)
    return SparseInput(
        matrix=Csr(tensor(features.indptr), tensor(features.indices), values),
        channels=channels,
        column_offsets=tensor(by_column.offsets),
        column_rows=tensor(by_column.columns),
        by_column=tensor(by_column.edges),
    )
