"""Tries in one pass: when it is done, what it must give, and what happens when it fails."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import ContractError, SettingsError
from dynhp.executors import Batched, Serial
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, difference
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.check import check_executor
from dynhp.testing.toys.fragile import Fragile
from tests.support.messages import raises


class CountsPasses(Chameleon):
    """Counts its passes; what they give can be spoilt."""

    def __init__(self, make: Any = NoisyQuadratic, spoil: Any = lambda results: results) -> None:
        super().__init__(make)
        self.passes: list[int] = []
        self.spoil = spoil

    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        self.passes.append(len(candidates))
        return self.spoil(super().try_batch(origin, candidates, k))


def jobs(trainer: Any, **settings: Any) -> list[Job]:
    origin = trainer.get_state()
    given: dict[str, Any] = {"origin": origin, "epochs": 2, "watch": ("loss",)} | settings
    return [Job(candidate=Candidate({"lr": rate}), **given) for rate in (0.01, 0.1, 0.2)]


def seen(executor: Any, trainer: Any, asked: list[Job]) -> list[Any]:
    return [
        (outcome.series, outcome.epochs, outcome.error, outcome.keep())
        for outcome in executor.run(trainer, asked, at=asked[0].origin)
    ]


def test_it_gives_what_serial_gives() -> None:
    report = check_executor(lambda make: Batched())
    assert len(report.verdicts) > 15


@pytest.mark.usefixtures("ticking")
def test_a_heat_is_one_pass() -> None:
    trainer = CountsPasses()
    asked = jobs(trainer)
    results = seen(Batched(), trainer, asked)
    assert trainer.passes == [3]
    assert difference(seen(Serial(), CountsPasses(), asked), results) is None
    for outcome in Batched().run(trainer, asked, at=UNKNOWN_STATE):
        assert outcome.in_place is False
        assert outcome.seconds == 1.0 / 3


@pytest.mark.parametrize(
    "other", [{"origin": CountsPasses().get_state()}, {"epochs": 3}, {"seed": 1}], ids=str
)
def test_jobs_that_are_not_alike_are_done_one_by_one(other: dict[str, Any]) -> None:
    trainer = CountsPasses()
    asked = jobs(trainer)[:2] + jobs(trainer, **other)[2:]
    results = seen(Batched(), trainer, asked)
    assert trainer.passes == []
    assert difference(seen(Serial(), CountsPasses(), asked), results) is None


def test_no_jobs_no_outcomes() -> None:
    assert list(Batched().run(CountsPasses(), [], at=UNKNOWN_STATE)) == []


def fragile(fault: Any) -> Fragile:
    return Fragile(NoisyQuadratic, bad=(0.1,), failure=fault)


def test_a_pass_that_raises_is_repeated_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "dynhp")
    trainer = CountsPasses(lambda: fragile("raise"))
    results = seen(Batched(), trainer, jobs(trainer))
    assert trainer.passes == [3]
    assert [error for _, _, error, _ in results] == [
        None,
        "RuntimeError: cannot bear lr=0.1",
        None,
    ]
    assert "raised RuntimeError: cannot bear lr=0.1; one by one instead" in caplog.text


def test_a_try_that_turns_nan_ends_there() -> None:
    trainer = CountsPasses(lambda: fragile("nan"))
    asked = jobs(trainer)
    results = seen(Batched(), trainer, asked)
    assert trainer.passes == [3]
    assert results[1][1:3] == (1, "loss is nan after epoch 1")
    trainer.set_state(asked[0].origin)
    assert difference(results, seen(Serial(), trainer, asked)) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda results: results[1:],
        lambda results: [(series[1:], state) for series, state in results],
    ],
)
def test_a_pass_that_gives_too_little_is_told(spoil: Any) -> None:
    trainer = CountsPasses(spoil=spoil)
    with raises(ContractError):
        seen(Batched(), trainer, jobs(trainer))


def test_a_trainer_without_the_power_is_refused() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.01, 0.1]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        executor=Batched(),
    )
    with raises(SettingsError):
        adapter.step()
