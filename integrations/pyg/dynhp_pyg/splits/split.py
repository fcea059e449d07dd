"""What a split is: three parts of the edges, and what passes messages at each stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.splits.communities import Communities
from dynhp_pyg.splits.negatives import NegativeSampler
from dynhp_pyg.splits.ratios import Ratios

SplitProtocol = Literal["undirected", "paper"]

LEAK_WARNING = (
    "protocol 'paper' leaks: arcs are split one by one, so most test edges have their reverse "
    "among the message edges; use it only to compare with the paper's tables"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """The edges of a graph in three parts, with negatives: made by `make_split`.

    Under "undirected" a column is a pair u < v that stands for both directions; under "paper"
    it is a single arc.

    Attributes:
        graph: the graph that was split.
        protocol: "undirected", or "paper", which leaks.
        ratios: the shares of the three parts.
        seed: what decided the split.
        train: the training edges, shape (2, number of edges).
        validation: the validation edges.
        test: the test edges.
        validation_negatives: as many pairs that are not edges.
        test_negatives: as many pairs that are not edges.
        negatives: draws the training negatives, again for every epoch.
        communities: those that the negatives were drawn by, if any.
        community_ratio: the share of negatives within a community, if communities were used.

    >>> from dynhp_pyg import load_dataset, make_split
    >>> split = make_split(load_dataset("cora"), (0.8, 0.1, 0.1))
    >>> split.train.shape, split.test.shape, split.test_negatives.shape
    ((2, 4222), (2, 528), (2, 528))
    """

    graph: Graph
    protocol: SplitProtocol
    ratios: Ratios
    seed: int
    train: Ints
    validation: Ints
    test: Ints
    validation_negatives: Ints
    test_negatives: Ints
    negatives: NegativeSampler
    communities: Communities | None = None
    community_ratio: float | None = None

    @property
    def warning(self) -> str | None:
        """The line to show wherever results of this split are shown, or None if it is clean."""
        return LEAK_WARNING if self.protocol == "paper" else None

    def message_edges(self, stage: Literal["validation", "test"]) -> Ints:
        """The edges that pass messages: those of training, at the test also those of validation."""
        one_of("stage", stage, ("validation", "test"), error=DataError)
        if stage == "validation":
            return self.train
        return np.concatenate([self.train, self.validation], axis=1)

    def message_mask(self, ratio: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """A random choice of round(ratio * n) of the n training edges to pass messages.

        The others are the epoch's objective; at least one must be on each side.
        """
        count = self.train.shape[1]
        messages = message_count(ratio, count)
        keys = rng.random(count)
        mask: NDArray[np.bool_] = keys < np.partition(keys, messages)[messages]
        if np.count_nonzero(mask) != messages:  # equal keys: about once in a billion epochs
            mask = np.zeros(count, bool)
            mask[np.argsort(keys, kind="stable")[:messages]] = True
        return mask

    def partition(self, ratio: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """The training edges in two: those that pass messages, and the epoch's objective."""
        mask = self.message_mask(ratio, rng)
        return self.train[:, mask], self.train[:, ~mask]


def message_count(ratio: float, count: int) -> int:
    """How many of `count` training edges pass messages: round(ratio * count).

    >>> message_count(0.5, 101)
    50
    """
    if not 0 < ratio < 1:
        raise DataError(
            f"the edge message ratio must lie between 0 and 1, both excluded, got {ratio!r}"
        )
    messages = round(ratio * count)
    if not 0 < messages < count:
        raise DataError(
            f"the edge message ratio must leave a message edge and an objective edge, got "
            f"{ratio!r}: {messages} message and {count - messages} objective of {count} training "
            f"edges; {_admissible(count)}"
        )
    return messages


def _admissible(count: int) -> str:
    if count < 2:
        return "take a larger training part"
    return f"take a ratio from {1 / count:.3g} to {1 - 1 / count:.6g}"
