"""Splits: sizes, protocols, message edges, and every refusal."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynhp_pyg import DataError, graph_from_edges, load_dataset, make_split
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.splits.communities import detect_communities
from dynhp_pyg.splits.make import Split, message_count, parse_ratios, with_degree_features
from dynhp_pyg.splits.negatives import CommunityNegatives, UniformNegatives
from tests.support.messages import raises


@pytest.fixture(scope="module")
def cora() -> Graph:
    return load_dataset("cora")


@pytest.fixture(scope="module")
def split(cora: Graph) -> Split:
    return make_split(cora, seed=3)


def ring(nodes: int) -> Graph:
    return graph_from_edges([list(range(nodes)), [(i + 1) % nodes for i in range(nodes)]])


def columns(edges: NDArray[np.int64]) -> list[tuple[int, int]]:
    return [(int(u), int(v)) for u, v in edges.T]


@pytest.mark.parametrize("text", ["20/40/40", "50/25/25", "80/10/10"])
@pytest.mark.parametrize("protocol", ["undirected", "paper"])
def test_parts_are_the_edges_or_arcs_by_ratio(cora: Graph, text: str, protocol: Any) -> None:
    ratios = parse_ratios(text)
    split = make_split(cora, ratios, protocol=protocol)
    whole = cora.edges if protocol == "undirected" else cora.arcs()
    parts = (split.train, split.validation, split.test)
    for part, ratio in zip(parts, ratios, strict=True):
        assert abs(part.shape[1] - ratio * whole.shape[1]) <= 1
    together = [pair for part in parts for pair in columns(part)]
    assert sorted(together) == sorted(columns(whole))
    assert split.validation_negatives.shape == split.validation.shape
    assert split.test_negatives.shape == split.test.shape


def test_a_seed_decides_everything(cora: Graph, split: Split) -> None:
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    again, other = make_split(cora, seed=3), make_split(cora, seed=4)
    assert np.array_equal(state, np.random.get_state()[1])  # type: ignore[index]
    for name in ("train", "validation", "test", "validation_negatives", "test_negatives"):
        assert np.array_equal(getattr(split, name), getattr(again, name))
        assert not np.array_equal(getattr(split, name), getattr(other, name))


def test_messages_pass_on_training_edges_and_at_the_test_on_validation_edges_too(
    split: Split,
) -> None:
    assert columns(split.message_edges("validation")) == columns(split.train)
    expected = columns(split.train) + columns(split.validation)
    assert columns(split.message_edges("test")) == expected
    with raises(DataError):
        split.message_edges("tset")  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.floats(0, 1), st.integers(0, 9))
def test_messages_and_objective_are_a_partition(edges: int, ratio: float, seed: int) -> None:
    graph = ring(edges + 2)
    split = make_split(graph, (edges / (edges + 2), 1 / (edges + 2), 1 / (edges + 2)))
    assert split.train.shape[1] == edges
    rng = np.random.default_rng(seed)
    if not (0 < ratio < 1 and 0 < round(ratio * edges) < edges):
        # The numbers in its text are drawn.
        with pytest.raises(DataError, match="edge message ratio must"):
            split.partition(ratio, rng)
        return
    messages, objective = split.partition(ratio, rng)
    assert messages.shape[1] == round(ratio * edges) == message_count(ratio, edges)
    assert sorted(columns(messages) + columns(objective)) == sorted(columns(split.train))


def test_every_training_edge_is_as_often_a_message_edge(split: Split) -> None:
    rng = np.random.default_rng(0)
    times = sum(split.message_mask(0.3, rng).astype(int) for _ in range(400))
    # Binomial: 400 draws at 0.3, of 4222 edges the rarest beyond five deviations of nine.
    assert 75 < np.min(times) < np.max(times) < 165
    assert np.mean(times) == pytest.approx(120, abs=0.1)


class TiedNumbers(np.random.Generator):
    """Draws many equal numbers."""

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.array([0.5, 0.5, 0.5, 0.1, 0.9] * (size // 5) + [0.5] * (size % 5))


def test_equal_random_numbers_do_not_change_the_count() -> None:
    split = make_split(ring(12), (10 / 12, 1 / 12, 1 / 12))
    for ratio in (0.3, 0.5, 0.7):
        mask = split.message_mask(ratio, TiedNumbers(np.random.PCG64(0)))
        assert mask.sum() == round(ratio * 10)


@pytest.mark.parametrize(
    "ratio",
    [
        0.0,
        1.0,
        -0.5,
        float("nan"),
        1e-9,
        1 - 1e-9,
    ],
)
def test_bad_message_ratios_are_refused(split: Split, ratio: float) -> None:
    with raises(DataError):
        split.message_mask(ratio, np.random.default_rng(0))


def test_text_becomes_ratios() -> None:
    assert parse_ratios("20/40/40") == (0.2, 0.4, 0.4)
    assert parse_ratios(" 0.5 / 0.25/0.25") == (0.5, 0.25, 0.25)
    for bad in ("80/20", "a/b/c", "", "80/10/10/0"):
        with raises(DataError):
            parse_ratios(bad)
    with raises(DataError):
        parse_ratios("80/10/20")
    for bad in ("110/-5/-5", "100/0/0", "nan/1/1", "inf/1/1"):
        with raises(DataError):
            parse_ratios(bad)


@pytest.mark.parametrize(
    ("ratios", "options"),
    [
        ((0.8, 0.1, 0.2), {}),
        ((0.8, 0.2), {}),
        ((0.99, 0.005, 0.005), {}),
        ((0.8, 0.1, 0.1), {"protocol": "undirect"}),
        ((0.8, 0.1, 0.1), {"negatives": "comunity"}),
        ((0.8, 0.1, 0.1), {"negatives": "community", "communities": "x"}),
        ((0.8, 0.1, 0.1), {"seed": -1}),
        ((0.8, 0.1, 0.1), {"seed": 1.5}),
    ],
)
def test_bad_splits_are_refused(ratios: Any, options: dict[str, Any]) -> None:
    with raises(DataError):
        make_split(ring(10), ratios, **options)


def test_a_single_community_is_refused() -> None:
    clique = graph_from_edges(np.array([(u, v) for u in range(12) for v in range(u)]).T)
    with raises(DataError):
        make_split(clique, (64 / 66, 1 / 66, 1 / 66), negatives="community")


def test_a_graph_with_too_few_non_edges_says_how_many_exist() -> None:
    full = graph_from_edges(np.array([(u, v) for u in range(6) for v in range(u)]).T)
    with raises(DataError):
        make_split(full)


def test_community_negatives_have_the_validation_edges_ratio(cora: Graph) -> None:
    split = make_split(cora, negatives="community", seed=1)
    assert split.communities is not None
    community = split.communities.membership
    assert split.community_ratio == np.mean(
        community[split.validation[0]] == community[split.validation[1]]
    )
    drawn = split.negatives.sample(2000, np.random.default_rng(0))
    for negatives in (split.validation_negatives, split.test_negatives, drawn):
        within = np.sum(community[negatives[0]] == community[negatives[1]])
        assert abs(within - split.community_ratio * negatives.shape[1]) <= 1


def test_communities_are_found_on_training_edges_alone(cora: Graph) -> None:
    split = make_split(cora, negatives="community", seed=5)
    of_train, of_all = (detect_communities(cora.num_nodes, e) for e in (split.train, cora.edges))
    assert split.communities is not None
    assert np.array_equal(of_train.membership, split.communities.membership)
    assert of_train.count != of_all.count


def test_the_papers_protocol_trains_on_uniform_negatives_and_warns(
    cora: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="dynhp.pyg"):
        paper = make_split(cora, protocol="paper", negatives="community")
    assert paper.warning is not None
    assert caplog.messages == [f"cora: {paper.warning}"]
    assert isinstance(paper.negatives, UniformNegatives)
    assert paper.community_ratio is not None
    caplog.clear()
    clean = make_split(cora, negatives="community")
    assert clean.warning is None
    assert not caplog.messages
    assert isinstance(clean.negatives, CommunityNegatives)


def test_degree_features_know_nothing_of_held_out_edges(split: Split) -> None:
    changed = with_degree_features(split, highest=4)
    features = changed.graph.features
    assert features is not None
    degrees = np.bincount(split.train.ravel(), minlength=split.graph.num_nodes)
    assert np.array_equal(features.indices, np.minimum(degrees, 4))
    assert features.shape == (2708, 5)
    assert (features.data == 1).all()
    assert changed.train is split.train


def test_a_split_travels_to_other_processes(split: Split) -> None:
    copy = pickle.loads(pickle.dumps(split))
    samples = [each.negatives.sample(50, np.random.default_rng(0)) for each in (split, copy)]
    assert np.array_equal(*samples)
    assert np.array_equal(copy.train, split.train)
