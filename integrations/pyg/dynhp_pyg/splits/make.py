"""Training, validation and test edges, under the leak-free protocol or the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.arrays import Ints, distinct_pairs
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import features_from_csr
from dynhp_pyg.graphs.graph import Graph, log
from dynhp_pyg.splits.communities import Communities, CommunityMethod, detect_communities
from dynhp_pyg.splits.negatives import (
    CommunityNegatives,
    UniformNegatives,
    community_negatives,
    uniform_negatives,
)
from dynhp_pyg.splits.paper_negatives import published_negatives
from dynhp_pyg.splits.ratios import Ratios, checked_ratios, parse_ratios
from dynhp_pyg.splits.split import Split, SplitProtocol, message_count

__all__ = ["Ratios", "Split", "SplitProtocol", "make_split", "message_count", "parse_ratios"]
__all__ += ["with_degree_features"]

Sampler = UniformNegatives | CommunityNegatives
Negatives = Literal["uniform", "community"]


def make_split(
    graph: Graph,
    ratios: Ratios = (0.8, 0.1, 0.1),
    *,
    protocol: SplitProtocol = "undirected",
    negatives: Negatives = "uniform",
    seed: int = 0,
    communities: CommunityMethod = "auto",
) -> Split:
    """Split a graph's edges into training, validation and test, with as many negatives as edges.

    Validation and test get round(ratio * n) edges each, training the rest. Their negatives are
    fixed here, without repeats and without a pair in common (except community negatives under
    the `paper` protocol, which are drawn as in its code).

    Args:
        graph: the graph whose edges are split.
        ratios: the shares of training, validation and test edges.
        protocol: "undirected" keeps both directions of an edge in one part; "paper" splits arcs
            one by one, as the published code does, which leaks.
        negatives: "uniform", or "community" for negatives of which as many are within
            communities of the training graph as validation edges are.
        seed: decides the parts and the negatives.
        communities: how communities are detected; see `detect_communities`.

    >>> from dynhp_pyg.graphs.bundled import load_dataset
    >>> split = make_split(load_dataset("cora"), seed=1)
    >>> split.train.shape, split.validation.shape, split.test_negatives.shape
    ((2, 4222), (2, 528), (2, 528))
    """
    one_of("protocol", protocol, get_args(SplitProtocol), error=DataError)
    one_of("negatives", negatives, get_args(Negatives), error=DataError)
    for_edges, for_negatives = _generators(seed)
    ordered = protocol == "paper"  # its code splits arcs one by one
    units = graph.arcs() if ordered else graph.edges
    train, validation, test = _cut(units, checked_ratios(ratios), for_edges)
    detected, ratio = None, None
    if negatives == "community":
        detected = detect_communities(graph.num_nodes, distinct_pairs(train), method=communities)
        ratio = detected.share_within(validation)
    sampler = _sampler(graph, detected, ratio, ordered)
    sizes = validation.shape[1], test.shape[1]
    if protocol == "paper" and detected is not None and ratio is not None:
        # Refuse what the clean sampler could not give either: rejection would never end.
        sampler(graph.edges).distinct(max(sizes), np.random.default_rng(0))
        validation_negatives, test_negatives = (
            published_negatives(
                detected.membership, graph.edges, ratio=ratio, count=size, rng=for_negatives
            )
            for size in sizes
        )
    else:
        validation_negatives, test_negatives = _without_repeats(
            sampler, graph.edges, sizes, for_negatives
        )
    if protocol == "paper":  # its code always trains on uniform negatives
        sampler = _sampler(graph, None, None, ordered)
    split = Split(
        graph=graph,
        protocol=protocol,
        ratios=ratios,
        seed=seed,
        train=train,
        validation=validation,
        test=test,
        validation_negatives=validation_negatives,
        test_negatives=test_negatives,
        negatives=sampler(graph.edges),
        communities=detected,
        community_ratio=ratio,
    )
    if split.warning:
        log.warning("%s: %s", graph.name, split.warning)
    return split


def with_degree_features(split: Split, *, highest: int = 63) -> Split:
    """The same split with one-hot degrees as features; degrees above `highest` share a feature.

    Degrees are those of the *training* edges: those of the whole graph would reveal test edges.

    >>> from dynhp_pyg.graphs.graph import graph_from_edges
    >>> path = graph_from_edges([[0, 1, 2, 3], [1, 2, 3, 4]])
    >>> with_degree_features(make_split(path, (0.5, 0.25, 0.25))).graph.num_features
    64
    """
    nodes = split.graph.num_nodes
    degrees = np.bincount(split.train.ravel(), minlength=nodes)
    features = features_from_csr(
        np.arange(nodes + 1),
        np.minimum(degrees, highest),
        np.ones(nodes, np.float32),
        shape=(nodes, highest + 1),
    )
    return replace(split, graph=replace(split.graph, features=features))


def _generators(seed: int) -> list[np.random.Generator]:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"a seed must be an integer of at least 0, got {seed!r}")
    return [np.random.default_rng(each) for each in np.random.SeedSequence(int(seed)).spawn(2)]


def _cut(units: Ints, ratios: Ratios, rng: np.random.Generator) -> list[Ints]:
    count = units.shape[1]
    validation, test = round(ratios[1] * count), round(ratios[2] * count)
    train = count - validation - test
    if min(train, validation, test) < 1:
        raise DataError(
            f"each part of a split must hold an edge, got {train}, {validation} and {test} for "
            f"ratios {ratios!r} of {count} edges; take other ratios or a larger graph"
        )
    shuffled = rng.permutation(count)
    parts = np.split(shuffled, [train, train + validation])
    # In the graph's order: it carries no information, and memory is read in one direction.
    return [units[:, np.sort(part)] for part in parts]


def _without_repeats(
    sampler: Callable[[Ints], Sampler],
    edges: Ints,
    sizes: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    validation = sampler(edges).distinct(sizes[0], rng)
    # From here on they are known, so that the test shares none of them.
    known = np.concatenate([edges, validation], axis=1)
    return validation, sampler(known).distinct(sizes[1], rng)


def _sampler(
    graph: Graph, detected: Communities | None, ratio: float | None, ordered: bool
) -> Callable[[Ints], Sampler]:
    """The function that builds the sampler for a set of known pairs."""
    if detected is None or ratio is None:
        return partial(uniform_negatives, graph.num_nodes, ordered=ordered)
    return partial(community_negatives, detected.membership, ratio=ratio, ordered=ordered)
