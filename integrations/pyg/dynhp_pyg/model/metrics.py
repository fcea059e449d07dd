"""How well scores tell edges from non-edges: AUC, average precision and cross-entropy."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["average_precision", "binary_cross_entropy", "roc_auc"]

Scores = NDArray[np.floating]


def roc_auc(positives: Scores, negatives: Scores) -> float:
    """Give the chance that a positive outscores a negative, ties counted half; nan without both.

    >>> roc_auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    if not _comparable(positives, negatives):
        return math.nan
    # Sorted runs merge in linear time, and the counts are whole numbers: the result is exact but
    # for one division. Of equals, those that are named first come first.
    wanted, below = np.sort(positives), np.sort(negatives)
    order = np.argsort(np.concatenate([wanted, below]), kind="stable")
    wins = int(np.flatnonzero(order < wanted.size).sum())
    order = np.argsort(np.concatenate([below, wanted]), kind="stable")
    wins_or_ties = int(np.flatnonzero(order >= below.size).sum())
    # Places count the positives before them, too.
    among_positives = wanted.size * (wanted.size - 1)
    return (wins + wins_or_ties - among_positives) / (2 * positives.size * negatives.size)


def average_precision(positives: Scores, negatives: Scores) -> float:
    """Give the mean precision over all thresholds that reach one more positive.

    >>> average_precision(np.array([0.9, 0.3]), np.array([0.5, 0.1]))
    0.8333333333333333
    """
    if not _comparable(positives, negatives):
        return math.nan
    thresholds, found = np.unique(positives, return_counts=True)
    true = positives.size - np.searchsorted(np.sort(positives), thresholds, side="left")
    false = negatives.size - np.searchsorted(np.sort(negatives), thresholds, side="left")
    return float((found * (true / (true + false))).sum() / positives.size)


def binary_cross_entropy(positives: Scores, negatives: Scores) -> float:
    """Give the mean cross-entropy of logits, edges labelled 1 and non-edges 0; nan without any.

    >>> round(binary_cross_entropy(np.zeros(1), np.zeros(1)), 6)
    0.693147
    """
    count = positives.size + negatives.size
    if count == 0:
        return math.nan
    # log(1 + exp(-s)) for edges, log(1 + exp(s)) for non-edges, without overflow; by torch, which
    # does four at a time, but summed by numpy, whose sum does not depend on threads.
    logits = torch.from_numpy(np.concatenate([-positives, negatives])).double()
    losses = torch.logaddexp(logits, torch.zeros((), dtype=torch.float64))
    return float(losses.numpy().sum() / count)


def _comparable(positives: Scores, negatives: Scores) -> bool:
    """Tell whether both sides have scores and none is nan (whose rank has no meaning)."""
    if not (positives.size and negatives.size):
        return False
    return not (np.isnan(positives).any() or np.isnan(negatives).any())
