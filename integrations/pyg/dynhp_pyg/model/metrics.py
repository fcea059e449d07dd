"""How well scores separate edges from non-edges: AUC, average precision and cross-entropy."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["average_precision", "binary_cross_entropy", "finite_or_nan", "roc_auc"]

Scores = NDArray[np.floating]


def roc_auc(positives: Scores, negatives: Scores) -> float:
    """Give the chance that a positive outscores a negative, ties counted half; nan without both.

    >>> roc_auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    if not _comparable(positives, negatives):
        return math.nan
    # Sorted runs merge in linear time, and the counts are whole numbers: only the division
    # rounds. Of equal scores, those of the first array come first.
    high, low = np.sort(positives), np.sort(negatives)
    order = np.argsort(np.concatenate([high, low]), kind="stable")
    wins = int(np.flatnonzero(order < high.size).sum())
    order = np.argsort(np.concatenate([low, high]), kind="stable")
    wins_or_ties = int(np.flatnonzero(order >= low.size).sum())
    # A positive's place also counts the positives before it.
    among_positives = high.size * (high.size - 1)
    return (wins + wins_or_ties - among_positives) / (2 * positives.size * negatives.size)


def average_precision(positives: Scores, negatives: Scores) -> float:
    """Give the mean precision over all thresholds that reach one more positive.

    >>> average_precision(np.array([0.9, 0.3]), np.array([0.5, 0.1]))
    0.8333333333333333
    """
    if not _comparable(positives, negatives):
        return math.nan
    thresholds, reached = np.unique(positives, return_counts=True)
    true = positives.size - np.searchsorted(np.sort(positives), thresholds, side="left")
    false = negatives.size - np.searchsorted(np.sort(negatives), thresholds, side="left")
    return float((reached * (true / (true + false))).sum() / positives.size)


def binary_cross_entropy(positives: Scores, negatives: Scores) -> float:
    """Give the mean cross-entropy of logits, edges labelled 1 and non-edges 0; nan without any.

    >>> round(binary_cross_entropy(np.zeros(1), np.zeros(1)), 6)
    0.693147
    """
    count = positives.size + negatives.size
    if count == 0:
        return math.nan
    # log(1 + exp(-s)) for edges, log(1 + exp(s)) for non-edges, without overflow; by torch, which
    # does four at once, but summed by numpy, whose sum does not depend on the number of threads.
    logits = torch.from_numpy(np.concatenate([-positives, negatives])).double()
    losses = torch.logaddexp(logits, torch.zeros((), dtype=torch.float64))
    return float(losses.numpy().sum() / count)


def finite_or_nan(value: float) -> float:
    """Give a plain float, nan for infinity.

    >>> finite_or_nan(math.inf)
    nan
    """
    return float(value) if math.isfinite(value) else math.nan


def _comparable(positives: Scores, negatives: Scores) -> bool:
    """Say whether both sides have scores and no score is nan, which has no rank."""
    if not (positives.size and negatives.size):
        return False
    return not (np.isnan(positives).any() or np.isnan(negatives).any())
