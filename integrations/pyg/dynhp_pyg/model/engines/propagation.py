"""The normalised adjacency of one epoch's message edges, as GCNConv computes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from dynhp_pyg.model.engines.kernels import Csr
from dynhp_pyg.model.engines.sparse import Mask, with_self_loops
from dynhp_pyg.splits.make import Split

__all__ = ["MessagePassing", "Propagation"]


class Propagation(NamedTuple):
    """A matrix for the forward pass and its transpose (the same one if undirected)."""

    forward: Csr
    backward: Csr


class MessagePassing:
    """All training edges and self loops, sorted once, of which every epoch selects some."""

    def __init__(self, split: Split, device: torch.device) -> None:
        nodes, arcs = split.graph.num_nodes, split.train
        symmetric = split.protocol == "undirected"
        self._device = device
        self._structure = with_self_loops(arcs, nodes, symmetric=symmetric)
        self._reversed = None if symmetric else with_self_loops(arcs[::-1], nodes, symmetric=False)

    def of(self, message: Mask) -> Propagation:
        """Give the matrices of the message edges marked."""
        kept = np.append(message, True)  # the last "edge" stands for the self loops
        structure, turned = self._structure, self._reversed
        selected = structure.select(kept)
        degrees = selected.degrees()
        values = structure.normalised(selected, degrees)
        forward = structure.csr(selected, values, self._device)
        if turned is None:
            return Propagation(forward, forward)
        selected = turned.select(kept)
        values = turned.normalised(selected, degrees)
        return Propagation(forward, turned.csr(selected, values, self._device))
