"""The graph's sparse structure, sorted once; every epoch only selects from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynhp_pyg.model.engines.kernels import Csr, Integers, stable_order

__all__ = ["Selection", "Structure", "both_directions", "with_self_loops"]

Mask = NDArray[np.bool_]
Values = NDArray[np.float32]


class Selection(NamedTuple):
    """Some entries of a structure, in their order, and where each row of them starts."""

    entries: Integers
    offsets: Integers

    def degrees(self) -> Integers:
        """Count the entries of each row."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Entries of a square sparse matrix sorted by row, each tied to the edge it comes from.

    >>> pair = both_directions(np.array([[0], [2]]), 3)
    >>> pair.rows.tolist(), pair.columns.tolist(), pair.offsets.tolist()
    ([0, 2], [2, 0], [0, 1, 1, 2])
    """

    rows: Integers
    columns: Integers
    edges: Integers
    offsets: Integers

    @classmethod
    def sort(cls, rows: Integers, columns: Integers, edges: Integers, *, size: int) -> Structure:
        """Sort entries by row, once and for all."""
        order = stable_order(rows, size)
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=size), out=offsets[1:])
        return cls(
            rows=rows.take(order),
            columns=columns.take(order),
            edges=edges.take(order),
            offsets=offsets,
        )

    def select(self, edges: Mask) -> Selection:
        """Keep the entries of the edges marked: one pass, no sorting."""
        kept = edges.take(self.edges)
        before = np.zeros(kept.size + 1, dtype=np.int64)
        np.cumsum(kept, out=before[1:])
        return Selection(np.flatnonzero(kept), before.take(self.offsets))

    def all(self) -> Selection:
        """Select every entry."""
        return Selection(np.arange(self.edges.size), self.offsets)

    def csr(self, selection: Selection, values: Values, device: torch.device) -> Csr:
        """Give the matrix of the entries selected, with a value for each."""
        return Csr(
            torch.from_numpy(selection.offsets).to(device),
            torch.from_numpy(self.columns.take(selection.entries)).to(device),
            torch.from_numpy(values).to(device),
        )

    def normalised(self, selection: Selection, degrees: Integers) -> Values:
        """Give the values of D^-1/2 (A + I) D^-1/2, with D the in-degrees, loops counted."""
        scale = np.sqrt(1.0 / degrees).astype(np.float32)
        values: Values = scale.take(self.rows.take(selection.entries))
        values *= scale.take(self.columns.take(selection.entries))
        return values


def with_self_loops(arcs: Integers, num_nodes: int, *, symmetric: bool) -> Structure:
    """Give A + I with rows as targets, as GCNConv has it; the loops belong to edge number E.

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


def both_directions(pairs: Integers, num_nodes: int) -> Structure:
    """Give the symmetric matrix of pairs of nodes, with an entry in either direction."""
    left, right, ids = _arcs(pairs, symmetric=True)
    return Structure.sort(left, right, ids, size=num_nodes)


def _arcs(arcs: Integers, *, symmetric: bool) -> tuple[Integers, Integers, Integers]:
    sources, targets = arcs
    ids = np.arange(arcs.shape[1])
    if not symmetric:
        return sources, targets, ids
    return (
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        np.concatenate([ids, ids]),
    )
