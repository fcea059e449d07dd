"""A run as numbers: two axes, every epoch once, values of every kind."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dynhp import Categorical, DynamicGridAdapter, History, Racing
from dynhp.errors import CheckpointError, SettingsError
from dynhp.records import Candidate, Round, Try
from dynhp.report.scalars import Scalar, ScalarLog, Totals, scalars_of
from dynhp.storage import checkpoints
from dynhp.testing import NoisyQuadratic
from tests.support.bad_input import any_
from tests.support.loggers import Series, adapter_with, check_series, killed_and_resumed, loop_with
from tests.support.messages import raises, warns


def series_of(scalars: list[Scalar]) -> Series:
    series: dict[str, list[tuple[int, float]]] = {}
    for scalar in scalars:
        series.setdefault(scalar.series, []).append((scalar.step, scalar.value))
    return series


def logged(history: History) -> list[Scalar]:
    scalars: list[Scalar] = []
    log = ScalarLog(scalars.extend, name="test")
    for round_ in history:
        log(round_)
    return scalars


def test_a_loop_has_every_epoch_of_the_main_line_once_and_in_order() -> None:
    scalars: list[Scalar] = []
    history = loop_with(ScalarLog(scalars.extend, name="test"))
    series = series_of(scalars)
    assert [step for step, _ in series["main/loss"]] == list(range(12))
    check_series(series, history)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dry_run": True},
        {"keep": "value", "randomness": "independent"},
        {"selection": Racing()},
    ],
)
def test_a_trainer_has_what_was_measured(settings: dict[str, object]) -> None:
    scalars: list[Scalar] = []
    history = adapter_with(ScalarLog(scalars.extend, name="test"), **settings).run(23)
    check_series(series_of(scalars), history)
    assert {scalar.axis for scalar in scalars if scalar.series[:4] in ("main", "cost", "sche")} == {
        "main"
    }


def test_steps_never_fall_on_an_axis() -> None:
    for axis in ("main", "tries"):
        steps = [each.step for each in logged(adapter_with().run(23)) if each.axis == axis]
        assert steps == sorted(steps)
        assert steps[0] == 0


def test_the_cost_at_the_end_is_what_was_spent() -> None:
    history = adapter_with().run(23)
    spent = sum(round_.epochs + round_.overhead for round_ in history)
    assert series_of(logged(history))["cost/spent"][-1] == (22, spent)


def test_a_word_is_a_series_for_each_choice() -> None:
    series = series_of(logged(adapter_with().run(5)))
    for name in ("schedule/kind", "values/kind"):
        plain, fancy = series[f"{name}=plain"], series[f"{name}=fancy"]
        assert {a + b for (_, a), (_, b) in zip(plain, fancy, strict=True)} == {1.0}
    assert "schedule/kind" not in series


def test_true_and_none_are_values_too() -> None:
    candidate = Candidate({"nesterov": True, "clip": None})
    tried = Try(candidate=candidate, series=({"loss": 1.0},), epochs=1, score=-1.0)
    round_ = Round(
        index=0, start=0, epochs=1, previous=candidate, tries=(tried,), chosen=0, reason="",
        metrics={"loss": 1.0},
    )  # fmt: skip
    series = series_of(scalars_of(round_, Totals()))
    assert series["schedule/nesterov"] == series["schedule/clip=None"] == [(0, 1.0)]
    assert series["main/loss"] == [(0, 1.0)]


def test_failed_tries_have_their_place_and_no_more() -> None:
    [round_] = adapter_with().run(5)
    failed = replace(round_.tries[1], series=(), score=math.nan, error="RuntimeError: no")
    never_begun = replace(failed, epochs=0)
    tries = (round_.tries[0], failed, never_begun, *round_.tries[3:])
    series = series_of(scalars_of(replace(round_, tries=tries), Totals(tried=10)))
    assert [step for step, _ in series["try/kept"][:4]] == [11, 13, 14, 16]
    assert [step for step, _ in series["tries/loss"][:4]] == [10, 11, 15, 16]


def test_a_round_of_no_epochs_is_not_on_the_main_line() -> None:
    [round_] = adapter_with().run(5)
    empty = replace(round_, epochs=0, metrics={})
    assert {scalar.axis for scalar in scalars_of(empty, Totals())} == {"tries"}


def test_a_killed_run_hands_over_what_the_rounds_came_to(tmp_path: Path) -> None:
    outputs: list[list[Scalar]] = []

    def make() -> ScalarLog:
        outputs.append([])
        return ScalarLog(outputs[-1].extend, name="test")

    history = killed_and_resumed(make, tmp_path / "run")
    first, second, third = outputs  # each killed one round beyond what was saved
    main = [scalar.step for scalar in (*first, *second, *third) if scalar.series == "main/loss"]
    assert main == [0, 1, 4, 0, 1, 4, 5, 6, 9, 10, 11, 14, 10, 11, 14, 15, 16, 19, 20, 21, 22]
    whole = series_of(third)
    assert whole["cost/spent"][-1][1] == sum(each.epochs + each.overhead for each in history)


def test_a_round_that_is_undone_and_comes_again_is_handed_over_once() -> None:
    scalars: list[Scalar] = []
    broken = True

    def fails_once(event: object) -> None:
        nonlocal broken
        if isinstance(event, Round) and event.index == 1 and broken:
            broken = False
            raise RuntimeError("of another callback")

    adapter = adapter_with(ScalarLog(scalars.extend, name="test"), fails_once)
    with pytest.raises(RuntimeError, match="another callback"):
        adapter.run(15)
    history = adapter.run(15)
    check_series(series_of(scalars), history)


def test_under_a_tolerance_it_need_not_come_out_the_same() -> None:
    scalars: list[Scalar] = []
    log = ScalarLog(scalars.extend, name="test")
    [round_] = adapter_with().run(5)
    log(replace(round_, tolerance=0.1))
    count = len(scalars)
    log(replace(round_, tolerance=0.1, metrics={"loss": 0.123}))
    assert len(scalars) == count


def test_one_logger_for_two_runs_is_refused() -> None:
    log = ScalarLog(list, name="test")
    adapter_with(log).run(10)
    with raises(CheckpointError):
        adapter_with(log).run(10)
    rewound = ScalarLog(list, name="test")
    rewound.rewind(log.position())
    with raises(CheckpointError):
        adapter_with(rewound).run(10)


def test_a_logger_may_join_a_run_later(tmp_path: Path) -> None:
    with checkpoints(tmp_path, adapter_with()) as adapter:
        adapter.run(10)
    scalars: list[Scalar] = []
    with checkpoints(tmp_path, adapter_with(ScalarLog(scalars.extend, name="test"))) as adapter:
        adapter.run(15)
    series = series_of(scalars)
    assert [step for step, _ in series["main/loss"]] == [10, 11, 14]
    assert series["cost/spent"] == [(14, 15 + adapter.history[-1].overhead)]


class Disk:
    """Takes numbers as long as it is not full, a few at a time."""

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.full = False

    def write(self, scalars: object) -> None:
        if self.full:
            raise OSError("no space left")
        self.scalars += scalars  # type: ignore[operator]


def test_where_it_cannot_be_written_the_run_stops_and_can_go_on() -> None:
    disk = Disk()
    adapter = adapter_with(ScalarLog(disk.write, name="disk"))
    adapter.run(5)
    disk.full = True
    with raises(CheckpointError):
        adapter.run(15)
    assert adapter.epoch == 5
    disk.full = False
    history = adapter.run(15)
    check_series(series_of(disk.scalars), history)


def test_or_it_warns_and_writes_them_later(tmp_path: Path) -> None:
    disk = Disk()
    log = ScalarLog(disk.write, name="disk", on_error="warn")
    disk.full = True
    with warns(RuntimeWarning) as caught:
        adapter_with(log).run(5)
    lost = [each for each in caught if each.category is RuntimeWarning]  # and not a hint
    assert {each.filename for each in lost} == {__file__}
    with warns(RuntimeWarning):
        position = log.position()
    assert disk.scalars == []
    assert len(position["waiting"]) > 10
    disk.full = False
    other = ScalarLog(disk.write, name="disk", on_error="warn")
    other.rewind(position)
    other.position()
    assert series_of(disk.scalars)["main/loss"][-1][0] == 4
    assert other.position()["waiting"] == []


def test_what_waits_survives_a_kill(tmp_path: Path) -> None:
    disk = Disk()
    disk.full = True
    with (
        warns(RuntimeWarning),
        checkpoints(
            tmp_path, adapter_with(ScalarLog(disk.write, name="disk", on_error="warn"))
        ) as adapter,
    ):
        adapter.run(10)
    disk.full = False
    with checkpoints(tmp_path, adapter_with(ScalarLog(disk.write, name="disk"))) as adapter:
        history = adapter.run(15)
    check_series(series_of(disk.scalars), history)


def test_bad_input() -> None:
    with raises(SettingsError):
        ScalarLog(any_(3), name="test")
    with raises(SettingsError):
        ScalarLog(list, name="test", on_error=any_("ignore"))
    with raises(CheckpointError):
        ScalarLog(list, name="test").rewind(3)


def test_a_run_is_the_same_with_and_without_it() -> None:
    with_it = adapter_with(ScalarLog(list, name="test"))
    assert with_it.run(15) == adapter_with().run(15)
    plain = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": Categorical(0.1, 0.3)}, minimize="loss", adapt_every=5, try_for=1
    )
    assert plain.run(5).epochs == 5
