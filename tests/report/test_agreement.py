"""Orders of values are compared by exact chances, and one round is told from all others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from dynhp.report.evidence import agreement_chance, clearly_ahead, one_stands_out
from tests.report.test_luck import a_history


def rounds(*rows: Sequence[float]) -> list[list[tuple[object, float]]]:
    return [list(zip("abcdefgh", row, strict=False)) for row in rows]


def test_the_chance_of_an_order_is_exact_where_there_are_few() -> None:
    assert agreement_chance(rounds([1, 2, 4], [1, 2, 4])) == 1 / 6
    assert agreement_chance(rounds([1, 2, 4], [4, 2, 1])) == 1.0
    assert agreement_chance(rounds(*[[0, 1]] * 4)) == 2 / 2**4
    assert agreement_chance(rounds([5, 5], [5, 5])) == 1.0, "no order at all"


def test_all_orders_are_equally_likely_under_noise() -> None:
    """So the chance of a chance below p is p: over all orders of the other rounds."""
    rows = [list(order) for order in itertools.permutations([0.0, 1.0, 5.0])]
    chances = [
        agreement_chance(rounds(rows[0], first, second)) for first in rows for second in rows
    ]
    assert all(
        np.mean([each <= level for each in chances if each is not None]) <= level + 1e-9
        for level in set(filter(None, chances))
    )


def test_many_orders_are_drawn_and_always_the_same() -> None:
    rng = np.random.default_rng(1)
    noise = rounds(*rng.standard_normal((7, 8)))
    chance = agreement_chance(noise)
    assert chance == agreement_chance(noise)
    assert chance is not None
    assert chance > 0.01
    alike = rounds(*(rng.standard_normal((7, 8)) * 0.01 + np.arange(8) ** 2))
    assert agreement_chance(alike) == 1 / 1000, "none of those drawn is as good"


def test_rounds_that_tried_other_values_are_not_compared() -> None:
    assert agreement_chance([[("a", 1.0), ("b", 2.0)], [("a", 1.0), ("c", 2.0)]]) is None
    assert agreement_chance(rounds([1, 2])) is None


@pytest.mark.parametrize("values", [2, 5])
def test_noise_hardly_ever_stands_out(values: int) -> None:
    rng = np.random.default_rng(0)
    standing_out = sum(
        one_stands_out(rounds(*rng.standard_normal((4, values)))) for _ in range(3000)
    )
    assert standing_out <= 9  # 3 are expected at most


def test_what_stands_out() -> None:
    assert one_stands_out(rounds([0, 9], [1, 1], [1, 1]))
    assert not one_stands_out(rounds([0, 9]))
    assert not one_stands_out(rounds([1, 1], [2, 2]))
    assert not one_stands_out(rounds([0, 9], [0, 3], [0, 2]))


def test_the_best_is_named_only_where_it_beats_the_start_for_sure() -> None:
    ahead = a_history({1: 0.0, 2: 1.0}, {1: 0.0, 2: 1.1}, {1: 0.0, 2: 0.9})
    assert clearly_ahead(ahead, level=0.02) == ahead[0].tries[1].candidate
    assert clearly_ahead(ahead[:1], level=0.02) is None, "one round"
    assert clearly_ahead(a_history({1: 0.0, 2: 1.0}, {1: 0.0, 2: -0.9}), level=0.02) is None
    assert clearly_ahead(a_history({1: 0.0, 2: 1.0}, {1: 0.0, 3: 1.0}), level=0.02) is None
    assert clearly_ahead(a_history({1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5}), level=0.02) is None
    always = a_history({1: 0.0, 2: 1.0}, {1: 0.0, 2: 1.0})
    assert clearly_ahead(always, level=0.02) == always[0].tries[1].candidate
