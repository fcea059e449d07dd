"""Non-edges by number: every free pair of nodes has a rank, so a draw needs no rejection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dynhp_pyg.graphs.arrays import Ints, starts_of
from dynhp_pyg.splits.ranks import Ranks, ranks_of

# All node pairs of a kind have *slots*; known edges take some of them; the others are numbered
# 0..count-1. A rank becomes a slot by adding the known edges before it (one binary search), and
# a slot becomes a pair by arithmetic. Counts and uniformity are exact, no loop can run forever
# on a dense graph, and memory is linear in the edges.


class PairSpace(Protocol):
    """A numbering of all unordered pairs of one kind."""

    @property
    def total(self) -> int:
        """The number of slots."""
        ...

    def pairs(self, slots: Ints) -> Ints:
        """The pair in each slot, shape (2, n), in either order."""
        ...

    def slots(self, pairs: Ints) -> Ints:
        """The slot of each pair of this kind."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Nodes ordered by group: `order[first[g]:first[g] + size[g]]` is group g."""

    membership: Ints
    order: Ints
    place: Ints
    first: Ints
    size: Ints


def groups_of(membership: Ints) -> Groups:
    """The groups that a vector of group numbers 0..G-1 describes.

    >>> groups_of(np.array([1, 0, 1])).order.tolist()
    [1, 0, 2]
    """
    order = np.argsort(membership, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    size = np.bincount(membership)
    return Groups(
        membership=membership, order=order, place=place, first=np.cumsum(size) - size, size=size
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inside:
    """Pairs within a group: slot `(d - 1) * size + i` is the group's members i and i + d, cyclic.

    Every unordered pair occurs once: for an even size the last, half-filled row is d = size / 2.
    """

    groups: Groups
    start: Ints  # the first slot of each group, and the total
    search: Ranks  # which group a slot belongs to

    @property
    def total(self) -> int:
        """The number of pairs within groups."""
        return int(self.start[-1])

    def pairs(self, slots: Ints) -> Ints:
        """The pair in each slot."""
        if len(self.groups.size) == 1:  # all nodes, in their own order: the uniform sampler
            return _cyclic(slots, self.groups.size[0])
        group = self.search.at_most(slots)
        local = _cyclic(slots - self.start[group], self.groups.size[group])
        local += self.groups.first[group]
        return self.groups.order[local]

    def slots(self, pairs: Ints) -> Ints:
        """The slot of each pair, both of whose nodes are in one group."""
        group = self.groups.membership[pairs[0]]
        size = self.groups.size[group]
        low, high = np.sort(self.groups.place[pairs] - self.groups.first[group], axis=0)
        wraps = 2 * (high - low) > size  # the way round the end is shorter
        step = np.where(wraps, size - high + low, high - low)
        slots: Ints = self.start[group] + (step - 1) * size + np.where(wraps, high, low)
        return slots


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Between:
    """Pairs across groups: for each group a rectangle, its members by all nodes of later groups."""

    groups: Groups
    start: Ints  # the first slot of each group's rectangle, and the total
    search: Ranks  # which rectangle a slot belongs to
    later: Ints  # the width of each rectangle: how many nodes come after the group

    @property
    def total(self) -> int:
        """The number of pairs across groups."""
        return int(self.start[-1])

    def pairs(self, slots: Ints) -> Ints:
        """The pair in each slot."""
        group = self.search.at_most(slots)
        width = self.later[group]
        row, column = np.divmod(slots - self.start[group], width)
        row += self.groups.first[group]
        column += len(self.groups.order) - width
        pairs: Ints = self.groups.order[np.stack([row, column])]
        return pairs

    def slots(self, pairs: Ints) -> Ints:
        """The slot of each pair, whose nodes are in two groups."""
        low, high = np.sort(self.groups.place[pairs], axis=0)
        group = self.groups.membership[self.groups.order[low]]
        width = self.later[group]
        row, column = low - self.groups.first[group], high - (len(self.groups.order) - width)
        slots: Ints = self.start[group] + row * width + column
        return slots


def inside(groups: Groups) -> Inside:
    """The numbering of all pairs within groups."""
    start = starts_of(groups.size * (groups.size - 1) // 2)
    return Inside(groups=groups, start=start, search=_search(start))


def between(groups: Groups) -> Between:
    """The numbering of all pairs across groups."""
    later = len(groups.order) - groups.first - groups.size
    start = starts_of(groups.size * later)
    return Between(groups=groups, start=start, search=_search(start), later=later)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FreePairs:
    """The pairs of a space that are not known edges, by rank."""

    space: PairSpace
    taken: Ints  # the known edges' slots, sorted
    search: Ranks  # how many of them come before a free slot of a given rank

    @property
    def count(self) -> int:
        """How many free pairs there are."""
        return self.space.total - len(self.taken)

    def pairs(self, ranks: Ints) -> Ints:
        """The free pairs of these ranks, shape (2, n), with u < v."""
        ends = self.space.pairs(ranks + self.search.at_most(ranks))
        return np.stack([np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])])


def free_pairs(space: PairSpace, known: Ints) -> FreePairs:
    """The pairs of a space without the known edges, which must be of its kind.

    >>> triangle_and_one = inside(groups_of(np.zeros(4, np.int64)))
    >>> free_pairs(triangle_and_one, np.array([[0, 0, 1], [1, 2, 2]])).pairs(np.arange(3)).tolist()
    [[2, 0, 1], [3, 3, 3]]
    """
    taken = np.unique(space.slots(known))
    before = taken - np.arange(len(taken))  # the free slots before each taken one
    return FreePairs(space=space, taken=taken, search=ranks_of(before, space.total - len(taken)))


def _cyclic(slots: Ints, size: Ints) -> Ints:
    step, low = np.divmod(slots, size)
    high = low + step
    high += 1
    high -= size * (high >= size)
    return np.stack([low, high])


def _search(start: Ints) -> Ranks:
    # Without the leading 0, the count of boundaries is the number of the group.
    return ranks_of(start[1:], int(start[-1]))
