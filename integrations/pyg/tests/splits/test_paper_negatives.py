"""Negatives as the paper's own code draws them: what they share with ours, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.graph import graph_from_edges
from dynhp_pyg.splits.audit import audit
from dynhp_pyg.splits.make import make_split
from dynhp_pyg.splits.paper_negatives import published_negatives
from tests.support.messages import raises

MEMBERSHIP = np.array([0, 0, 0, 0, 1, 1, 2])
KNOWN = np.array([[0, 1, 0], [1, 2, 4]])


def drawn(ratio: float, count: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(7)
    return published_negatives(MEMBERSHIP, KNOWN, ratio=ratio, count=count, rng=rng)


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0])
def test_counts_and_share_are_exact_and_edges_are_out(ratio: float) -> None:
    pairs = drawn(ratio)
    assert pairs.shape == (2, 4000)
    within = MEMBERSHIP[pairs[0]] == MEMBERSHIP[pairs[1]]
    assert within.sum() == ratio * 4000
    edges = {tuple(edge) for edge in np.concatenate([KNOWN, KNOWN[::-1]], axis=1).T.tolist()}
    assert not edges & {tuple(pair) for pair in pairs.T.tolist()}


def test_a_node_is_as_likely_as_any_other_of_its_community_itself_included() -> None:
    pairs = drawn(1.0)
    alone = pairs[:, pairs[0] == 6]
    assert (alone[1] == 6).all()
    # Node 3 has no edges: itself and its three companions are equally likely.
    share = np.bincount(pairs[1][pairs[0] == 3], minlength=7)[:4] / (pairs[0] == 3).sum()
    assert np.abs(share - 0.25).max() < 0.06


def test_only_the_paper_protocol_has_self_pairs() -> None:
    cora = load_dataset("cora")
    paper = audit(make_split(cora, protocol="paper", negatives="community", seed=1))
    assert 40 <= paper.self_pairs <= 160  # of 2 x 1056 negatives
    assert paper.false_validation == paper.false_test == 0
    for protocol, negatives in (("paper", "uniform"), ("undirected", "community")):
        clean = make_split(cora, protocol=protocol, negatives=negatives, seed=1)
        assert audit(clean).self_pairs == 0


def test_too_few_pairs_are_refused_and_not_waited_for() -> None:
    # Two cliques joined by an edge: within them there is no pair left to draw but self pairs.
    clique = [(u, v) for u in range(6) for v in range(u)]
    edges = clique + [(u + 6, v + 6) for u, v in clique] + [(0, 6)]
    graph = graph_from_edges(np.array(edges).T)
    with raises(DataError):
        make_split(graph, protocol="paper", negatives="community")
