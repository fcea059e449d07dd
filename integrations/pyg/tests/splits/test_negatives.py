"""Samplers: never a known edge, exact counts, and exactly the promised distribution."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from dynhp_pyg import DataError
from dynhp_pyg.splits.free_pairs import between, free_pairs, groups_of, inside
from dynhp_pyg.splits.negatives import (
    CommunityNegatives,
    UniformNegatives,
    community_negatives,
    uniform_negatives,
)
from dynhp_pyg.splits.ranks import ranks_of
from tests.support.messages import raises

Ints = NDArray[np.int64]
Pair = tuple[int, int]
NONE = np.zeros((2, 0), np.int64)


def columns(pairs: Ints) -> list[Pair]:
    return [(int(u), int(v)) for u, v in pairs.T]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Ints, Ints, set[Pair]]:
    """A community for each node, known edges in any direction, and the pairs they are."""
    nodes = draw(st.integers(2, 12))
    raw = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    _, membership = np.unique(raw, return_inverse=True)
    pairs = list(combinations(range(nodes), 2))
    known = draw(st.lists(st.sampled_from(pairs), unique=True))
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in known]
    edges = np.array(turned, np.int64).reshape(-1, 2).T
    return membership, edges, set(known)


@settings(max_examples=120, deadline=None)
@given(graphs())
def test_ranks_name_every_non_edge_once(graph: tuple[Ints, Ints, set[Pair]]) -> None:
    membership, edges, known = graph
    groups = groups_of(membership)
    same = membership[edges[0]] == membership[edges[1]]
    for space, mine, kind in ((inside, same, True), (between, ~same, False)):
        free = free_pairs(space(groups), edges[:, mine])
        listed = columns(free.pairs(np.arange(free.count)))
        expected = {
            (u, v)
            for u, v in combinations(range(len(membership)), 2)
            if (membership[u] == membership[v]) == kind and (u, v) not in known
        }
        assert len(listed) == len(expected)
        assert set(listed) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=40), st.integers(1, 400))
def test_ranks_are_those_of_a_plain_search(values: list[int], limit: int) -> None:
    boundaries, queries = np.sort(np.array(values, np.int64)), np.arange(limit)
    expected = boundaries.searchsorted(queries, side="right")
    assert np.array_equal(ranks_of(boundaries, limit).at_most(queries), expected)


@settings(max_examples=120, deadline=None)
@given(graphs(), st.data())
def test_uniform_negatives_are_exact_and_never_known(
    graph: tuple[Ints, Ints, set[Pair]], data: st.DataObject
) -> None:
    membership, edges, known = graph
    sampler = uniform_negatives(len(membership), edges, ordered=data.draw(st.booleans()))
    count = data.draw(st.integers(0, sampler.free.count))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for repeats, drawn in (
        (True, sampler.sample(count, rng)),
        (False, sampler.distinct(count, rng)),
    ):
        check_pairs(drawn, count, known, repeats=repeats)
        assert sampler.ordered or (drawn[0] < drawn[1]).all()


@settings(max_examples=150, deadline=None)
@given(graphs(), st.floats(0, 1), st.data())
def test_community_negatives_are_exact_and_keep_the_ratio(
    graph: tuple[Ints, Ints, set[Pair]], ratio: float, data: st.DataObject
) -> None:
    membership, edges, known = graph
    count = data.draw(st.integers(0, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    try:
        sampler = community_negatives(membership, edges, ratio=ratio)
        samples = ((True, sampler.sample(count, rng)), (False, sampler.distinct(count, rng)))
    except DataError as error:
        assert "communities" in str(error)  # noqa: PT017 - too few of a kind is a fair answer
        return
    for repeats, drawn in samples:
        check_pairs(drawn, count, known, repeats=repeats)
        within = int((membership[drawn[0]] == membership[drawn[1]]).sum())
        assert abs(within - ratio * count) <= 1


def check_pairs(drawn: Ints, count: int, known: set[Pair], *, repeats: bool) -> None:
    assert drawn.shape == (2, count)
    assert drawn.dtype == np.int64
    assert (drawn[0] != drawn[1]).all()
    pairs = [(min(pair), max(pair)) for pair in columns(drawn)]
    assert not known.intersection(pairs)
    assert repeats or len(set(pairs)) == count


MEMBERSHIP = np.array([0] * 5 + [1] * 3 + [2] * 2 + [3])
EDGES = np.array([[0, 1, 5, 0, 4], [1, 2, 6, 8, 10]])


def p_value(drawn: list[Pair], weights: dict[Pair, float]) -> float:
    seen, total = Counter(drawn), sum(weights.values())
    assert set(seen) <= set(weights)
    expected = [len(drawn) * weight / total for weight in weights.values()]
    return float(chisquare([seen[pair] for pair in weights], expected).pvalue)


def non_edges() -> list[Pair]:
    known = set(columns(EDGES))
    return [pair for pair in combinations(range(len(MEMBERSHIP)), 2) if pair not in known]


def test_uniform_negatives_are_uniform() -> None:
    sampler, rng = uniform_negatives(len(MEMBERSHIP), EDGES), np.random.default_rng(1)
    weights = dict.fromkeys(non_edges(), 1.0)
    assert len(weights) == sampler.free.count == 50
    many = np.concatenate([sampler.sample(50, rng) for _ in range(1000)], axis=1)
    few = np.concatenate([sampler.distinct(5, rng) for _ in range(4000)], axis=1)
    assert p_value(columns(many), weights) > 0.01
    # Draws without repeats are a little too even for the test: they must not fail it.
    assert p_value(columns(few), weights) > 0.01


def test_ordered_negatives_come_in_both_orders_alike() -> None:
    sampler = uniform_negatives(len(MEMBERSHIP), EDGES, ordered=True)
    rng = np.random.default_rng(2)
    drawn = np.concatenate([sampler.sample(50, rng) for _ in range(1000)], axis=1)
    weights = {pair: 1.0 for u, v in non_edges() for pair in ((u, v), (v, u))}
    assert p_value(columns(drawn), weights) > 0.01


@pytest.fixture
def sampler() -> CommunityNegatives:
    return community_negatives(MEMBERSHIP, EDGES, ratio=0.5)


def paper_weights() -> tuple[dict[Pair, float], dict[Pair, float]]:
    """By the definition: a uniform node, then a uniform one of its community; two uniform ones."""
    size = np.bincount(MEMBERSHIP)
    within = {
        (u, v): 1 / size[MEMBERSHIP[u]] for u, v in non_edges() if MEMBERSHIP[u] == MEMBERSHIP[v]
    }
    across = {(u, v): 1.0 for u, v in non_edges() if MEMBERSHIP[u] != MEMBERSHIP[v]}
    return within, across


def test_community_negatives_follow_the_papers_law(sampler: CommunityNegatives) -> None:
    rng = np.random.default_rng(3)
    drawn = columns(np.concatenate([sampler.sample(20, rng) for _ in range(2000)], axis=1))
    for weights in paper_weights():
        mine = [pair for pair in drawn if pair in weights]
        assert len(mine) == 20_000
        assert p_value(mine, weights) > 0.01
    # The weights matter: pairs of a small community come up more often than by a uniform draw.
    within = paper_weights()[0]
    assert p_value([pair for pair in drawn if pair in within], dict.fromkeys(within, 1.0)) < 1e-6


def test_the_definition_by_rejection_gives_the_same_law() -> None:
    rng, within = np.random.default_rng(4), paper_weights()[0]
    drawn: list[Pair] = []
    while len(drawn) < 5000:
        u = int(rng.integers(len(MEMBERSHIP)))
        v = int(rng.choice(np.flatnonzero(MEMBERSHIP[u] == MEMBERSHIP)))
        if (min(u, v), max(u, v)) in within:
            drawn.append((min(u, v), max(u, v)))
    assert p_value(drawn, within) > 0.01


@pytest.mark.parametrize("count", [2, 8])  # few of the pairs, and most of them: two ways to draw
def test_the_first_of_distinct_negatives_follows_the_papers_law(
    sampler: CommunityNegatives, count: int
) -> None:
    rng = np.random.default_rng(5)
    within = paper_weights()[0]
    first = [columns(sampler.distinct(count, rng))[0] for _ in range(4000)]
    assert p_value(first, within) > 0.01


def test_too_many_negatives_say_how_many_exist(sampler: CommunityNegatives) -> None:
    rng = np.random.default_rng(0)
    triangle = uniform_negatives(4, np.array([[0, 0, 1], [1, 2, 2]]))
    assert triangle.distinct(3, rng).shape == (2, 3)
    with raises(DataError):
        triangle.distinct(4, rng)
    with raises(DataError):
        sampler.distinct(60, rng)
    # Training draws with repeats: few non-edges are enough, in the middle of a run above all.
    assert triangle.sample(400, rng).shape == (2, 400)
    assert sampler.sample(60, rng).shape == (2, 60)
    with raises(DataError):
        uniform_negatives(2, np.array([[0], [1]])).sample(1, rng)
    with raises(DataError):
        triangle.sample(-1, rng)


def test_impossible_communities_are_refused() -> None:
    with raises(DataError):
        community_negatives(np.zeros(4, np.int64), NONE, ratio=0.5)
    with raises(DataError):
        community_negatives(np.arange(4), NONE, ratio=0.5)
    square = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    with raises(DataError):
        community_negatives(np.array([0, 0, 1, 1]), square, ratio=0.5)
    with raises(DataError):
        community_negatives(np.array([0, 0, 1, 1]), NONE, ratio=float("nan"))


def test_the_same_seed_gives_the_same_negatives_and_no_global_generator_is_touched(
    sampler: CommunityNegatives,
) -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index]
    for draw in (sampler.sample, sampler.distinct):
        first = draw(10, np.random.default_rng(7))
        assert np.array_equal(first, draw(10, np.random.default_rng(7)))
        assert not np.array_equal(first, draw(10, np.random.default_rng(8)))
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


def large() -> tuple[UniformNegatives, CommunityNegatives]:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 20_000, (2, 100_000))
    edges = edges[:, edges[0] != edges[1]]
    communities = rng.integers(0, 100, 20_000)
    return uniform_negatives(20_000, edges), community_negatives(communities, edges, ratio=0.5)


def calls_for(sampler: UniformNegatives | CommunityNegatives, count: int) -> int:
    """The functions of Python and numpy that are called for so many pairs."""
    calls = itertools.count()
    rng = np.random.default_rng(0)
    sys.setprofile(lambda frame, event, argument: next(calls))
    try:
        pairs = sampler.sample(count, rng)
    finally:
        sys.setprofile(None)
    assert pairs.shape == (2, count)
    return next(calls)


def test_a_million_negatives_take_no_more_calls_than_a_thousand() -> None:
    for sampler in large():
        assert calls_for(sampler, 1_000_000) == calls_for(sampler, 1000)
