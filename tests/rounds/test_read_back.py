"""Values read back from a trainer: which count as the same."""

from __future__ import annotations

from dynhp.rounds.read_back import same_value


def test_large_whole_numbers_are_never_nearly_equal() -> None:
    assert not same_value(10_000_000, 10_000_001)
    assert same_value(0.1, 0.10000000149011612)
    assert not same_value("a", 0.1)


def test_a_whole_number_and_a_float_may_be_nearly_equal() -> None:
    assert same_value(3, 3.0000000001)
    assert same_value(3.0000000001, 3)
    assert not same_value(3, 3.1)
