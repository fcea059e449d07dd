"""The learning-rate range test: the rate grows step by step until the loss explodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from benchmarks.arena.tracked import MeasuredTrainer

__all__ = ["RangeTest", "range_test_of"]

LOW, HIGH, SMOOTH = 1e-6, 10.0, 0.95
SKIPPED = (10, 5)
"""Steps at both ends that are not looked at, as in torch-lr-finder."""


class RangeTest(NamedTuple):
    """What a range test says: where the smoothed loss fell fastest, and where it was lowest."""

    steepest: float
    lowest: float
    steps: int


def range_test_of(trainer: MeasuredTrainer, steps: int) -> RangeTest:
    """Let the rate grow; the trainer's epochs must be single steps, and it is used up."""
    rates: list[float] = []
    losses: list[float] = []
    average, best = 0.0, math.inf
    for step in range(steps):
        rate = LOW * (HIGH / LOW) ** (step / (steps - 1))
        trainer.train_k(1, {"lr": rate})
        average = SMOOTH * average + (1 - SMOOTH) * trainer.train_loss
        smoothed = average / (1 - SMOOTH ** (step + 1))
        best = min(best, smoothed)
        rates.append(rate)
        losses.append(smoothed)
        if not math.isfinite(smoothed) or (smoothed > 4 * best > 0):
            break
    finite = [loss for loss in losses if math.isfinite(loss)]
    first, last = SKIPPED
    kept = finite[first : max(first + 2, len(finite) - last)]
    if len(kept) < 2:
        return RangeTest(rates[0], rates[0], len(rates))
    steepest = rates[first + int(np.gradient(np.array(kept)).argmin())]
    return RangeTest(steepest, rates[first + int(np.argmin(kept))], len(rates))
