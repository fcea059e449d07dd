"""Graphs: what is cleaned, what is refused, and that nothing else changes."""

from __future__ import annotations

import logging
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dynhp_pyg import DataError, graph_from_data, graph_from_edges
from dynhp_pyg.graphs.features import features_from
from dynhp_pyg.graphs.graph import Graph
from tests.support.messages import raises

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch_geometric imports deprecated parts of torch
    from torch_geometric.data import Data, HeteroData

arcs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25)


@settings(max_examples=60, deadline=None)
@given(arcs)
def test_edges_are_the_pairs_of_the_list(listed: list[tuple[int, int]]) -> None:
    edge_index = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    graph = graph_from_edges(edge_index, 8, directed="symmetrize")
    expected = sorted({(min(pair), max(pair)) for pair in listed if pair[0] != pair[1]})
    assert graph.edges.T.tolist() == [list(pair) for pair in expected]
    assert graph.degrees().sum() == graph.arcs().shape[1] == 2 * len(expected)


@settings(max_examples=100, deadline=None)
@given(arcs)
def test_only_mixed_lists_are_directed(listed: list[tuple[int, int]]) -> None:
    unique = {pair for pair in listed if pair[0] != pair[1]}
    one_way = {pair for pair in unique if pair[::-1] not in unique}
    edge_index = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    if one_way and one_way != unique:
        # The numbers in its text are drawn.
        with pytest.raises(DataError, match=f"{len(one_way)} of {len(unique)} arcs without"):
            graph_from_edges(edge_index, 8)
    else:
        graph_from_edges(edge_index, 8)
    if one_way:
        # The numbers in its text are drawn.
        with pytest.raises(DataError, match="must be undirected"):
            graph_from_edges(edge_index, 8, directed="refuse")
    else:
        graph_from_edges(edge_index, 8, directed="refuse")


def test_what_was_removed_is_said_and_logged_but_not_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, logger="dynhp.pyg"):
        graph = graph_from_edges([[0, 0, 1, 2, 2], [1, 1, 2, 2, 2]], name="mine")
    assert graph.notices == ("removed 1 self loops", "removed 1 repeated edges")
    assert caplog.messages == ["mine: removed 1 self loops", "mine: removed 1 repeated edges"]
    assert capsys.readouterr() == ("", "")


def test_one_way_pairs_in_mixed_order_are_mentioned() -> None:
    assert graph_from_edges([[0, 1], [1, 2]]).notices == ()
    assert "read 2 one-way pairs" in graph_from_edges([[0, 2], [1, 1]]).notices[0]


@pytest.mark.parametrize(
    ("edge_index", "options"),
    [
        ([[0, 5], [1, 2]], {"num_nodes": 4}),
        ([[0, -1], [1, 2]], {}),
        ([[0, 1, 2]], {}),
        ([[0, 1], [1]], {}),
        ([[0.0], [1.5]], {}),
        ([[True], [False]], {}),
        (np.array([[2**63], [1]], np.uint64), {}),
        ([[0], [1]], {"num_nodes": 2.5}),
        (np.zeros((2, 0), int), {}),
        ([[0], [1]], {"directed": "yes"}),
        ([[0], [1]], {"features": [[1.0], [np.nan]]}),
        ([[0], [1]], {"features": [[1.0, -np.inf], [0.0, 1.0]]}),
        ([[0], [1]], {"features": [[1e300], [1.0]]}),
        ([[0], [1]], {"features": [1.0, 2.0]}),
        ([[0], [1]], {"features": [["a"], ["b"]]}),
        ([[0], [1]], {"features": np.ones((3, 1)), "num_nodes": 2}),
        ([[0], [1]], {"labels": [0, 1, 2], "num_nodes": 2}),
        ([[0], [1]], {"labels": [0.5, 1.0]}),
    ],
)
def test_bad_input_is_refused(edge_index: Any, options: dict[str, Any]) -> None:
    with raises(DataError):
        graph_from_edges(edge_index, **options)


@pytest.mark.parametrize("edges", [[[1], [0]], [[1], [1]], [[0, 0], [2, 1]], [[0, 0], [1, 1]]])
def test_a_graph_can_only_hold_sorted_unique_pairs(edges: list[list[int]]) -> None:
    with raises(DataError):
        Graph(name="bad", num_nodes=3, edges=np.array(edges))


def test_a_graph_is_read_only_and_leaves_the_callers_array_alone() -> None:
    mine = np.array([[0], [1]])
    graph = Graph(name="g", num_nodes=2, edges=mine, features=features_from([[1.0], [2.0]]))
    assert graph.features is not None
    for array in (graph.edges, graph.features.data):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    mine[0, 0] = 0
    assert pickle.loads(pickle.dumps(graph)).edges.tolist() == [[0], [1]]


DENSE = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, -1.0]], np.float32)


@pytest.mark.parametrize(
    "form",
    [
        lambda: DENSE,
        lambda: torch.tensor(DENSE),
        lambda: torch.tensor(DENSE).to_sparse(),
        lambda: torch.tensor(DENSE).to_sparse_csr(),
        lambda: torch.tensor(DENSE).to_sparse_csc(),
        lambda: sparse.csr_matrix(DENSE),
        lambda: sparse.coo_array(DENSE),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta state")
def test_features_are_the_same_from_any_form(form: Any) -> None:
    features = features_from(form())
    assert features.data.tolist() == [2.0, 3.0, -1.0]
    assert features.indices.tolist() == [1, 0, 2]
    assert features.indptr.tolist() == [0, 1, 1, 3]
    assert features.shape == (3, 3)
    assert features.data.dtype == np.float32


def test_stored_zeros_are_dropped_and_repeated_places_added_up() -> None:
    matrix = sparse.coo_matrix(([1.0, 2.0, 0.0, 1.0, -1.0], ([0, 0, 1, 2, 2], [1, 1, 0, 0, 0])))
    features = features_from(matrix)
    assert features.data.tolist() == [3.0]
    assert features.indptr.tolist() == [0, 1, 1, 1]


def test_any_pyg_data_becomes_a_graph() -> None:
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(x=torch.tensor(DENSE), edge_index=edge_index, y=torch.tensor([1, 0, 1]))
    graph = graph_from_data(data, name="pyg")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.num_features == 3
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, 0, 1]


def test_pyg_data_without_features_or_with_odd_labels_is_fine() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=5, y=torch.rand(5, 3))
    graph = graph_from_data(data)
    assert (graph.num_nodes, graph.features, graph.labels) == (5, None, None)


@pytest.mark.parametrize("data", [Data(x=torch.ones(2, 1)), HeteroData()])
def test_pyg_data_without_edges_is_refused(data: Any) -> None:
    with raises(DataError):
        graph_from_data(data)


def test_pyg_data_with_one_way_arcs_needs_consent() -> None:
    rising = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    with raises(DataError):
        graph_from_data(rising)
    assert graph_from_data(rising, directed="symmetrize").num_edges == 2
