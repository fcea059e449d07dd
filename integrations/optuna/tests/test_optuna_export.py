"""The rounds of a run as a study: what it holds, and that Optuna's pictures take it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from dynhp import Categorical, DynamicGridAdapter, Float, History, Int, Ordered, Racing
from dynhp.errors import SettingsError
from dynhp.records import Candidate, Round, Try
from dynhp_optuna import study_of
from dynhp_optuna.ranks import ranks_of
from tests.support.loggers import TwoKinds, adapter_with
from tests.support.messages import raises


def racing() -> DynamicGridAdapter:
    space = {"lr": Float(0.01, 0.3, log=True, points=4), "kind": Categorical("plain", "fancy")}
    return DynamicGridAdapter(
        TwoKinds(), space, minimize="loss", adapt_every=6, try_for=3, selection=Racing()
    )


def test_every_try_is_a_trial_with_its_values_its_curve_and_its_round() -> None:
    history = adapter_with().run(15)
    study = study_of(history)
    tries = [(round_, try_) for round_ in history for try_ in round_.tries]
    assert len(study.trials) == len(tries)
    for trial, (round_, try_) in zip(study.trials, tries, strict=True):
        assert trial.state == TrialState.COMPLETE
        assert trial.params == dict(try_.candidate)
        curve = {round_.start + place: each["loss"] for place, each in enumerate(try_.series)}
        assert trial.intermediate_values == curve
        assert trial.user_attrs["round"] == round_.index
        assert trial.user_attrs["score"] == try_.score
        assert trial.user_attrs["kept"] == (try_ is round_.winner)
        assert trial.user_attrs["in_force"] == (try_.candidate == round_.previous)
        assert ("reason" in trial.user_attrs) == (try_ is round_.winner)
        seconds = trial.duration.total_seconds() if trial.duration else 0.0
        assert seconds == pytest.approx(try_.seconds, abs=1e-5)


def test_by_default_its_value_is_its_rank_among_the_round() -> None:
    history = adapter_with().run(15)
    study = study_of(history)
    assert study.direction.name == "MAXIMIZE"
    for index, round_ in enumerate(history):
        values = [each.value for each in study.trials if each.user_attrs["round"] == index]
        assert values == ranks_of(round_)
        assert values[round_.chosen] == max(values) == 1.0  # type: ignore[type-var]
    scores = study_of(history, value="score", metric="steps")
    assert [each.value for each in scores.trials] == [
        try_.score for round_ in history for try_ in round_.tries
    ]
    assert set(scores.trials[0].intermediate_values.values()) == {1.0, 2.0}


def test_what_a_race_dropped_is_pruned_and_what_failed_has_failed() -> None:
    history = racing().run(12)
    states = [trial.state for trial in study_of(history).trials]
    dropped = sum(t.epochs < r.winner.epochs for r in history for t in r.tries)
    assert 0 < dropped == states.count(TrialState.PRUNED)
    [round_, *_] = history
    failed = replace(round_.tries[1], error="RuntimeError: no", score=math.nan)
    broken = replace(round_, tries=(round_.tries[0], failed, *round_.tries[2:]))
    trial = study_of(History((broken,))).trials[1]
    assert trial.state == TrialState.FAIL
    assert (trial.user_attrs["error"], trial.user_attrs["score"]) == ("RuntimeError: no", None)
    assert ranks_of(broken)[1] == 0.0


def one_round(*scores: float, epochs: tuple[int, ...] = (), error: str | None = None) -> Round:
    lengths = epochs or (1,) * len(scores)
    tries = tuple(
        Try(candidate=Candidate({"x": x}), series=(), epochs=length, score=score, error=error)
        for x, (score, length) in enumerate(zip(scores, lengths, strict=True))
    )
    return Round(
        index=0, start=0, epochs=1, previous=tries[0].candidate, tries=tries, chosen=0, reason="",
        metrics={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("round_", "ranks"),
    [
        (one_round(1.0, 3.0, 2.0), [0.0, 1.0, 0.5]),
        (one_round(1.0, 1.0, 2.0), [0.25, 0.25, 1.0]),  # equals share their places
        (one_round(1.0, math.nan, -math.inf), [1.0, 0.25, 0.25]),  # not finite is worst
        (one_round(5.0), [None]),  # alone it has beaten nobody
        (one_round(1.0, 2.0, 9.0, epochs=(1, 1, 2)), [0.0, 1.0, None]),  # not to be compared
    ],
)
def test_ranks(round_: Round, ranks: list[float | None]) -> None:
    assert ranks_of(round_) == ranks


def test_who_was_alone_is_neither_better_nor_worse() -> None:
    [trial] = study_of([one_round(5.0)]).trials
    assert trial.value == 0.5
    assert trial.intermediate_values == {}


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (Float(0.01, 0.3, log=True), FloatDistribution(0.01, 0.3, log=True)),
        (Int(1, 9), IntDistribution(1, 9)),
        (Ordered(1, 2, 4), IntDistribution(1, 4)),
        (Ordered(0.001, 0.1), FloatDistribution(0.001, 0.1, log=True)),
        (Ordered(0.0, 1.0), FloatDistribution(0.0, 1.0)),
        (Categorical("a", None, True), CategoricalDistribution(("a", None, True))),
    ],
)
def test_the_bounds_are_those_of_the_space(axis: Any, expected: object) -> None:
    tried = Try(candidate=Candidate({"x": axis.start()}), series=(), epochs=1, score=1.0)
    round_ = replace(one_round(1.0), tries=(tried,), previous=tried.candidate)
    [trial] = study_of([round_], space={"x": axis}).trials
    assert trial.distributions["x"] == expected


def test_it_can_be_kept_for_the_dashboard(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/rounds.db"
    history = adapter_with().run(10)
    made = study_of(history, storage=storage, name="run 1")
    loaded = optuna.load_study(study_name="run 1", storage=storage)
    assert [each.params for each in loaded.trials] == [each.params for each in made.trials]
    assert loaded.metric_names == ["share of tries beaten"]
    with raises(SettingsError):
        study_of(history, storage=storage, name="run 1")


def test_optunas_pictures_show_it() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as pictures

    study = study_of(racing().run(24))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all of them are experimental
        slices = pictures.plot_slice(study)
        curves = pictures.plot_intermediate_values(study)
        importances = pictures.plot_param_importances(study)
        pictures.plot_timeline(study)
        pictures.plot_optimization_history(study)
    assert [axes.get_xlabel() for axes in slices] == ["kind", "lr"]
    with_curve = [t for t in study.trials if t.intermediate_values and t.state != TrialState.FAIL]
    assert len(curves.get_lines()) == len(with_curve)
    assert len(importances.get_yticklabels()) == 2
    pyplot.close("all")


def test_bad_input() -> None:
    history = adapter_with().run(5)
    wrong: Any = "gain"
    with raises(SettingsError):
        study_of(history, value=wrong)
    with raises(SettingsError):
        study_of(history, metric="los")
    [round_] = history
    rescored = [replace(try_, score=0.123) for try_ in round_.tries]
    with raises(SettingsError):
        study_of([replace(round_, tries=tuple(rescored))])
    with raises(SettingsError):
        study_of(3)  # type: ignore[arg-type]


def test_no_rounds_are_an_empty_study() -> None:
    assert study_of(History(())).trials == []
