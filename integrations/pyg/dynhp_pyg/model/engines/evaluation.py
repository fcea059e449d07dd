"""Validation and test: which edges pass messages and which pairs are scored, prepared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.model.engines.kernels import Csr
from dynhp_pyg.model.engines.sparse import with_self_loops
from dynhp_pyg.splits.make import Split

__all__ = ["EvaluationStage", "StageName", "evaluation_stage", "positives_of", "stage_pairs"]

StageName = Literal["validation", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStage:
    """The normalised adjacency, its rows that pairs need, and the pairs numbered by these rows."""

    adjacency: Csr
    needed_rows: Csr
    pairs: Tensor


def stage_pairs(split: Split, name: StageName) -> Ints:
    """Give the pairs of a stage, positives first."""
    if name == "validation":
        return np.concatenate([split.validation, split.validation_negatives], axis=1)
    return np.concatenate([split.test, split.test_negatives], axis=1)


def positives_of(split: Split, name: StageName) -> int:
    """Count the positives of a stage."""
    positives = split.validation if name == "validation" else split.test
    return int(positives.shape[1])


def evaluation_stage(split: Split, name: StageName, device: torch.device) -> EvaluationStage:
    """Prepare a stage; training edges pass messages, and for the test validation edges too."""
    nodes = split.graph.num_nodes
    structure = with_self_loops(
        split.message_edges(name), nodes, symmetric=split.protocol == "undirected"
    )
    everything = structure.all()
    adjacency = structure.normalised(everything, everything.degrees(), device)
    pairs = stage_pairs(split, name)
    needed, renumbered = np.unique(pairs, return_inverse=True)
    return EvaluationStage(
        adjacency=adjacency,
        needed_rows=_rows(adjacency, torch.from_numpy(needed).to(device)),
        pairs=torch.from_numpy(renumbered.reshape(pairs.shape)).to(device),
    )


def _rows(matrix: Csr, rows: Tensor) -> Csr:
    starts = matrix.offsets[rows]
    lengths = matrix.offsets[rows + 1] - starts
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    entries = torch.arange(int(offsets[-1]), device=rows.device)
    entries += torch.repeat_interleave(starts - offsets[:-1], lengths)
    return Csr(offsets, matrix.indices[entries], matrix.values[entries])
