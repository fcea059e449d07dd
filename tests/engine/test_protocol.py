"""The commands of whole rounds, written down: what the engine says to a driver, in which order.

``Attempt x=1 2 from A -> B`` trains the value 1 for two epochs from state A, and the reply names
the state that it ended in. ``Train x=1 2:4`` trains the main line from epoch 2 to epoch 4.
"""

from __future__ import annotations

import math
from typing import Any

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.triggers import At, OnPlateau
from tests.support.losses import LossTable, Thirds
from tests.support.protocol import protocol_of
from tests.support.reference import Diary


def made(losses: dict[Any, Any], **changes: Any) -> DynamicGridAdapter:
    """Rounds of four epochs; each value has the same loss at all times."""
    settings: dict[str, Any] = {
        "criterion": lowest("loss"),
        "adapt_every": 4,
        "try_for": 1,
        "check": "off",
        "initial": {"x": 0},
    }
    return DynamicGridAdapter(Diary(losses), {"x": list(losses)}, **(settings | changes))


def test_a_plain_round() -> None:
    assert protocol_of(made({0: 2, 1: 1, 2: 3})) == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Announce 3",
        "Attempt x=0 1 from A -> B",
        "Keep B",
        "Tell try x=0",
        "Attempt x=1 1 from A -> C",
        "Drop B",  # behind the second
        "Keep C",
        "Tell try x=1",
        "Attempt x=2 1 from A -> D",  # which loses, so that its state is never asked for
        "Tell try x=2",
        "Restore C",
        "Drop C",
        "Train x=1 1:4",
        "Tell round 0 ends",
    ]


def test_a_round_that_is_checked() -> None:
    again = [
        "Restore A",
        "Reach back at origin",
        "Announce 1",
        "Attempt x=0 1 from A, again -> {}",
        "Look {}",
        "Reach equal",
        "Agree None",
    ]
    assert protocol_of(made({0: 2, 1: 1}, check="first")) == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Reach begin",
        "Announce 2",
        "Attempt x=0 1 from A -> B",
        "Look B",
        "Reach first try",
        "Keep B",
        "Tell try x=0",
        "Attempt x=1 1 from A -> C",
        "Drop B",
        "Keep C",
        "Tell try x=1",
        "Agree None",  # all values were used
        *(line.format("D") for line in again),
        *(line.format("E") for line in again),
        "Restore C",
        "Drop C",
        "Train x=1 1:4",
        "Tell round 0 ends",
    ]


def test_a_race_in_two_stages() -> None:
    losses = {0: 3, 1: 1, 2: 2, 3: 4}
    assert protocol_of(made(losses, selection=Racing(), try_for=2)) == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Announce 4",
        "Attempt x=0 1 from A -> B",
        "Keep B",
        "Tell try x=0 so far",
        "Attempt x=1 1 from A -> C",
        "Keep C",
        "Tell try x=1 so far",
        "Attempt x=2 1 from A -> D",
        "Drop B",  # two go on
        "Keep D",
        "Tell try x=2 so far",
        "Attempt x=3 1 from A -> E",
        "Tell try x=3 so far",
        "Tell try x=0",
        "Tell try x=3",
        "Announce 2",
        "Attempt x=1 1 from C -> F",
        "Drop C",
        "Keep F",
        "Tell try x=1",
        "Attempt x=2 1 from D -> G",
        "Drop D",
        "Tell try x=2",
        "Restore F",
        "Drop F",
        "Train x=1 2:4",
        "Tell round 0 ends",
    ]


def test_a_dry_run() -> None:
    assert protocol_of(made({0: 3, 1: 1}, dry_run=True)) == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Announce 2",
        "Attempt x=0 1 from A -> B",
        "Keep B",
        "Tell try x=0",
        "Attempt x=1 1 from A -> C",
        "Drop B",
        "Keep C",
        "Tell try x=1",
        "Drop C",  # the best is not taken
        "Restore A",
        "Train x=0 0:4",
        "Tell round 0 ends",
    ]


def test_a_failed_try() -> None:
    losses = {0: 3, 1: ArithmeticError("too large"), 2: 1}
    assert protocol_of(made(losses)) == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Announce 3",
        "Attempt x=0 1 from A -> B",
        "Keep B",
        "Tell try x=0",
        "Attempt x=1 1 from A -> ArithmeticError: too large",
        "Tell try x=1",
        "Attempt x=2 1 from A -> C",
        "Drop B",
        "Keep C",
        "Tell try x=2",
        "Restore C",
        "Drop C",
        "Train x=2 1:4",
        "Tell round 0 ends",
    ]


