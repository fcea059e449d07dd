"""Negative samplers: node pairs that are not edges, uniform or with a share within communities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.arrays import Ints, distinct_pairs, starts_of
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.splits.free_pairs import FreePairs, Groups, between, free_pairs, groups_of, inside


class NegativeSampler(Protocol):
    """Draws pairs of different nodes that are not known edges, in either direction.

    `sample` may repeat a pair (training draws again every epoch); `distinct` never does
    (evaluation). Both give exactly `count` pairs, shape (2, count), in an order without meaning.
    `distinct` refuses to draw more pairs than there are, `sample` only where there are none.

    >>> from dataclasses import replace
    >>> from dynhp_pyg.runs.example import tiny_split
    >>> class HardNegatives:  # from a list of your own
    ...     pairs = np.array([[0, 0, 1], [3, 6, 4]])
    ...     def sample(self, count, rng): return self.pairs[:, rng.integers(0, 3, count)]
    ...     def distinct(self, count, rng): return rng.permutation(self.pairs, axis=1)[:, :count]
    >>> split = replace(tiny_split(), negatives=HardNegatives())
    >>> split.negatives.sample(5, np.random.default_rng(0)).shape
    (2, 5)
    """

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` pairs, with repeats."""
        ...

    def distinct(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` different pairs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniformNegatives:
    """Every non-edge is as likely as every other.

    >>> path = uniform_negatives(3, np.array([[0, 1], [1, 2]]))
    >>> path.sample(1, np.random.default_rng(0)).tolist()
    [[0], [2]]
    """

    free: FreePairs
    ordered: bool = False

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` non-edges, with repeats."""
        _check_some(count, self.free.count, "non-edges")
        ranks = rng.integers(0, max(self.free.count, 1), count)
        return _oriented(self.free.pairs(ranks), self.ordered, rng)

    def distinct(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` different non-edges."""
        _check_count(count, self.free.count, "non-edges")
        return _oriented(self.free.pairs(_choice(self.free, count, rng)), self.ordered, rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommunityNegatives:
    """The paper's sampler: `ratio` of the pairs lie within a community, the others between two.

    A within-pair is a uniform node and a uniform node of its community, so a pair in a community
    of n nodes has weight 1/n; a between-pair is two uniform nodes of different communities; edges
    and self pairs are excluded. Of `count` pairs, `round(ratio * count)` are within. It is made by
    `community_negatives`, which has a list of its arguments.

    >>> sampler = community_negatives(np.array([0, 0, 0, 1, 1]), np.array([[0], [1]]), ratio=0.5)
    >>> sampler.within(4)
    2
    """

    ratio: float
    inside: FreePairs
    between: FreePairs
    weights: NDArray[np.float64]  # of each community, as the first choice of a within-pair
    first_rank: Ints  # of each community among the free within-pairs, and their count
    size: Ints  # of each community
    ordered: bool = False

    def within(self, count: int) -> int:
        """How many of `count` pairs lie within a community."""
        return round(self.ratio * count)

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` non-edges, with repeats."""
        within = self._checked(count, _check_some)
        ranks = self._within_ranks(within, rng)
        across = rng.integers(0, max(self.between.count, 1), count - within)
        return self._joined(ranks, across, rng)

    def distinct(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` different non-edges."""
        within = self._checked(count, _check_count)
        ranks = self._distinct_within_ranks(within, rng)
        return self._joined(ranks, _choice(self.between, count - within, rng), rng)

    def _checked(self, count: int, check: Callable[[int, int, str], None]) -> int:
        within = self.within(count)
        check(within, self.inside.count, "non-edges within communities")
        check(count - within, self.between.count, "non-edges between communities")
        return within

    def _joined(self, within: Ints, across: Ints, rng: np.random.Generator) -> Ints:
        pairs = [self.inside.pairs(within), self.between.pairs(across)]
        return _oriented(np.concatenate(pairs, axis=1), self.ordered, rng)

    def _within_ranks(self, count: int, rng: np.random.Generator) -> Ints:
        if not count:
            return np.zeros(0, np.int64)
        # First the number of pairs in each community, then uniform pairs inside it: the same
        # distribution as drawing one pair after the other, in one pass.
        community = np.repeat(np.arange(len(self.size)), rng.multinomial(count, self.weights))
        free = np.diff(self.first_rank)[community]
        offset = (rng.random(count) * free).astype(np.int64)
        ranks: Ints = self.first_rank[community] + offset
        return ranks

    def _distinct_within_ranks(self, count: int, rng: np.random.Generator) -> Ints:
        """Weighted draws one after the other, each pair at most once."""
        if 4 * count > self.inside.count:
            # Exponential waiting times (Efraimidis and Spirakis): the `count` shortest, with
            # weight 1 / size each, are such draws, and here the list of all pairs is short.
            wait = rng.exponential(np.repeat(self.size, np.diff(self.first_rank)))
            return np.argsort(wait)[:count]
        ranks = np.zeros(0, np.int64)
        while len(ranks) < count:
            more = rng.permutation(self._within_ranks(2 * count, rng))
            drawn = np.concatenate([ranks, more])
            _, earliest = np.unique(drawn, return_index=True)
            ranks = drawn[np.sort(earliest)]
        return ranks[:count]


def uniform_negatives(num_nodes: int, known: Ints, *, ordered: bool = False) -> UniformNegatives:
    """A sampler of non-edges, all equally likely.

    Args:
        num_nodes: the number of nodes.
        known: the edges that are never given, in either direction, shape (2, E).
        ordered: give arcs, each in a random direction, instead of pairs u < v.

    >>> uniform_negatives(4, np.array([[0], [1]])).free.count
    5
    """
    groups = groups_of(np.zeros(num_nodes, np.int64))
    return UniformNegatives(free=free_pairs(inside(groups), known), ordered=ordered)


def community_negatives(
    membership: Ints, known: Ints, *, ratio: float, ordered: bool = False
) -> CommunityNegatives:
    """The paper's sampler, of which a fixed share of pairs is within communities.

    Args:
        membership: the community 0..C-1 of each node.
        known: the edges that are never given, in either direction, shape (2, E).
        ratio: the share of pairs within a community; the others are between two communities.
        ordered: give arcs, each in a random direction, instead of pairs u < v.

    >>> community_negatives(np.array([0, 0, 1, 1]), np.array([[0], [1]]), ratio=0.5).inside.count
    1
    """
    if not 0 <= ratio <= 1:
        raise DataError(f"the community ratio must lie in 0..1, got {ratio!r}")
    groups = groups_of(membership)
    if len(groups.size) < 2:
        raise DataError(
            f"community negatives need at least two communities, got {len(groups.size)!r}; "
            f"take negatives='uniform'"
        )
    same = membership[known[0]] == membership[known[1]]
    free_inside = free_pairs(inside(groups), known[:, same])
    free_between = free_pairs(between(groups), known[:, ~same])
    _check_possible(ratio, free_inside.count, "within")
    _check_possible(1 - ratio, free_between.count, "between")
    free = _free_by_group(groups, known[:, same])
    weights = free / groups.size
    return CommunityNegatives(
        ratio=float(ratio),
        inside=free_inside,
        between=free_between,
        weights=weights / max(weights.sum(), 1e-300),
        first_rank=starts_of(free),
        size=groups.size,
        ordered=ordered,
    )


def _free_by_group(groups: Groups, known: Ints) -> Ints:
    pairs = distinct_pairs(known)
    edges = np.bincount(groups.membership[pairs[0]], minlength=len(groups.size))
    free: Ints = groups.size * (groups.size - 1) // 2 - edges
    return free


def _check_possible(share: float, count: int, where: str) -> None:
    if share > 0 and count == 0:
        raise DataError(
            f"a share {share!r} of the negatives must lie {where} communities, but 0 non-edges "
            f"do; take negatives='uniform'"
        )


def _check_some(count: int, available: int, what: str) -> None:
    # With repeats, a few pairs are enough for any number of draws.
    _check_count(count, count if available else 0, what)


def _check_count(count: int, available: int, what: str) -> None:
    if count < 0 or count > available:
        raise DataError(
            f"{count!r} {what} were asked for, but {available} exist; ask for fewer, "
            f"or take a sparser graph"
        )


def _choice(free: FreePairs, count: int, rng: np.random.Generator) -> Ints:
    if not count:
        return np.zeros(0, np.int64)
    return rng.choice(free.count, count, replace=False, shuffle=False)


def _oriented(pairs: Ints, ordered: bool, rng: np.random.Generator) -> Ints:
    if not ordered:
        return pairs
    flip = rng.random(pairs.shape[1]) < 0.5
    return np.where(flip, pairs[::-1], pairs)
