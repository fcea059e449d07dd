"""Validation and test: which edges carry messages, which pairs are scored, prepared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.model.engines.kernels import Csr, Integers
from dynhp_pyg.model.engines.sparse import with_self_loops
from dynhp_pyg.splits.make import Split

__all__ = ["EvaluationStage", "StageName", "evaluation_stage", "positives_of", "stage_pairs"]

StageName = Literal["validation", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStage:
    """The normalised adjacency, its rows that are asked for, and the pairs numbered by them."""

    adjacency: Csr
    asked_rows: Csr
    pairs: Tensor


def stage_pairs(split: Split, name: StageName) -> Integers:
    """Give the pairs of a stage, positives first."""
    if name == "validation":
        return np.concatenate([split.validation, split.validation_negatives], axis=1)
    return np.concatenate([split.test, split.test_negatives], axis=1)


def positives_of(split: Split, name: StageName) -> int:
    """Count the positives of a stage."""
    positives = split.validation if name == "validation" else split.test
    return int(positives.shape[1])


def evaluation_stage(split: Split, name: StageName, device: torch.device) -> EvaluationStage:
    """Prepare a stage; messages pass on training edges, for the test on validation edges too."""
    nodes = split.graph.num_nodes
    structure = with_self_loops(
        split.message_edges(name), nodes, symmetric=split.protocol == "undirected"
    )
    everything = structure.all()
    values = structure.normalised(everything, everything.degrees())
    pairs = stage_pairs(split, name)
    asked, renumbered = np.unique(pairs, return_inverse=True)
    adjacency = structure.csr(everything, values, device)
    return EvaluationStage(
        adjacency=adjacency,
        asked_rows=_rows(adjacency, torch.from_numpy(asked).to(device)),
        pairs=torch.from_numpy(renumbered.reshape(pairs.shape)).to(device),
    )


def _rows(matrix: Csr, rows: Tensor) -> Csr:
    starts = matrix.offsets[rows]
    lengths = matrix.offsets[rows + 1] - starts
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    entries = torch.arange(int(offsets[-1]), device=rows.device)
    entries += torch.repeat_interleave(starts - offsets[:-1], lengths)
    return Csr(offsets, matrix.indices[entries], matrix.values[entries])
