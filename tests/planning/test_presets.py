"""Presets give policies that the adapter takes, and advice where nothing should be adapted."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    Neighbors,
    Ordered,
    Policy,
    Racing,
    Space,
    highest,
    lowest,
    paper,
    phased,
    plan,
    plan_for,
    plateau,
    recommended,
    rescue,
    smallest_gap,
    smoothed,
    spent,
    trainer_from,
)
from dynhp.advice import LEAVE_ALONE
from dynhp.criteria import worse_of
from dynhp.errors import Hint, LeaveItAlone, SettingsError
from dynhp.planning import ema_race
from dynhp.proposers import Climb, Ladder
from dynhp.records import Progress
from dynhp.snapshots import Snapshots
from dynhp.spaces import Around
from dynhp.tails import annealed, at_peak, averaged, scheduled
from dynhp.testing import Quadratic
from dynhp.triggers import At, Every, OnPlateau, OnSpike
from tests.support.messages import raises, warns

RATIO = {"ratio": [0.1 * i for i in range(1, 10)]}


def flat_trainer(*metrics: str) -> Any:
    return trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: dict.fromkeys(metrics, 0.5),
    )


def test_paper_is_algorithm_1() -> None:
    assert paper(RATIO, 10, 2) == Policy(
        space=Space(RATIO),
        criterion=smoothed(highest("val_auc")),
        when=Every(10),
        try_for=2,
        proposer=FullGrid(),
        selection=Best(),
    )
    assert paper(Space(RATIO), 10, 2) == paper(RATIO, 10, 2)


def test_paper_judges_by_the_gap_where_asked() -> None:
    policy = paper(RATIO, 10, 2, criterion="gap", train="t", validation="v")
    assert policy.criterion == smoothed(smallest_gap("t", "v"))
    series = [{"t": 1.0, "v": 0.5}, {"t": 1.0, "v": 0.75}]
    assert policy.criterion(series, Progress(0)) == -0.375


def test_paper_reads_the_validation_metric_it_is_given() -> None:
    assert paper(RATIO, 1, 1, validation="mrr").criterion == smoothed(highest("mrr"))


def test_paper_goes_into_the_adapter_as_it_is() -> None:
    adapter = DynamicGridAdapter(flat_trainer("val_auc"), policy=paper(RATIO, 10, 1))
    assert plan_for(adapter, 500).most.total == 1.8 * 500 + 2  # the check


@pytest.mark.parametrize(
    "arguments",
    [
        {"alpha": 0},
        {"beta": 0.5},
        {"criterion": "loss"},
    ],
)
def test_paper_refuses(arguments: dict[str, Any]) -> None:
    with raises(SettingsError):
        paper(RATIO, **({"alpha": 10, "beta": 1} | arguments))


def test_recommended_learning_rate_is_a_ladder() -> None:
    assert recommended("lr", epochs=1000, default=0.2, name="eta", loss="mse") == Policy(
        space=Space({"eta": Around(0.2, anchor=1.0)}),
        initial={"eta": 0.2},
        criterion=worse_of(smoothed(lowest("mse"), 1 / 3), lowest("val_loss")),
        when=At([0]),
        try_for=0,
        tail=annealed("eta", epochs=30, warm_up=0.2),
        keep="value",
        then=at_peak("eta", power=0.5),
        course=scheduled("eta", "wsd"),
        proposer=Climb(learns=lowest("mse")),
        selection=Best(),
    )


@pytest.mark.parametrize("shape", ["wsd", "cosine", "linear"])
def test_recommended_learning_rate_brings_its_schedule(shape: Any) -> None:
    without = recommended("lr", default=0.1, name="eta")
    policy = recommended("lr", default=0.1, name="eta", schedule=shape)
    assert policy == replace(without, course=scheduled("eta", shape))


def test_other_endings_are_averages_or_a_lower_constant_rate() -> None:
    usual = recommended("lr", name="eta")
    assert recommended("lr", name="eta", ending="average") == replace(usual, course=averaged())
    constant = at_peak("eta", power=0.5, factor=0.56)
    assert recommended("lr", name="eta", ending=None) == replace(usual, course=None, then=constant)


def test_what_judges_the_tries_may_be_another_loss_or_a_score() -> None:
    assert recommended("lr", loss="val_loss").criterion == smoothed(lowest("val_loss"), 1 / 3)
    held_out = worse_of(smoothed(lowest("train_loss"), 1 / 3), lowest("dev"))
    assert recommended("lr", val_loss="dev").criterion == held_out
    policy = recommended("lr", maximize="reward")
    assert policy.criterion == smoothed(highest("reward"), 1 / 3)
    assert policy.proposer == Climb(learns=highest("reward"))
    with raises(SettingsError):
        recommended("lr", loss="loss", maximize="reward")


@pytest.mark.parametrize("given", [{"schedule": "steps"}, {"ending": "wsd"}])
def test_an_ending_that_is_not_known_is_refused(given: Any) -> None:
    with raises(SettingsError):
        recommended("lr", **given)


@pytest.mark.parametrize(
    ("default", "first"), [(None, 0.001), (0.1, 0.1), (np.float32(0.5), 0.316228)]
)
def test_the_search_begins_next_to_the_default_or_else_to_what_is_in_force(
    default: Any, first: float
) -> None:
    class InForce(Quadratic):
        lr = 0.001

        def train_k(self, k: int, values: Any) -> None:
            self.lr = values["lr"]
            super().train_k(k, values)

        def hyperparameters(self) -> dict[str, Any]:
            return {"lr": self.lr}

    adapter = DynamicGridAdapter(InForce(), policy=recommended("lr", default=default, loss="loss"))
    assert adapter.run(60)[0].tries[0].candidate == {"lr": first}


@pytest.mark.parametrize("changes", [{"name": ""}, {"loss": ""}, {"val_loss": ""}])
def test_an_empty_name_is_refused_and_not_the_default(changes: dict[str, Any]) -> None:
    with raises(SettingsError):
        recommended("lr", **changes)


@pytest.mark.parametrize(("planned", "unit"), [(6, "epochs"), (66, "epochs"), (444, "steps")])
def test_a_run_so_short_that_tries_are_expensive_gets_a_hint(planned: int, unit: Any) -> None:
    with warns(Hint):
        recommended("lr").tail_epochs(planned, unit)


@pytest.mark.parametrize(("planned", "unit"), [(5, "epochs"), (39, "steps")])
def test_a_run_that_is_hardly_longer_than_a_try_is_refused(planned: int, unit: Any) -> None:
    with raises(SettingsError):
        recommended("lr").tail_epochs(planned, unit)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("planned", "unit", "length"),
    [
        (67, "epochs", 3),
        (100, "epochs", 3),
        (1500, "epochs", 45),
        (445, "steps", 20),
        (1000, "steps", 30),
        (10_000, "steps", 300),
    ],
)
def test_a_try_of_the_ladder_is_three_hundredths_of_the_run(
    planned: int, unit: Any, length: int
) -> None:
    assert recommended("lr").tail_epochs(planned, unit) == length


@pytest.mark.parametrize("epochs", [70, 100, 1000])
def test_the_ladder_costs_what_its_plan_says(epochs: int) -> None:
    policy = recommended("lr", default=0.1, loss="loss")
    adapter = DynamicGridAdapter(Quadratic(), policy=policy, epochs=epochs, check="off")
    plan = plan_for(adapter, epochs)
    length = max(3, round(0.03 * epochs))
    assert plan.least.overhead == 4 * length
    assert plan.most.candidates is None  # an axis without ends has no grid to search
    assert plan.most.overhead == (1 + 8 + 8) * length  # each rung once
    assert spent(adapter.run(epochs)).overhead == 5 * length  # of 0.1, 1, 3.16, 10 and 0.316


def test_the_race_of_learning_rates() -> None:
    assert ema_race("eta", epochs=40, default=0.1, loss="mse") == Policy(
        space=Space({"eta": ema_race("lr", epochs=4, default=0.1).space["lr"]}),
        criterion=phased(lowest("ema_mse"), lowest("mse"), at=0.6),
        when=Every(10),
        try_for=5,
        proposer=FullGrid(),
        selection=Racing(keep=0.5),
    )


@given(default=st.floats(1e-12, 1e6), epochs=st.integers(4, 2000))
def test_the_race_has_five_steps_of_about_3_around_the_default(default: float, epochs: int) -> None:
    policy = ema_race("lr", epochs=epochs, default=default)
    values = policy.space["lr"].grid()
    assert values[2] == default
    assert len(values) == 5
    for low, high in itertools.pairwise(values):
        assert 2.8 < high / low < 3.6
    assert policy.when == Every(math.ceil(epochs / 4))
    assert 1 <= policy.try_for <= policy.adapt_every
    assert abs(policy.try_for - epochs / 8) <= 0.5


@pytest.mark.parametrize("epochs", [40, 80, 200, 500, 1000])
def test_the_race_costs_1_7_runs_however_long_they_are(epochs: int) -> None:
    policy = ema_race("lr", epochs=epochs, default=0.1)
    cost = plan(
        epochs=epochs,
        adapt_every=policy.adapt_every,
        try_for=policy.try_for,
        candidates=5,
        selection=policy.selection,
        check="off",
    )
    assert cost.runs == pytest.approx(1.7, abs=0.05)
    assert policy.selection == Racing(keep=0.5, every=epochs // 40)  # races at the same shares


def test_the_race_goes_into_the_adapter_as_it_is() -> None:
    trainer = flat_trainer("val_loss", "ema_val_loss")
    adapter = DynamicGridAdapter(trainer, policy=ema_race("lr", epochs=8, default=0.1), check="off")
    assert adapter.current == {"lr": 0.1}
    assert adapter.run(8).epochs == 8


@pytest.mark.parametrize("kind", [*LEAVE_ALONE, "Dropout", "label-smoothing"])
def test_recommended_advises_to_leave_alone(kind: str) -> None:
    with raises(LeaveItAlone):
        recommended(kind)


def test_forced_settings_are_cautious() -> None:
    policy = recommended("dropout", epochs=160, default=0.2, name="p", force=True)
    assert policy.space["p"].grid() == (0.05, 0.1, 0.2, 0.4, 0.8)
    assert policy.criterion == lowest("val_loss")
    assert (policy.adapt_every, policy.try_for) == (20, 10)
    assert policy.proposer == Neighbors()
    assert policy.selection == BestByMargin(noise=2.0)


@pytest.mark.parametrize(
    ("default", "values"),
    [(0.5, (0.12, 0.25, 0.5)), (1, (0.25, 0.5, 1.0)), (2.0, (0.5, 1.0, 2.0))],
)
def test_forced_settings_stay_below_1(default: float, values: tuple[float, ...]) -> None:
    policy = recommended("dropout", epochs=8, default=default, force=True)
    assert policy.space["dropout"].grid() == values
    assert (policy.adapt_every, policy.try_for) == (1, 1)


def test_forced_settings_are_judged_by_the_loss_they_are_given() -> None:
    policy = recommended("dropout", epochs=8, default=0.2, loss="mse", force=True)
    assert policy.criterion == lowest("mse")


def test_a_plateau_lowers_a_rate_step_by_step_from_the_best_state() -> None:
    assert plateau("lr", default=243.0) == Policy(
        space=Space({"lr": Ordered(1.0, 3.0, 9.0, 27.0, 81.0, 243.0)}),
        initial={"lr": 243.0},
        criterion=smoothed(lowest("val_loss")),
        when=OnPlateau("val_loss", patience=5),
        try_for=5,
        proposer=Ladder(1),
        start_from="best",
        max_rounds=5,
    )


@pytest.mark.parametrize("lag", [0, 1])
def test_a_rescue_waits_for_a_spike_and_tries_three_lower_rates(lag: int) -> None:
    assert rescue("lr", default=729.0, lag=lag) == Policy(
        space=Space({"lr": Ordered(1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 729.0)}),
        initial={"lr": 729.0},
        criterion=lowest("val_loss"),
        when=OnSpike("val_loss", window=10, factor=3.0, lag=lag),
        try_for=3,
        proposer=Ladder(3),
        start_from="before",
        snapshots=Snapshots(k=2 + lag),
        max_rounds=0,
        max_rescues=5,
    )


def test_the_lowest_value_of_a_ladder_may_be_the_smallest_number_there_is() -> None:
    values = plateau("lr", default=2.0**-1021, factor=2, steps=1).space["lr"].grid()
    assert values == (pytest.approx(sys.float_info.min, rel=0.01), 2.0**-1021)


def test_force_changes_nothing_for_a_learning_rate() -> None:
    plain, forced = (recommended("lr", epochs=9, default=1, force=f) for f in (False, True))
    assert plain == forced


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("learning_rat", {}),
        ("momentum", {}),
        (None, {}),
        ("dropout", {"epochs": None}),
        ("dropout", {"epochs": 3}),
        ("dropout", {"default": 0}),
        ("lr", {"epochs": 0}),
        ("lr", {"epochs": 40.0}),
        ("lr", {"default": "0.1"}),
        ("lr", {"default": 0.0}),
        ("lr", {"default": math.inf}),
        ("lr", {"default": math.nan}),
    ],
)
def test_recommended_refuses(kind: Any, changes: dict[str, Any]) -> None:
    with raises(SettingsError):
        recommended(kind, **{"epochs": 40, "default": 0.1, "force": True, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 3},
        {"default": -1},
        {"name": ""},
    ],
)
def test_the_race_refuses(changes: dict[str, Any]) -> None:
    with raises(SettingsError):
        ema_race(**{"name": "lr", "epochs": 40, "default": 0.1, **changes})


def test_a_learning_rate_has_a_typical_default() -> None:
    given = recommended("lr", epochs=40, default=0.03)
    assert given.initial == {"lr": 0.03}  # else what is in force would come first
    assert recommended("lr", epochs=40) == replace(given, initial=None)
    assert ema_race("lr", epochs=40) == ema_race("lr", epochs=40, default=0.03)
