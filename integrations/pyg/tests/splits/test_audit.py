"""The audit: silent on every clean split, loud on each kind of leak."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynhp_pyg import DataError, audit, graph_from_edges, load_dataset, make_split
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.splits.make import Split
from dynhp_pyg.splits.negatives import uniform_negatives


@st.composite
def any_graph(draw: st.DrawFn) -> Graph:
    nodes = draw(st.integers(6, 20))
    pairs = list(combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=5, max_size=40))
    return graph_from_edges(np.array(chosen).T, nodes)


ratio_choices = st.sampled_from([(0.2, 0.4, 0.4), (0.5, 0.25, 0.25), (0.8, 0.1, 0.1)])


@settings(max_examples=200, deadline=None)
@given(any_graph(), ratio_choices, st.sampled_from(["uniform", "community"]), st.integers(0, 5))
def test_no_undirected_split_leaks(graph: Graph, ratios: Any, negatives: Any, seed: int) -> None:
    try:
        split = make_split(graph, ratios, negatives=negatives, seed=seed)
    except DataError:  # too small, too dense or of one community
        return
    counted = audit(split, sample=200)
    assert counted.leaks == 0, str(counted)


@settings(max_examples=50, deadline=None)
@given(any_graph(), ratio_choices, st.integers(0, 5))
def test_the_papers_protocol_leaks_by_reverse_arcs_only(
    graph: Graph, ratios: Any, seed: int
) -> None:
    try:
        split = make_split(graph, ratios, protocol="paper", seed=seed)
    except DataError:
        return
    counted = audit(split, sample=200)
    parts = [set(zip(*part.tolist(), strict=True)) for part in (split.train, split.validation)]
    reverse = sum((v, u) in parts[0] | parts[1] for u, v in split.test.T.tolist())
    assert counted.reverse_test == reverse
    clean = ("false", "self", "repeated", "shared_neg")
    assert not any(count for name, count in counted.counts.items() if name.startswith(clean))


@pytest.mark.parametrize("name", ["cora", "citeseer"])
@pytest.mark.parametrize("negatives", ["uniform", "community"])
def test_bundled_graphs_are_clean_undirected_and_leak_nine_in_ten_as_published(
    name: str, negatives: Any
) -> None:
    graph = load_dataset(name)
    assert audit(make_split(graph, negatives=negatives)).leaks == 0
    shares = [
        audit(
            make_split(graph, negatives=negatives, protocol="paper", seed=seed)
        ).reverse_test_share
        for seed in range(3)
    ]
    assert np.mean(shares) == pytest.approx(0.9, abs=0.02)


@pytest.fixture(scope="module")
def clean() -> Split:
    return make_split(load_dataset("cora"))


def joined(*parts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(parts, axis=1)


def leaky(split: Split, kind: str) -> Split:
    """The same split with three leaks of one kind."""
    train, validation, test = (
        part[::-1, :3] for part in (split.train, split.validation, split.test)
    )
    val_neg, test_neg = split.validation_negatives, split.test_negatives
    blind = uniform_negatives(split.graph.num_nodes, np.zeros((2, 0), np.int64))
    changes: dict[str, dict[str, Any]] = {
        "shared_train_validation": {"validation": joined(split.validation, train)},
        "shared_train_test": {"test": joined(split.test, train)},
        "shared_validation_test": {"test": joined(split.test, validation)},
        "reverse_validation": {"train": joined(split.train, validation)},
        "reverse_test": {"validation": joined(split.validation, test)},
        "false_validation": {"validation_negatives": joined(val_neg, test)},
        "false_test": {"test_negatives": joined(test_neg, train)},
        "self_pairs": {"test_negatives": joined(test_neg, np.array([[1, 2, 3], [1, 2, 3]]))},
        "repeated_negatives": {"test_negatives": joined(test_neg, test_neg[::-1, :3])},
        "shared_negatives": {"test_negatives": joined(test_neg, val_neg[::-1, :3])},
        "false_training": {"negatives": blind},
    }
    return replace(split, **changes[kind])


@pytest.mark.parametrize(
    "kind",
    [
        "shared_train_validation",
        "shared_train_test",
        "shared_validation_test",
        "reverse_validation",
        "reverse_test",
        "false_validation",
        "false_test",
        "self_pairs",
        "repeated_negatives",
        "shared_negatives",
    ],
)
def test_each_kind_of_leak_is_counted(clean: Split, kind: str) -> None:
    counted = audit(leaky(clean, kind))
    assert counted.counts[kind] == 3
    assert counted.leaks >= 3


def test_a_sampler_that_gives_edges_is_found_out() -> None:
    dense = graph_from_edges(np.array([(u, v) for u in range(9) for v in range(u) if u + v > 8]).T)
    split = make_split(dense, (0.5, 0.25, 0.25))
    assert audit(split).false_training == 0
    assert audit(leaky(split, "false_training")).false_training > 0


def test_objective_edges_whose_reverse_passes_messages_are_counted(clean: Split) -> None:
    assert audit(clean).reverse_objective == 0
    assert audit(make_split(clean.graph, protocol="paper")).reverse_objective > 1000


def test_an_audit_reads_as_a_table(clean: Split) -> None:
    text = str(audit(make_split(clean.graph, protocol="paper", seed=1)))
    assert "audit of a 'paper' split" in text
    assert "reverse test share 9" in text
    assert len(text.splitlines()) == 14
