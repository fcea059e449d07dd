"""The runs of each part of the reproduction: its columns, its seeds, and every method in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

from benchmarks.paper.compared import GRAPHS, NEGATIVES, SPLITS
from benchmarks.paper.protocol.arms import CONFIRMED, Part, RunSettings, methods_of
from dynhp.errors import SettingsError
from dynhp_pyg.checks import whole

__all__ = ["Part", "runs_of"]


def runs_of(
    part: Part, *, protocol: str, seeds: int, layers: int = 2, width: int = 64, epochs: int = 500
) -> list[RunSettings]:
    """Give the settings of every run of a part, the seed changing slowest.

    - tables: both graphs, three splits, two samplers; complete and random search, AdaGrid with
      nine pairs of epochs and two criteria, two placebos;
    - headline: 80/10/10 only; complete and random search, AdaGrid 10/1 and its placebo;
    - variants: 80/10/10, uniform negatives; other proposers and other hyperparameters;
    - quick: Cora 80/10/10, uniform negatives; complete search, random search and AdaGrid 10/1;
    - published: the columns of tables; the searches, AdaGrid 10/1 and 10/5 with the learning rate
      of the published code and as the paper's text has it, and the same restarts of the rate
      without adaptation;
    - fair: 80/10/10; every method with the same restarts of the rate, and a constant rate. One
      column, in which AdaGrid may have something left, has twice as many seeds.

    Complete search is nine runs with a fixed ratio each: its result is the one that validates
    best, and nothing is trained twice.

    >>> len(runs_of("tables", protocol="paper", seeds=3)), len(runs_of("quick", protocol="paper",
    ...                                                                seeds=1))
    (1080, 11)
    """
    if part not in get_args(Part):
        raise SettingsError(f"part must be one of {get_args(Part)}, got {part!r}")
    whole("seeds", seeds, least=1)
    model = {"protocol": protocol, "layers": layers, "width": width, "epochs": epochs}
    return [
        {**column, **model, **method, "seed": seed}
        for column, seed in _columns_and_seeds(part, protocol, seeds)
        for method in methods_of(part, column)
    ]


def _columns_and_seeds(part: Part, protocol: str, seeds: int) -> Iterator[tuple[RunSettings, int]]:
    for seed in range(seeds):
        yield from ((column, seed) for column in _columns(part))
    if part == "fair" and protocol == "undirected":
        yield from ((CONFIRMED, seed) for seed in range(seeds, 2 * seeds))


def _columns(part: Part) -> list[RunSettings]:
    splits = SPLITS if part in ("tables", "published") else SPLITS[-1:]
    graphs = GRAPHS[:1] if part == "quick" else GRAPHS
    negatives = NEGATIVES[:1] if part in ("quick", "variants") else NEGATIVES
    return [
        {"graph": graph, "split": split, "negatives": sampler}
        for graph, split, sampler in product(graphs, splits, negatives)
    ]
