"""Tests of differences: scipy's p values, corrected as Holm says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.paper.significance import holm, p_value


def test_p_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 5, 20):
        values = rng.normal(0.5, 1.0, size)
        assert p_value(list(values)) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)


def test_holm_rejects_one_after_the_other_and_never_falls() -> None:
    assert holm([]) == []
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    # By hand: 0.001 × 4, 0.01 × 3, 0.02 × 2, and the last not below the one before it.
    assert holm([0.02, 0.001, 0.01, 0.03]) == pytest.approx([0.04, 0.004, 0.03, 0.04])
