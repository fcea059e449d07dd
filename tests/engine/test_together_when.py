"""Every trigger with all that a run can be combined with: wrappers, executors, campaigns."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    DynamicGridAdapter,
    KeepBest,
    Processes,
    Shadow,
    lowest,
    plan_for,
    replay,
    schedule_of,
    spent,
)
from dynhp.campaign import run_campaign
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.storage import on_disk
from dynhp.testing import NoisyQuadratic
from tests.support.campaigning import serial
from tests.support.kinds import LOSS_TRIGGERS
from tests.support.reference import Toy, bits, without_times
from tests.support.reference_when import WhenSettings, problems

NUMBERS = range(len(LOSS_TRIGGERS))


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 99), st.integers(1, 20), st.booleans())
def test_a_shadow_costs_what_was_trained(
    problem: WhenSettings, seed: int, epochs: int, raising: bool
) -> None:
    trainer, plain, alone = (Toy(seed, raising=[0.6] if raising else []) for _ in range(3))
    shadow = Shadow(problem.made(trainer), criterion=lowest("loss"))
    try:
        delivery = shadow.run(epochs)
    except Exception:  # both lines failed
        return
    if delivery.adapted_error is None and delivery.shadow_error is None:
        assert delivery.cost.total == trainer.trained
        assert delivery.cost.abandoned == spent(delivery.adapted).abandoned
        plain.train_k(delivery.shadow.epochs, shadow.adapter.history[0].previous)
        problem.made(alone).run(epochs)
        ends = {"shadow": plain.get_state(), "adapted": alone.get_state()}
        assert bits(ends[delivery.delivered]) == bits(trainer.get_state())


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 99), st.integers(1, 20))
def test_keeping_the_best_changes_nothing_and_knows_the_main_line(
    problem: WhenSettings, seed: int, epochs: int
) -> None:
    def run(trainer: Any) -> Any:
        adapter = problem.made(trainer)
        try:
            adapter.run(epochs)
        except Exception as error:
            return type(error)
        return adapter

    bare, inner, again = Toy(seed), Toy(seed), Toy(seed)
    kept, replayed = KeepBest(inner, lowest("loss")), KeepBest(again, lowest("loss"))
    expected, adapter = run(bare), run(kept)
    if isinstance(expected, type):
        assert adapter is expected
        return
    chosen = [
        [(each.start, each.epochs, each.candidate) for each in run.history]
        for run in (adapter, expected)
    ]
    assert chosen[0] == chosen[1]
    assert bits(inner.get_state()) == bits(bare.get_state())
    replay(schedule_of(adapter), replayed)
    for each in (kept, replayed):
        each.deliver()
    assert bits(inner.get_state()) == bits(again.get_state())  # nothing abandoned is delivered


def test_an_executor_gives_the_answer_of_serial_for_every_trigger() -> None:
    with Processes(partial(NoisyQuadratic, seed=2), workers=2) as processes:
        for number in NUMBERS:
            here, there = adapter_with(number), adapter_with(number, executor=processes)
            here.run(12)
            there.run(12)
            assert without_times(here.history) == without_times(there.history)
            assert repr(here.trainer.get_state()) == repr(there.trainer.get_state())


@pytest.mark.parametrize("number", NUMBERS)
def test_snapshots_on_disk_are_those_in_memory(number: int, tmp_path: Path) -> None:
    runs = [
        adapter_with(number, start_from="before", max_rescues=30, snapshots=Snapshots(k=2, **store))
        for store in ({}, {"store": on_disk(tmp_path)})
    ]
    for adapter in runs:
        adapter.run(12)
    assert without_times(runs[0].history) == without_times(runs[1].history)


def run_of(*, trigger: int) -> dict[str, float]:
    """One run of a campaign."""
    adapter = adapter_with(trigger)
    history = adapter.run(12)
    return {"loss": history[-1].metrics["loss"], "epochs": spent(adapter).total}


def test_a_campaign_over_triggers(tmp_path: Path) -> None:
    runs = [{"trigger": number} for number in NUMBERS]
    results = run_campaign(run_of, runs, folder=tmp_path, executor=serial)
    for result, run in zip(results, runs, strict=True):
        assert result.result == run_of(**run)


@pytest.mark.parametrize("start_from", ["here", "best", "before"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_dry_run_is_the_plain_loop_whatever_is_due(number: int, start_from: Any) -> None:
    trainer, plain = NoisyQuadratic(seed=2), NoisyQuadratic(seed=2)
    adapter = adapter_with(number, trainer=trainer, dry_run=True, start_from=start_from)
    plan = plan_for(adapter, 12)
    adapter.run(12)
    plain.train_k(12, {"lr": 0.1})
    assert repr(trainer.get_state()) == repr(plain.get_state())
    assert plan.least.total <= spent(adapter).total <= plan.most.total


def adapter_with(number: int, *, trainer: Any = None, **changes: Any) -> DynamicGridAdapter:
    arguments: dict[str, Any] = {"max_rounds": 3, "proposer": Ladder(1), **changes}
    return DynamicGridAdapter(
        trainer or NoisyQuadratic(seed=2), {"lr": [0.01, 0.1, 0.5]}, criterion=lowest("loss"),
        when=LOSS_TRIGGERS[number], try_for=2, record_every=4, **arguments,
    )  # fmt: skip
