"""Community negatives as the paper's code draws them, self pairs included; only to compare."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.splits.free_pairs import groups_of

__all__ = ["published_negatives"]


def published_negatives(
    membership: Ints, known: Ints, *, ratio: float, count: int, rng: np.random.Generator
) -> Ints:
    """Draw `count` arcs for evaluation under the `paper` protocol, shape (2, count).

    A within-pair is a uniform node and a uniform node of its community, *which may be the node
    itself*: a self pair scores high whatever the model has learnt, and on Cora about one negative
    in twenty is a self pair. A pair may come twice. Known edges are rejected.
    `round(ratio * count)` pairs are within. Everywhere else `community_negatives` is used, which
    gives neither self pairs nor, for evaluation, repeats.

    >>> pairs = published_negatives(np.array([0, 0, 1]), np.array([[0], [1]]), ratio=1.0, count=4,
    ...                             rng=np.random.default_rng(0))
    >>> set(map(tuple, pairs.T.tolist())) <= {(0, 0), (1, 1), (2, 2)}
    True
    """
    groups = groups_of(membership)
    nodes = len(membership)

    def within(size: int) -> Ints:
        node = rng.integers(0, nodes, size)
        home = membership[node]
        other = groups.order[groups.first[home] + rng.integers(0, groups.size[home])]
        return np.stack([node, other])

    def between(size: int) -> Ints:
        pairs = rng.integers(0, nodes, (2, size))
        return pairs[:, membership[pairs[0]] != membership[pairs[1]]]

    keys = np.unique(np.concatenate([known[0] * nodes + known[1], known[1] * nodes + known[0]]))
    inside = round(ratio * count)
    parts = [_free(within, keys, nodes, inside), _free(between, keys, nodes, count - inside)]
    return np.concatenate(parts, axis=1)


def _free(draw: Callable[[int], Ints], keys: Ints, nodes: int, count: int) -> Ints:
    """Draw until `count` pairs are not edges; the caller has checked that there are enough."""
    pairs = np.zeros((2, 0), np.int64)
    while pairs.shape[1] < count:
        drawn = draw(2 * count)
        free = ~np.isin(drawn[0] * nodes + drawn[1], keys)
        pairs = np.concatenate([pairs, drawn[:, free]], axis=1)
    return pairs[:, :count]
