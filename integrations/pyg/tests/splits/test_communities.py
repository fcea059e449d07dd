"""Communities: the two implementations agree, and no global generator is touched."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from dynhp_pyg import DataError, load_dataset, make_split
from dynhp_pyg.splits import communities as module
from dynhp_pyg.splits.communities import detect_communities, modularity
from tests.support.messages import raises

CLIQUES = np.array([[0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]])


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    def refuse(name: str) -> ModuleType:
        if name in packages:
            raise ImportError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(module, "import_module", refuse)


def test_igraph_and_networkx_reach_the_same_modularity_on_coras_training_graph() -> None:
    pytest.importorskip("igraph")
    split = make_split(load_dataset("cora"))
    fast, reference = (
        detect_communities(split.graph.num_nodes, split.train, method=method)
        for method in ("igraph", "networkx")
    )
    assert abs(fast.modularity - reference.modularity) < 0.005
    assert (fast.method, reference.method) == ("igraph", "networkx")
    assert fast.modularity > 0.8
    assert abs(fast.count - reference.count) <= 3


def test_modularity_is_networkxs() -> None:
    networkx = pytest.importorskip("networkx")
    membership = np.array([0, 0, 1, 1, 2, 2])
    graph = networkx.Graph(CLIQUES.T.tolist())
    expected = networkx.community.modularity(graph, [{0, 1}, {2, 3}, {4, 5}])
    assert modularity(membership, CLIQUES) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["igraph", "networkx", "leiden"])
def test_every_method_finds_two_cliques_and_leaves_isolated_nodes_alone(method: str) -> None:
    if method != "networkx":
        pytest.importorskip("igraph")
    detected = detect_communities(8, CLIQUES, method=method)  # type: ignore[arg-type]
    assert detected.membership.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert (detected.method, detected.count) == (method, 4)


def test_leiden_is_at_least_as_good_and_takes_no_global_random_numbers() -> None:
    pytest.importorskip("igraph")
    graph = load_dataset("cora")
    state = random.getstate()
    first = detect_communities(graph.num_nodes, graph.edges, method="leiden")
    assert random.getstate() == state
    again = detect_communities(graph.num_nodes, graph.edges, method="leiden")
    greedy = detect_communities(graph.num_nodes, graph.edges, method="igraph")
    assert np.array_equal(first.membership, again.membership)
    assert first.modularity >= greedy.modularity


def test_equal_partitions_are_equal_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    for labels in ([7, 3, 7, 5], [0, 9, 0, 2]):
        raw = np.array(labels)
        monkeypatch.setitem(module._DETECTORS, "networkx", lambda *_, raw=raw: raw)
        communities = detect_communities(4, CLIQUES[:, :2], method="networkx")
        assert communities.membership.tolist() == [0, 1, 0, 2]


def test_networkx_steps_in_where_igraph_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "igraph")
    assert detect_communities(6, CLIQUES).method == "networkx"


@pytest.mark.parametrize("method", ["igraph", "leiden", "networkx"])
def test_a_missing_package_comes_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    without(monkeypatch, "igraph", "networkx")
    with raises(DataError):
        detect_communities(6, CLIQUES, method=method)  # type: ignore[arg-type]


def test_the_package_imports_without_igraph() -> None:
    program = "import sys; sys.modules['igraph'] = None; import dynhp_pyg.splits.communities"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_bad_questions_are_refused() -> None:
    with raises(DataError):
        detect_communities(6, CLIQUES, method="lieden")  # type: ignore[arg-type]
    with raises(DataError):
        detect_communities(6, np.zeros((2, 0), np.int64))
