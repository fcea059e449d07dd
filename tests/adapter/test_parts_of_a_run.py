"""What an adapter asks of its criterion, its proposer and its driver, and what they see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynhp import (
    DynamicGridAdapter,
    FullGrid,
    Serial,
    highest,
    lowest,
    phased,
)
from dynhp.criteria.contract import score
from dynhp.drivers import TrainerDriver
from dynhp.engine.commands import Train, Trained
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.proposers import Known
from dynhp.records import Candidate, Progress
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises
from tests.support.reference import (
    Diary,
    diary_adapter,
)


def test_a_criterion_sees_every_epoch_of_a_try_and_how_far_the_run_is() -> None:
    seen: list[Any] = []

    def criterion(series: Any, progress: Any) -> float:
        seen.append((len(series), progress))
        return 0.0

    diary_adapter(Diary({0: 1}), criterion=criterion).run(6)
    assert seen == [(2, Progress(0, 6)), (2, Progress(4, 6))]
    seen.clear()
    diary_adapter(Diary({0: 1}), criterion=criterion).step()
    assert seen == [(2, Progress(0, None))]


def test_phased_changes_its_mind_at_the_round_that_starts_there() -> None:
    criterion = phased(highest("loss"), lowest("loss"), at=0.5)
    history = diary_adapter(Diary({0: 1, 1: 2}), criterion=criterion).run(16)
    assert [round_.candidate["x"] for round_ in history] == [1, 1, 0, 0]


def test_phased_needs_to_know_the_planned_epochs() -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = diary_adapter(trainer, criterion=phased(lowest("loss"), lowest("loss")))
    with raises(SettingsError):
        adapter.step()
    assert trainer.diary == ()


@pytest.mark.parametrize(
    ("criterion", "kind"),
    [
        (lambda series, progress: series[-1]["los"], MetricError),
        (lambda series, progress: 1 / 0, ContractError),
        (lambda series, progress: "high", ContractError),
    ],
)
def test_a_criterion_that_fails_stops_the_run(criterion: Any, kind: Any) -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = diary_adapter(trainer, criterion=criterion)
    with raises(kind):
        adapter.step()
    assert trainer.diary == ()
    assert score(lowest("loss"), [{"loss": 1.0}], Progress(0)) == -1.0


class Proposes:
    """A proposer of one's own."""

    def __init__(self, *waves: Any) -> None:
        self.proposed = list(waves)
        self.known: list[Any] = []

    def propose(self, known: Any, rng: Any) -> Any:
        self.known.append(known)
        place = len(self.known) - 1
        return self.proposed[place] if place < len(self.proposed) else []

    def waves(self, space: Any, current: Any) -> Any:
        return FullGrid().waves(space, current)


def test_a_proposer_sees_the_tries_of_its_round_and_the_rounds_before() -> None:
    waves = [[Candidate({"x": 0})], [Candidate({"x": 1}), Candidate({"x": 0})], []]
    proposer = Proposes(*waves, *waves)
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, proposer=proposer, initial={"x": 0})
    history = adapter.run(8)
    assert [len(known.tries) for known in proposer.known] == [0, 1, 3, 0, 1, 3]
    assert [known.current["x"] for known in proposer.known] == [0, 0, 0, 1, 1, 1]
    assert all(known.space is adapter.policy.space for known in proposer.known)
    assert proposer.known[2].tries == history[0].tries
    assert list(proposer.known[-1].history) == list(history)[: len(proposer.known[-1].history)]
    assert [round_.chosen for round_ in history] == [1, 1]


@pytest.mark.parametrize(
    "waves",
    [
        [],
        [[Candidate({"x": 7})]],
        [[Candidate({"y": 0})]],
        [[Candidate({"x": 0})], [Candidate({"x": 7})]],
    ],
)
def test_a_proposer_must_stay_inside_the_space(waves: Any) -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, proposer=Proposes(*waves))
    with raises(ContractError):
        adapter.step()
    assert trainer.diary == ()


def test_another_driver_may_carry_out_the_work_and_stop_early() -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, initial={"x": 0})

    class Hasty(TrainerDriver):
        def _train(self, command: Train) -> Trained:
            assert (command.values, command.epochs) == ({"x": 1}, 2)
            trainer.train_k(1, command.values)
            return Trained(epochs=1, measured=((2, {"loss": 7.0}),), left=True)

    usual, adapter.driver = adapter.driver, Hasty(trainer, adapter.table, Serial())
    round_ = adapter.step()
    adapter.driver = usual
    assert (round_.epochs, round_.metrics, adapter.epoch) == (3, {"loss": 7.0}, 3)
    assert adapter.step().start == 3


def test_a_proposer_that_forgets_the_type_does_not_pass_it_on() -> None:
    class Sloppy(FullGrid):
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            return [Candidate({"lr": 1})] if not known.tries else []

    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.5, 1.0]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        proposer=Sloppy(),
    )
    value = adapter.step().candidate["lr"]
    assert (value, type(value)) == (1.0, float)
