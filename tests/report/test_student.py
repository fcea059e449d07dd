"""Student's t distribution, against the tables and against draws."""

from __future__ import annotations

import numpy as np
import pytest

from dynhp.report.student import missed_share, t_quantile, t_tail


@pytest.mark.parametrize(("t", "freedom"), [(0.0, 1), (0.0, 2), (0.0, 2000)])
def test_half_of_a_t_distribution_is_above_zero(t: float, freedom: int) -> None:
    assert t_tail(t, freedom) == pytest.approx(0.5)


TABLE = [(1, 31.821), (2, 6.965), (3, 4.541), (4, 3.747), (7, 2.998), (30, 2.457)]


@pytest.mark.parametrize(("freedom", "quantile"), TABLE)
def test_the_tail_is_that_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_tail(quantile, freedom) == pytest.approx(0.01, rel=1e-3)
    assert t_quantile(0.01, freedom) == pytest.approx(quantile, rel=1e-3)


def test_a_quantile_may_lie_far_out() -> None:
    assert t_tail(t_quantile(1e-6, 1), 1) == pytest.approx(1e-6, rel=1e-3)
    assert t_quantile(1e-6, 5000) == pytest.approx(4.753, rel=1e-3)


@pytest.mark.parametrize("freedom", [1, 2, 5, 40])
@pytest.mark.parametrize("shift", [0.0, 4.0, 9.0])
def test_what_a_test_misses_is_what_draws_miss(shift: float, freedom: int) -> None:
    rng = np.random.default_rng(freedom)
    noise = np.sqrt(rng.chisquare(freedom, 200_000) / freedom)
    statistic = (rng.standard_normal(200_000) + shift) / noise
    counted = float(np.mean(statistic <= t_quantile(0.01, freedom)))
    assert missed_share(shift, freedom, chance=0.01) == pytest.approx(counted, abs=0.005)


def test_with_very_many_degrees_of_freedom_the_noise_is_known() -> None:
    assert missed_share(3.0, 10**6, chance=0.01) == pytest.approx(0.2505, abs=1e-3)