def test_tries_with_a_tail() -> None:
    adapter = DynamicGridAdapter(
        Diary({1: 3, 2: 1, 3: 2}),
        {"x": [1, 2, 3]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=1,
        tail=Thirds(),
        initial={"x": 1},
        check="off",
    )
    assert protocol_of(adapter)[:12] == [
        "Snapshot -> A",
        "Tell round 0 starts",
        "Announce 3",
        "Attempt x=1 1 + 2 from A -> B, C at its end",
        "Keep B",  # where it was before the tail
        "Tell try x=1",
        "Attempt x=2 1 + 2 from A -> D, E at its end",
        "Tell try x=2",  # no better: all end with x=3
        "Attempt x=3 1 + 2 from A -> F, G at its end",
        "Tell try x=3",
        "Restore B",
        "Drop B",
    ]


def test_a_try_as_long_as_its_round_is_put_in_force() -> None:
    assert protocol_of(made({0: 1}, adapt_every=1))[-4:] == [
        "Restore B",
        "Drop B",
        "Train x=0 1:1",
        "Tell round 0 ends",
    ]


def test_a_rescue_with_a_way_back() -> None:
    table = {"1": 5.0, "11": 4.0, "111": math.nan, "112": 3.0, "1122": 2.0, "11222": 1.0}
    adapter = DynamicGridAdapter(
        LossTable(table),
        {"x": [1, 2]},
        criterion=lowest("loss"),
        when=OnPlateau("loss", patience=99),
        try_for=1,
        initial={"x": 1},
        start_from="before",
        max_rounds=0,
        max_rescues=1,
        record_every=3,
        check="off",
        epochs=6,
    )
    assert protocol_of(adapter) == [
        "Snapshot -> A",
        "Hold A",
        "Tell round 0 starts",
        "Train x=1 0:1",
        "Snapshot -> B",
        "Hold B",
        "Train x=1 1:2",
        "Snapshot -> C",
        "Hold C",
        "Drop A",  # two are held
        "Train x=1 2:3",  # the loss is nan
        "Tell round 0 ends",
    ]
    assert protocol_of(adapter) == [
        "Snapshot -> A",
        "StartFrom B",  # the last healthy state
        "Tell round 1 starts",
        "Announce 2",
        "Attempt x=1 1 from B -> loss is nan after epoch 1",
        "Tell try x=1",
        "Attempt x=2 1 from B -> C",
        "Keep C",
        "Tell try x=2",
        "Restore C",
        "Drop C",
        "Snapshot -> C",
        "Hold C",  # the end of the try that is kept
        "Train x=2 3:4",
        "Snapshot -> D",
        "Hold D",  # those from before the round stay until it has ended
        "Train x=2 4:5",
        "Snapshot -> E",
        "Hold E",
        "Drop C",
        "Tell round 1 ends",
    ]


def test_a_way_back_to_the_best_state_and_one_inside_of_a_try() -> None:
    adapter = DynamicGridAdapter(
        LossTable({"1": 5.0, "11": 4.0, "111": 6.0, "112": 1.0, "1122": 2.0}),
        {"x": [1, 2]},
        criterion=lowest("loss"),
        when=At([3]),
        try_for=2,
        initial={"x": 1},
        start_from="best",
        max_rounds=1,
        record_every=3,
        check="off",
        epochs=6,
    )
    assert protocol_of(adapter)[-5:] == [
        "Snapshot -> C",
        "Hold C",  # after two epochs
        "Drop B",
        "Train x=1 2:3",
        "Tell round 0 ends",
    ]
    assert protocol_of(adapter) == [
        "Snapshot -> A",
        "StartFrom B",
        "Tell round 1 starts",
        "Announce 2",
        "Attempt x=1 2 from B -> C",
        "Keep C",
        "Tell try x=1",
        "Attempt x=2 2 from B -> D, E at its end",
        "Drop C",
        "Keep D -> inner F",  # its first epoch is the best of all
        "Tell try x=2",
        "Restore D",
        "Drop D",
        "Hold F",
        "Train x=2 4:5",
        "Tell round 1 ends",
    ]
