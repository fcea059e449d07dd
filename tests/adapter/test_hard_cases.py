"""One test for each rule for hard cases."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import (
    BestByMargin,
    DynamicGridAdapter,
    Float,
    Interpolation,
    Neighbors,
    OneAxis,
    Racing,
    Serial,
    highest,
    lowest,
    plan_for,
    schedule_of,
    spent,
)
from dynhp.errors import AllTriesFailed, MetricError, SettingsError
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits, without_times


def adapter_of(trainer: Any, values: list[Any] | None = None, **settings: Any) -> Any:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2}
    given["check"] = "off"  # its answers are written down without a repeat
    space = {"x": values or list(trainer.losses)}
    return DynamicGridAdapter(trainer, space, **(given | settings))


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_worst(score: float) -> None:
    def criterion(series: Any, progress: Any) -> float:
        return score if series[-1]["loss"] < 5 else -1e308

    round_ = adapter_of(Diary({0: 1, 1: 2, 2: 9, 3: 3}), criterion=criterion).step()
    assert round_.candidate["x"] == 2
    assert round_.winner.score == -1e308
    assert round_.tries[0].error is None


def test_where_no_score_is_finite_the_value_in_force_stays() -> None:
    adapter = adapter_of(
        Diary({0: 1, 1: 2, 2: 9}), criterion=lambda series, progress: math.nan, initial={"x": 2}
    )
    round_ = adapter.step()
    assert round_.candidate["x"] == 2
    assert round_.reason == "no score is finite, so the first that did not fail is kept"


@pytest.mark.parametrize("selection", [None, Racing(), BestByMargin()])
def test_ties_never_move_the_value_in_force(selection: Any) -> None:
    for initial in (0, 1, 2):
        adapter = adapter_of(Diary({0: 1, 1: 1, 2: 1}), selection=selection, initial={"x": initial})
        history = adapter.run(12)
        assert [round_.candidate["x"] for round_ in history] == [initial] * 3
        assert [round_.chosen for round_ in history] == [0] * 3
        assert {round_.reason for round_ in history} == {"the value in force scored best"}


def test_the_first_of_equals_wins() -> None:
    round_ = adapter_of(Diary({0: 1, 1: 1, 2: 5}), initial={"x": 2}).step()
    assert [try_.candidate["x"] for try_ in round_.tries] == [2, 0, 1]
    assert round_.candidate["x"] == 0
    assert round_.reason == "scored 4 above the value in force"


def test_an_exception_in_a_try_loses_that_try_alone() -> None:
    trainer = Diary({0: 3, 1: ZeroDivisionError("too\nlarge"), 2: 1})
    round_ = adapter_of(trainer, initial={"x": 1}).step()
    failed = round_.tries[0]
    assert (failed.error, failed.epochs, failed.series) == ("ZeroDivisionError: too\nlarge", 1, ())
    assert math.isnan(failed.score)
    assert failed.rank_key == -math.inf
    assert round_.candidate["x"] == 2
    assert round_.reason == "the value in force failed: ZeroDivisionError: too\nlarge"
    assert trainer.diary == (2, 2, 2, 2)
    assert trainer.trained == spent([round_]).total == 1 + 2 + 2 + 2


def test_a_try_that_raises_in_its_second_epoch_has_two() -> None:
    trainer = Toy(raising=[0.2])
    trainer.steps = 0  # it raises where steps % 3 == 1: in the second epoch
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=3, try_for=3
    )
    assert plan_for(adapter, 3).most.total == 6 + 2 * 3
    round_ = adapter.step()
    assert [try_.epochs for try_ in round_.tries] == [3, 2]
    assert len(round_.tries[1].series) == 1
    assert round_.tries[1].error == "ArithmeticError: step 1 with 0.2"
    assert spent(adapter.history).total == trainer.trained == 5 + 2 * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_metric_that_is_not_finite_ends_its_try(bad: float) -> None:
    trainer = Diary({0: 3, 1: bad, 2: 4})
    round_ = adapter_of(trainer, criterion=highest("loss"), initial={"x": 0}).step()
    failed = round_.tries[1]
    assert failed.error == f"loss is {bad} after epoch 1"
    assert failed.epochs == 1
    assert len(failed.series) == 1
    assert math.isnan(failed.score)
    assert round_.candidate["x"] == 2
    assert trainer.trained == spent([round_]).total == 2 + 1 + 2 + 2


def test_a_metric_that_nobody_reads_may_be_anything() -> None:
    trainer = Toy(blind=[0.1, 0.2])
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.2]}, criterion=lowest("norm"), adapt_every=1, try_for=1
    )
    assert [try_.error for try_ in adapter.step().tries] == [None, None]


def test_all_tries_failed_lists_each_and_puts_the_trainer_back() -> None:
    trainer = Diary({0: 1.0, 1: ValueError("one"), 2: math.nan})
    adapter = adapter_of(trainer)
    adapter.trainer.losses[0] = 2.0
    adapter.step()
    before, state = adapter.state_dict(), trainer.get_state()
    trainer.losses[0] = OverflowError("zero")
    with raises(AllTriesFailed):
        adapter.step()
    assert trainer.get_state() == state == (0, 0, 0, 0)
    assert adapter.state_dict() == before


def test_in_a_race_those_overtaken_are_listed_too() -> None:
    class FailsLate(Diary):
        def metrics(self) -> dict[str, float]:
            late = len(self.diary) > 1 and self.diary[-1] in (0, 1)
            return {"loss": math.nan} if late else super().metrics()

    trainer = FailsLate({0: 1, 1: 2, 2: 3, 3: 4})
    with pytest.raises(AllTriesFailed) as caught:
        adapter_of(trainer, selection=Racing(), initial={"x": 0}).step()
    assert str(caught.value).splitlines()[1:] == [
        "  {'x': 0}: loss is nan after epoch 1",
        "  {'x': 1}: loss is nan after epoch 1",
        "  {'x': 2}: overtaken by one that failed later",
        "  {'x': 3}: overtaken by one that failed later",
    ]
    assert trainer.diary == ()


@pytest.mark.parametrize("where", ["first try", "last try", "stretch"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit])
def test_keyboard_interrupt_passes_with_the_trainer_at_the_origin(
    where: str, failure: type[BaseException]
) -> None:
    trainer = Toy(1)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=4, try_for=1
    )
    adapter.step()
    before, state = adapter.state_dict(), bits(trainer.get_state())
    calls = {"first try": 0, "last try": 1, "stretch": 2}
    train_k, left = trainer.train_k, [calls[where]]

    def interrupted(k: int, values: Any) -> None:
        train_k(k, values)
        left[0] -= 1
        if left[0] < 0:
            raise failure

    trainer.train_k = interrupted  # type: ignore[method-assign]
    with pytest.raises(failure):
        adapter.step()
    assert bits(trainer.get_state()) == state
    assert adapter.state_dict() == before


@pytest.mark.parametrize("value", [0, 1])
def test_after_a_keyboard_interrupt_no_worker_stays(value: int) -> None:
    class CountsCloses:
        closed = 0

        def run(self, *arguments: Any, at: Any) -> Any:
            return Serial().run(*arguments, at=at)

        def close(self) -> None:
            self.closed += 1

    executor = CountsCloses()
    trainer = Diary({0: 1, 1: 2})
    adapter = adapter_of(trainer, executor=executor)
    trainer.losses[value] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        adapter.step()
    assert executor.closed == 1
    trainer.losses = {0: 1, 1: 2}
    adapter.step()
    assert executor.closed == 1


def test_an_exception_in_the_stretch_passes_with_the_trainer_at_the_origin() -> None:
    class FailsInTheStretch(Diary):
        def train_k(self, k: int, values: Any) -> None:
            super().train_k(k, values)
            if k > 1:
                raise MemoryError("stretch")

    trainer = FailsInTheStretch({0: 1, 1: 2})
    adapter = adapter_of(trainer)
    with pytest.raises(MemoryError, match="stretch"):
        adapter.step()
    assert trainer.diary == ()
    assert len(adapter.history) == 0


@pytest.mark.parametrize(
    ("epochs", "lengths", "tries"),
    [
        (8, [4, 4], [3, 3]),
        (9, [4, 4, 1], [3, 3, 1]),
        (10, [4, 4, 2], [3, 3, 2]),
        (11, [4, 4, 3], [3, 3, 3]),
        (1, [1], [1]),
    ],
)
def test_the_last_round_is_shorter_where_the_epochs_are_no_multiple(
    epochs: int, lengths: list[int], tries: list[int]
) -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = adapter_of(trainer, try_for=3)
    history = adapter.run(epochs)
    assert [round_.epochs for round_ in history] == lengths
    assert [round_.winner.epochs for round_ in history] == tries
    assert [round_.start for round_ in history] == [4 * index for index in range(len(lengths))]
    assert len(trainer.diary) == adapter.epoch == epochs
    assert trainer.trained == plan_for(adapter, epochs).most.total


@pytest.mark.parametrize(
    "settings",
    [
        {"try_for": 5},
        {"space": {}},
        {"space": {"x": []}},
        {"space": {"x": [1, 2, 1]}},
    ],
)
def test_what_cannot_work_is_refused_at_construction(settings: Any) -> None:
    trainer = Diary({0: 1})
    space = settings.pop("space", {"x": [0]})
    with raises(SettingsError):
        DynamicGridAdapter(
            trainer,
            space,
            **({"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2} | settings),
        )
    assert trainer.trained == 0


def test_tries_as_long_as_the_round_are_allowed() -> None:
    trainer = Diary({0: 1, 1: 0})
    round_ = adapter_of(trainer, adapt_every=2, try_for=2).step()
    assert trainer.diary == (1, 1)
    assert round_.metrics == {"loss": 0.0}


def test_reversed_bounds_are_refused_at_construction() -> None:
    with raises(SettingsError):
        Float(1, 0.5)


def test_a_metric_that_is_not_there_is_refused_at_construction() -> None:
    with raises(MetricError):
        adapter_of(Diary({0: 1}), criterion=lowest("los"))


def test_a_metric_missing_from_a_trainer_that_measures_late_is_refused_in_the_first_try() -> None:
    class MeasuresLate(Diary):
        def metrics(self) -> dict[str, float]:
            return super().metrics() if self.diary else {}

    trainer = MeasuresLate({0: 1})
    adapter = adapter_of(trainer, criterion=lowest("los"))
    with raises(MetricError):
        adapter.step()
    assert trainer.diary == ()


class Noise(Toy):
    """Notes the noise that every epoch met."""

    def __init__(self) -> None:
        super().__init__(3)
        self.met: list[float] = []

    def train_k(self, k: int, values: Any) -> None:
        for _ in range(k):
            super().train_k(1, values)
            self.met.append(float(self.rng.random()))


def noise_of(randomness: Any) -> list[float]:
    trainer = Noise()
    DynamicGridAdapter(
        trainer,
        {"lr": [0.01, 0.1, 0.2]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
        randomness=randomness,
    ).run(4)
    return trainer.met[:6]


@pytest.mark.parametrize("randomness", [None, "common"])
def test_by_default_all_tries_meet_the_same_noise(randomness: Any) -> None:
    met = noise_of(randomness)
    assert met[:2] == met[2:4] == met[4:6]
    assert met[0] != met[1]


def test_independent_tries_meet_noise_of_their_own() -> None:
    assert len(set(noise_of("independent"))) == 6


def test_independent_tries_are_reseeded_from_the_adapters_own_generator() -> None:
    def seeds(seed: int) -> list[Any]:
        adapter = DynamicGridAdapter(
            Toy(),
            {"lr": [0.01, 0.1]},
            criterion=lowest("loss"),
            adapt_every=4,
            try_for=2,
            randomness="independent",
            seed=seed,
        )
        return [[try_.seed for try_ in round_.tries] for round_ in adapter.run(8)]

    expected = np.random.default_rng(5).integers(2**63, size=4).tolist()
    assert seeds(5) == [expected[:2], expected[2:]]
    assert seeds(5) == seeds(5) != seeds(6)


@pytest.mark.parametrize("randomness", ["common", "independent"])
@pytest.mark.parametrize("proposer", [None, Neighbors(), OneAxis(), Interpolation()], ids=repr)
def test_global_generators_are_neither_used_nor_seeded(randomness: Any, proposer: Any) -> None:
    def run() -> Any:
        trainer = Toy(2)
        adapter = DynamicGridAdapter(
            trainer,
            {"lr": [0.01, 0.1, 0.3]},
            criterion=lowest("loss"),
            adapt_every=4,
            try_for=2,
            proposer=proposer,
            randomness=randomness,
        )
        before = (random.getstate(), repr(np.random.get_state()))
        history = adapter.run(10)
        adapter.load_state_dict(adapter.state_dict())
        assert (random.getstate(), repr(np.random.get_state())) == before
        return without_times(history), bits(trainer.get_state())

    first = run()
    random.random(), np.random.random()
    assert run() == first


def test_nothing_is_printed_and_nothing_is_written(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = Toy(raising=[0.2], blind=[0.3])
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.2, 0.3], "momentum": [0.0, 0.5]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
    )
    str(plan_for(adapter, 10))
    adapter.run(10)
    adapter.load_state_dict(adapter.state_dict())
    schedule_of(adapter.history).to_json()
    assert capfd.readouterr() == ("", "")
    assert os.listdir(tmp_path) == []
