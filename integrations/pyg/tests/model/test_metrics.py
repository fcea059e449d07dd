"""AUC, average precision and cross-entropy against scikit-learn and torch."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits

from dynhp_pyg.model.metrics import average_precision, binary_cross_entropy, roc_auc

# Few different values, so that most draws have ties within and across the two sides.
tied = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40).map(np.array)
spread = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40).map(np.array)


def _labelled(positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels = np.concatenate([np.ones(positives.size), np.zeros(negatives.size)])
    return labels, np.concatenate([positives, negatives])


@given(positives=tied | spread, negatives=tied | spread)
def test_auc_is_scikit_learns(positives: np.ndarray, negatives: np.ndarray) -> None:
    expected = roc_auc_score(*_labelled(positives, negatives))
    assert roc_auc(positives, negatives) == pytest.approx(expected, abs=1e-12)


@given(positives=tied | spread, negatives=tied | spread)
def test_average_precision_is_scikit_learns(positives: np.ndarray, negatives: np.ndarray) -> None:
    expected = average_precision_score(*_labelled(positives, negatives))
    assert average_precision(positives, negatives) == pytest.approx(expected, abs=1e-12)


def test_auc_of_many_float32_scores_with_ties() -> None:
    generator = np.random.default_rng(0)
    positives = generator.normal(0.5, 1, 5000).astype(np.float32).round(2)
    negatives = generator.normal(0.0, 1, 7000).astype(np.float32).round(2)
    expected = roc_auc_score(*_labelled(positives, negatives))
    assert roc_auc(positives, negatives) == pytest.approx(expected, abs=1e-12)


@given(positives=spread, negatives=spread)
def test_cross_entropy_is_torchs(positives: np.ndarray, negatives: np.ndarray) -> None:
    labels, scores = (torch.tensor(part) for part in _labelled(positives, negatives))
    expected = binary_cross_entropy_with_logits(scores, labels).item()
    assert binary_cross_entropy(positives, negatives) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("measure", [roc_auc, average_precision])
@pytest.mark.parametrize(
    ("positives", "negatives"), [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([1.0], [math.nan])]
)
def test_what_has_no_rank_is_nan(
    measure: Callable[..., float], positives: list[float], negatives: list[float]
) -> None:
    assert math.isnan(measure(np.array(positives), np.array(negatives)))


def test_infinite_scores_still_have_a_rank() -> None:
    assert roc_auc(np.array([math.inf, 0.0]), np.array([-math.inf, 1.0])) == 0.75


def test_results_are_plain_floats() -> None:
    scores = np.array([0.25, 0.5], dtype=np.float32)
    for measure in (roc_auc, average_precision, binary_cross_entropy):
        assert type(measure(scores, scores)) is float
    assert math.isnan(binary_cross_entropy(np.empty(0), np.empty(0)))
