"""Every way in which a split can leak, counted independently of how splits are made."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.splits.split import Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The number of leaks of each kind; all zero for a clean split.

    A *reverse* is an edge that is scored while its reverse arc (or itself) passes messages; a
    *shared* pair is, in either direction, in two parts; a *false* negative is a known edge.

    >>> from dynhp_pyg import load_dataset, make_split
    >>> leaking = audit(make_split(load_dataset("cora"), protocol="paper"))
    >>> f"{leaking.reverse_test_share:.0%}", leaking.false_test
    ('91%', 0)
    """

    protocol: str
    test_edges: int
    reverse_objective: int  # while training, at an edge message ratio of one half
    reverse_validation: int
    reverse_test: int
    shared_train_validation: int
    shared_train_test: int
    shared_validation_test: int
    false_training: int  # in a sample from the training sampler
    false_validation: int
    false_test: int
    self_pairs: int
    repeated_negatives: int  # within the validation or the test set
    shared_negatives: int  # in both the validation and the test set

    @property
    def counts(self) -> dict[str, int]:
        """The leaks by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)[2:]}

    @property
    def leaks(self) -> int:
        """All leaks; an edge counts once for each rule that it breaks."""
        return sum(self.counts.values())

    @property
    def reverse_test_share(self) -> float:
        """The share of test edges whose reverse passes messages at the test."""
        return self.reverse_test / max(self.test_edges, 1)

    def __str__(self) -> str:
        rows = [f"{name.replace('_', ' '):<26}{count:>8}" for name, count in self.counts.items()]
        share = f"reverse test share {self.reverse_test_share:.1%} of {self.test_edges} test edges"
        return "\n".join([f"audit of a {self.protocol!r} split: {self.leaks} leaks", *rows, share])


def audit(split: Split, *, sample: int = 5_000, seed: int = 0) -> Audit:
    """Count every kind of leak of a split; of training negatives, in a sample of about that size.

    >>> from dynhp_pyg.graphs.bundled import load_dataset
    >>> from dynhp_pyg.splits.make import make_split
    >>> audit(make_split(load_dataset("cora"))).leaks
    0
    """
    rng = np.random.default_rng(seed)
    nodes = split.graph.num_nodes
    parts = [_pairs(part, nodes) for part in (split.train, split.validation, split.test)]
    known = np.concatenate([*parts, _pairs(split.graph.edges, nodes)])
    drawn = _training_negatives(split, sample, rng)
    negatives = (drawn, split.validation_negatives, split.test_negatives)
    false = [int(np.isin(_pairs(each, nodes), known).sum()) for each in negatives]
    fixed = [_pairs(each, nodes) for each in negatives[1:]]
    return Audit(
        protocol=split.protocol,
        test_edges=split.test.shape[1],
        reverse_objective=_reverse_objective(split, rng),
        reverse_validation=_reversed(split, split.validation, split.message_edges("validation")),
        reverse_test=_reversed(split, split.test, split.message_edges("test")),
        shared_train_validation=_shared(parts[0], parts[1]),
        shared_train_test=_shared(parts[0], parts[2]),
        shared_validation_test=_shared(parts[1], parts[2]),
        false_training=false[0],
        false_validation=false[1],
        false_test=false[2],
        self_pairs=sum(int((each[0] == each[1]).sum()) for each in negatives),
        repeated_negatives=sum(len(each) - len(np.unique(each)) for each in fixed),
        shared_negatives=_shared(fixed[0], fixed[1]),
    )


def _pairs(edges: Ints, nodes: int) -> Ints:
    """One number for each pair, the same for both directions."""
    keys: Ints = edges.min(axis=0) * nodes + edges.max(axis=0)
    return keys


def _shared(first: Ints, second: Ints) -> int:
    return len(np.intersect1d(first, second))


def _reversed(split: Split, scored: Ints, messages: Ints) -> int:
    """How many of the scored edges have their reverse among the arcs that pass messages."""
    nodes = split.graph.num_nodes
    arcs = messages[0] * nodes + messages[1]
    if split.protocol == "undirected":  # a pair passes messages in both directions
        arcs = np.concatenate([arcs, messages[1] * nodes + messages[0]])
    return int(np.isin(scored[1] * nodes + scored[0], arcs).sum())


def _reverse_objective(split: Split, rng: np.random.Generator) -> int:
    if split.train.shape[1] < 2:
        return 0
    messages, objective = split.partition(0.5, rng)
    return _reversed(split, objective, messages)


def _training_negatives(split: Split, sample: int, rng: np.random.Generator) -> Ints:
    """About `sample` pairs, in draws as large as the test set, for which there are non-edges."""
    size = min(sample, split.test.shape[1])
    draws = [split.negatives.sample(size, rng) for _ in range(-(-sample // size))]
    return np.concatenate(draws, axis=1)
