"""The record of a round: what of its tries and of its stretch is in it."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.engine.commands import Attempt, Restore, Snapshot, StateRef, Train, Trained, Tried
from dynhp.records import Candidate, Round, Try
from dynhp.selection import reason
from dynhp.tails import scale
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At
from tests.support.protocol import answered
from tests.support.reference import Diary

LOSSES = {0: 2.0, 1: 1.0, 2: 3.0}


def made(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {
        "criterion": lowest("loss"),
        "adapt_every": 6,
        "try_for": 2,
        "initial": {"x": 0},
        "check": "off",
    }
    return DynamicGridAdapter(Diary(LOSSES), {"x": list(LOSSES)}, **(settings | changes))


def recorded(adapter: DynamicGridAdapter, *trained: Trained, begun: Round | None = None) -> Round:
    """The round that comes of these answers to what trains the main line."""
    left = list(trained)

    def answer(command: Any) -> Any:
        if isinstance(command, Snapshot):
            return StateRef(0)
        if isinstance(command, Attempt):
            loss = LOSSES[command.job.candidate["x"]]  # type: ignore[index]
            series = tuple({"loss": each} for each in (9.0, loss))[: command.job.epochs]
            end = StateRef(1 + (command.job.place or 0))
            return Tried(series=series, epochs=len(series), error=None, end=end, kept=end)
        return left.pop(0) if isinstance(command, Train) else None

    memory = answered(adapter.commands(begun), answer)
    assert not left
    newest: Round = memory.rounds[-1]
    return newest


def trained(epochs: int, *measured: tuple[int, float], **more: Any) -> Trained:
    series = tuple((number, {"loss": loss}) for number, loss in measured)
    return Trained(epochs=epochs, measured=series, **more)


@pytest.mark.usefixtures("ticking")
def test_all_that_is_known_of_a_round_is_in_its_record() -> None:
    adapter = made()
    pieces = trained(4, (2, 0.9), (3, 0.8), (4, 0.7), (5, 0.6))
    record = recorded(adapter, pieces)
    assert (record.index, record.start, record.epochs) == (0, 0, 6)
    assert (record.previous, record.chosen) == ({"x": 0}, 1)
    assert [try_.candidate["x"] for try_ in record.tries] == [0, 1, 2]
    assert record.reason == reason(record.tries, 1, Candidate({"x": 0}))
    assert (record.seed, record.restarted, record.checked, record.tolerance) == (None, False, 0, 0)
    assert record.metrics == {"loss": 0.6}
    # The last of them are the metrics of the round itself.
    assert record.stretch == ((2, {"loss": 0.9}), (3, {"loss": 0.8}), (4, {"loss": 0.7}))
    assert record.seconds == 1.0
    assert (record.rescue, record.abandoned) == (False, 0)
    assert (record.failure, record.corrected) == (None, None)


def test_a_main_line_that_goes_on_from_the_origin_was_restarted() -> None:
    record = recorded(made(dry_run=True), trained(6, (5, 0.9)))
    assert record.restarted is True
    assert (record.epochs, record.metrics, record.stretch) == (6, {"loss": 0.9}, ())


def test_without_a_stretch_the_metrics_are_those_of_the_kept_try() -> None:
    record = recorded(made(adapt_every=2), trained(0))
    assert (record.epochs, record.metrics, record.stretch) == (2, {"loss": 1.0}, ())


def test_a_last_epoch_that_was_not_measured_has_no_metrics() -> None:
    record = recorded(made(), trained(4, (3, 0.9)))
    assert (record.metrics, record.stretch) == ({}, ((3, {"loss": 0.9}),))


def test_a_round_without_tries_has_no_winner_and_was_not_restarted() -> None:
    adapter = made(adapt_every=None, when=At([9]), record_every=2)
    record = recorded(adapter, trained(2, (0, 0.9), (1, 0.8)))
    assert (record.chosen, record.reason) == (-1, "no round was due")
    assert record.restarted is False
    assert (record.tries, record.metrics) == ((), {"loss": 0.8})
    assert record.stretch == ((0, {"loss": 0.9}),)


def test_a_failure_and_a_correction_are_recorded() -> None:
    adapter = DynamicGridAdapter(
        Diary({0.5: 1.0, 1.0: 1.0, 2.0: 0.5}), {"x": [0.5, 1.0, 2.0]}, criterion=lowest("loss"),
        adapt_every=6, try_for=2, initial={"x": 1.0}, check="off", keep="value",
        then=lambda values, searched: values.but({"x": max(0.5, values["x"] / 2)}),
    )  # fmt: skip

    def answer(command: Any) -> Any:
        if isinstance(command, Attempt):
            loss = {0.5: 1.0, 1.0: 1.0, 2.0: 0.5}[command.job.candidate["x"]]  # type: ignore[index]
            end = StateRef(7)
            return Tried(series=({"loss": loss},) * 2, epochs=2, error=None, end=end, kept=end)
        if isinstance(command, Restore):
            restored.append(command.ref)
        if isinstance(command, Train):
            assert command.values == {"x": 1.0}
            return Trained(epochs=0, failure="E: failed")
        return StateRef(0) if isinstance(command, Snapshot) else None

    restored: list[Any] = []
    [record] = answered(adapter.commands(), answer).rounds
    assert restored == [StateRef(0)]
    assert (record.failure, record.corrected, record.epochs) == ("E: failed", {"x": 1.0}, 0)
    assert scale(0.5, "x")  # the usual way to say it


def test_a_round_knows_with_which_seed_the_main_line_goes_on() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.1, 0.2]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        randomness="independent",
    )
    for record in adapter.run(4):
        assert record.seed is not None
        assert record.seed == record.winner.seed


def round_of(**changes: Any) -> Round:
    """A round of three epochs at the start of a run, without tries."""
    whole: dict[str, Any] = {
        "index": 0, "start": 0, "epochs": 3, "previous": Candidate({"x": 0}), "tries": (),
        "chosen": -1, "reason": "", "metrics": {"loss": 3.0},
    }  # fmt: skip
    return Round(**{**whole, **changes})


def test_a_round_that_was_left_goes_on_with_what_it_had_measured() -> None:
    tried = Try(candidate=Candidate({"x": 1}), series=({"loss": 4.0},), epochs=1, score=-4.0)
    begun = round_of(tries=(tried,), chosen=0, stretch=((1, {"loss": 3.5}),))
    assert begun.measured == ((0, {"loss": 4.0}), (1, {"loss": 3.5}), (2, {"loss": 3.0}))
    longer = recorded(made(), trained(3, (5, 2.0), failure="E: too large"), begun=begun)
    assert (longer.epochs, longer.metrics) == (6, {"loss": 2.0})
    assert longer.stretch == ((1, {"loss": 3.5}), (2, {"loss": 3.0}))
    assert longer.failure == "E: too large"


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_round_that_was_left_is_the_same_where_nothing_is_trained(epochs: int) -> None:
    begun = round_of(stretch=((0, {"loss": 5.0}),))
    same = recorded(made(), trained(0, left=True), begun=begun)
    assert (same.epochs, same.metrics, same.stretch) == (3, {"loss": 3.0}, begun.stretch)
