"""Binary search among fixed boundaries, by a table that answers most questions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import Ints

# 16 table entries for each boundary: about 1 look-up in 16 still searches. The limit keeps the
# table in (or near) the processor's cache and smaller than the edges of a large graph.
_ENTRIES_PER_BOUNDARY = 16
_MAX_ENTRIES = 2**22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranks:
    """Counts the boundaries at or below a value, for values in 0..limit-1.

    A random binary search costs a dozen mispredicted branches (80 ns at Cora's size). A table
    over equal intervals of the values has the answer for each interval without a boundary, and
    -1 for the others.

    >>> ranks_of(np.array([3, 5]), 10).at_most(np.array([2, 3, 9])).tolist()
    [0, 1, 2]
    """

    boundaries: Ints
    table: NDArray[np.int32]
    shift: int

    def at_most(self, values: Ints) -> NDArray[np.int32]:
        """How many boundaries are at most each value."""
        counts = self.table.take(values >> self.shift)
        unknown = (counts < 0).nonzero()[0]
        counts[unknown] = self.boundaries.searchsorted(values[unknown], side="right")
        return counts


def ranks_of(boundaries: Ints, limit: int) -> Ranks:
    """Ranks among sorted boundaries for values below a limit.

    >>> ranks_of(np.array([], dtype=np.int64), 4).at_most(np.arange(4)).tolist()
    [0, 0, 0, 0]
    """
    entries = min(_MAX_ENTRIES, _ENTRIES_PER_BOUNDARY * (len(boundaries) + 1))
    shift = max(0, (max(limit, 1) - 1).bit_length() - (entries.bit_length() - 1))
    interval = np.arange((max(limit, 1) - 1 >> shift) + 1) << shift
    low = boundaries.searchsorted(interval, side="right")
    high = boundaries.searchsorted(interval + ((1 << shift) - 1), side="right")
    table = np.where(low == high, low, -1).astype(np.int32)
    return Ranks(boundaries=boundaries, table=table, shift=shift)
