"""What one training epoch works on, decided by the seed, the epoch and the hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.model.dropout import DropoutNoise, RecentNoise
from dynhp_pyg.model.engines.sparse import Mask
from dynhp_pyg.model.hyperparameters import HyperparameterValues
from dynhp_pyg.splits.make import Split

__all__ = ["Batch", "Stream", "draw", "entropy", "torch_seed"]


class Stream(IntEnum):
    """The independent random streams of an epoch: what changes one leaves the others alone."""

    WEIGHTS = 0
    MESSAGES = 1
    NEGATIVES = 2
    DROPOUT = 3
    ENCODER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One epoch's message edges, objective pairs and noise."""

    message: Mask
    objective: Ints
    positives: Ints
    negatives: Ints
    dropout: DropoutNoise
    rate: float
    seed: int
    epoch: int

    def noise_seed(self) -> int:
        """Give a seed for layers that draw their own noise."""
        return torch_seed(entropy(self.seed, self.epoch, Stream.ENCODER))


def entropy(seed: int, epoch: int, stream: Stream) -> np.random.SeedSequence:
    """Give the root of one random stream; the whole random state of a run is (seed, epoch).

    >>> entropy(1, 0, Stream.WEIGHTS).entropy
    [1, 0, 0]
    """
    return np.random.SeedSequence([seed, epoch, int(stream)])


def torch_seed(root: np.random.SeedSequence) -> int:
    """Give a seed that ``torch.manual_seed`` takes.

    >>> torch_seed(entropy(1, 0, Stream.WEIGHTS)) == torch_seed(entropy(1, 0, Stream.WEIGHTS))
    True
    """
    return int(root.generate_state(1, np.uint64)[0] >> np.uint64(1))


def draw(
    split: Split,
    values: HyperparameterValues,
    *,
    seed: int,
    epoch: int,
    resample_every: int,
    recent: RecentNoise,
    device: str,
) -> Batch:
    """Draw one epoch's batch; equal arguments give equal batches, whatever is remembered.

    Its noise is valid until the same epoch is drawn again.
    """
    # Within a period the same draw is repeated rather than stored: so the mask is no part of the
    # state, and a changed ratio is in force at once.
    period = epoch - epoch % resample_every
    message = split.message_mask(
        values.edge_message_ratio, np.random.default_rng(entropy(seed, period, Stream.MESSAGES))
    )
    objective = np.flatnonzero(~message)
    count = max(1, round(values.negatives_per_positive * objective.size))
    generator = np.random.default_rng(entropy(seed, epoch, Stream.NEGATIVES))
    noise = recent.of(
        values.dropout,
        seed=seed,
        epoch=epoch,
        bits=lambda: np.random.SFC64(entropy(seed, epoch, Stream.DROPOUT)),
        device=device,
    )
    return Batch(
        message=message,
        objective=objective,
        positives=split.train.take(objective, axis=1),
        negatives=split.negatives.sample(count, generator),
        dropout=noise,
        rate=values.dropout,
        seed=seed,
        epoch=epoch,
    )
