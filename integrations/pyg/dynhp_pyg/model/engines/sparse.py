"""The graph's sparse matrices: entries are sorted once, and every epoch only selects from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import Ints, starts_of
from dynhp_pyg.model.engines.kernels import Csr, stable_order
from dynhp_pyg.splits.make import Split

__all__ = ["MessagePassing", "Propagation", "SelectedEntries", "Structure", "both_directions"]
__all__ += ["with_self_loops"]

Mask = NDArray[np.bool_]
Values = NDArray[np.float32]


class SelectedEntries(NamedTuple):
    """Some entries of a structure, in their order, and where each row of them starts."""

    entries: Ints
    offsets: Ints

    def degrees(self) -> Ints:
        """Count the entries of each row."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Entries of a sparse matrix sorted by row, each with the number of the edge it comes from.

    >>> pair = both_directions(np.array([[0], [2]]), 3)
    >>> pair.rows.tolist(), pair.columns.tolist(), pair.offsets.tolist()
    ([0, 2], [2, 0], [0, 1, 1, 2])
    """

    rows: Ints
    columns: Ints
    edges: Ints
    offsets: Ints

    @classmethod
    def sort(cls, rows: Ints, columns: Ints, edges: Ints, *, size: int) -> Structure:
        """Sort entries by row, of which there are ``size``."""
        order = stable_order(rows, size)
        return cls(
            rows=rows.take(order),
            columns=columns.take(order),
            edges=edges.take(order),
            offsets=starts_of(np.bincount(rows, minlength=size)),
        )

    def select(self, edges: Mask) -> SelectedEntries:
        """Select the entries of the edges marked: one pass, no sorting."""
        kept = edges.take(self.edges)
        return SelectedEntries(np.flatnonzero(kept), starts_of(kept).take(self.offsets))

    def all(self) -> SelectedEntries:
        """Select every entry."""
        return SelectedEntries(np.arange(self.edges.size), self.offsets)

    def csr(self, selected: SelectedEntries, values: Values, device: torch.device) -> Csr:
        """Give the matrix of the entries selected, with a value for each."""
        return Csr(
            torch.from_numpy(selected.offsets).to(device),
            torch.from_numpy(self.columns.take(selected.entries)).to(device),
            torch.from_numpy(values).to(device),
        )

    def normalised(self, selected: SelectedEntries, degrees: Ints, device: torch.device) -> Csr:
        """Give D^-1/2 (A + I) D^-1/2 of the entries selected, with D the in-degrees, with loops."""
        scale = np.sqrt(1.0 / degrees).astype(np.float32)
        values: Values = scale.take(self.rows.take(selected.entries))
        values *= scale.take(self.columns.take(selected.entries))
        return self.csr(selected, values, device)


class Propagation(NamedTuple):
    """A matrix for the forward pass and its transpose (the same matrix if undirected)."""

    forward: Csr
    backward: Csr


class MessagePassing:
    """All training edges and self loops, sorted once; each epoch selects its message edges."""

    def __init__(self, split: Split, device: torch.device) -> None:
        nodes, arcs = split.graph.num_nodes, split.train
        symmetric = split.protocol == "undirected"
        self._device = device
        self._structure = with_self_loops(arcs, nodes, symmetric=symmetric)
        self._reversed = None if symmetric else with_self_loops(arcs[::-1], nodes, symmetric=False)

    def of(self, message: Mask) -> Propagation:
        """Give the normalised adjacency of the message edges marked, as GCNConv computes it."""
        kept = np.append(message, True)  # the last "edge" stands for the self loops
        selected = self._structure.select(kept)
        degrees = selected.degrees()
        forward = self._structure.normalised(selected, degrees, self._device)
        if self._reversed is None:
            return Propagation(forward, forward)
        backward = self._reversed.select(kept)
        return Propagation(forward, self._reversed.normalised(backward, degrees, self._device))


def with_self_loops(arcs: Ints, num_nodes: int, *, symmetric: bool) -> Structure:
    """Give A + I with targets as rows, as in GCNConv; the loops belong to edge number E.

    With ``symmetric`` each arc counts in both directions.

    >>> with_self_loops(np.array([[0], [1]]), 2, symmetric=False).edges.tolist()
    [1, 0, 1]
    """
    sources, targets, ids = _arcs(arcs, symmetric=symmetric)
    loops = np.arange(num_nodes)
    return Structure.sort(
        np.concatenate([targets, loops]),
        np.concatenate([sources, loops]),
        np.concatenate([ids, np.full(num_nodes, arcs.shape[1])]),
        size=num_nodes,
    )


def both_directions(pairs: Ints, num_nodes: int) -> Structure:
    """Give the symmetric matrix of pairs of nodes, with an entry in either direction."""
    left, right, ids = _arcs(pairs, symmetric=True)
    return Structure.sort(left, right, ids, size=num_nodes)


def _arcs(arcs: Ints, *, symmetric: bool) -> tuple[Ints, Ints, Ints]:
    sources, targets = arcs
    ids = np.arange(arcs.shape[1])
    if not symmetric:
        return sources, targets, ids
    return (
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        np.concatenate([ids, ids]),
    )
