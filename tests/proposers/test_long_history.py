"""A proposer that looks back goes through each round once, however long the run is."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Float, Interpolation, OneAxis, lowest
from dynhp.proposers import Proposer, interpolation
from dynhp.proposers.one_axis import Narrowed
from dynhp.records.append_only import AppendOnly, grew_from
from dynhp.testing import NoisyQuadratic

ROUNDS = 40


@pytest.mark.parametrize("proposer", [Interpolation(), OneAxis(Interpolation())])
def test_rounds_before_are_not_gone_through_again(
    proposer: Proposer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []
    same_length = interpolation.same_length

    def counted(tries: Any) -> bool:
        looked_at.append(tries)
        return same_length(tries)

    monkeypatch.setattr(interpolation, "same_length", counted)
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": Float(0.01, 0.5, log=True)},
        criterion=lowest("loss"),
        adapt_every=1,
        try_for=1,
        proposer=proposer,
        check="off",
    )
    adapter.run(ROUNDS)
    assert len(looked_at) < 2 * ROUNDS  # also for the peak of a round; all again: 780


def test_what_grew_from_what_is_known_without_a_comparison() -> None:
    short = AppendOnly([1, 2])
    long = short.and_then([3])
    other = short.and_then([4])  # a copy, because the first way on is taken
    assert grew_from(long, short)
    assert grew_from(short, short)
    assert not grew_from(short, long)
    assert not grew_from(other, short)
    assert not grew_from(long, [1, 2])
    listed = [1]
    assert grew_from(listed, listed)
    assert not grew_from(listed, [1])


def test_a_view_of_rounds_grew_from_no_other_kind_of_history() -> None:
    rounds = AppendOnly[Any]()
    view = Narrowed(rounds, "lr", turn=0, turns=2)
    assert not view.grew_from([])
    assert view.grew_from(Narrowed(rounds, "lr", turn=0, turns=2))
    assert not view.grew_from(Narrowed(rounds, "lr", turn=1, turns=2))
