"""Settings of adaptation chosen by a study: pruned, resumed, counted, and failures said."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.pruners import MedianPruner, NopPruner, ThresholdPruner
from optuna.samplers import CmaEsSampler, RandomSampler, TPESampler
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from dynhp import DynamicGridAdapter, FullGrid, Neighbors, Placebo, adapt, spent
from dynhp.errors import AllTriesFailed, MetricError, SettingsError
from dynhp.testing import NoisyQuadratic
from dynhp_optuna import AdaptedRun, OptunaProposer, tune
from dynhp_optuna.objective import history_of_trial
from tests.support.messages import raises

QUICK = functools.partial(TPESampler, n_startup_trials=3)
PROPOSERS: dict[str, Any] = {"grid": FullGrid(), "neighbours": Neighbors(), "luck": Placebo(3)}


def make_adapter(trial: optuna.Trial) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.003, 0.01, 0.03, 0.1, 0.3]},
        minimize="loss",
        adapt_every=trial.suggest_int("adapt_every", 4, 20),
        try_for=trial.suggest_int("try_for", 1, 6),
        proposer=PROPOSERS[trial.suggest_categorical("proposer", list(PROPOSERS))],
    )


def always(**settings: Any) -> Any:
    """An adapter that does not depend on the trial."""
    given: dict[str, Any] = {"minimize": "loss", "adapt_every": 5, "try_for": 1, **settings}
    return lambda trial: DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.01, 0.1, 0.3]}, **given)


def table(study: optuna.Study) -> list[Any]:
    """Trials as far as they are the same in every run."""
    return [
        (trial.state, trial.value, trial.params, trial.intermediate_values)
        for trial in study.trials
    ]


def test_the_best_trial_is_given_back_with_its_history_and_costs_are_noted() -> None:
    tuned = tune(make_adapter, 40, trials=6, minimize="loss", sampler=QUICK, pruner=NopPruner())
    best = tuned.study.best_trial
    assert tuned.params == best.params
    assert tuned.value == best.value == tuned.history[-1].metrics["loss"]
    assert tuned.history.epochs == 40
    assert best.user_attrs["cost_epochs"] == spent(tuned.history).total
    assert best.user_attrs["cost_runs"] == pytest.approx(spent(tuned.history).runs, abs=1e-4)
    ended = [trial for trial in tuned.study.trials if trial.state == TrialState.COMPLETE]
    assert all(trial.value >= tuned.value for trial in ended)  # type: ignore[operator]
    assert tuned.cost == sum(each.user_attrs.get("cost_epochs", 0) for each in tuned.study.trials)
    again = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.003, 0.01, 0.03, 0.1, 0.3]},
        minimize="loss",
        adapt_every=tuned.params["adapt_every"],
        try_for=tuned.params["try_for"],
        proposer=PROPOSERS[tuned.params["proposer"]],
    )
    assert again.run(40) == tuned.history


def test_a_study_that_was_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    settings: Any = {"minimize": "loss", "sampler": QUICK, "seed": 3, "report_every": 20}
    whole = tune(make_adapter, 40, trials=6, **settings)
    storage = f"sqlite:///{tmp_path}/study.db"
    for trials in (3, 6):
        parts = tune(make_adapter, 40, trials=trials, storage=storage, name="mine", **settings)
        assert len(parts.study.trials) == trials
    assert table(parts.study) == table(whole.study)
    assert parts.history == whole.history
    assert len({tuple(trial.params.values()) for trial in parts.study.trials}) > 4
    again = tune(make_adapter, 40, trials=6, storage=storage, name="mine", **settings)
    assert again.params == whole.params  # nothing was left to do
    with raises(SettingsError):
        tune(make_adapter, 50, trials=9, storage=storage, name="mine", **settings)


def test_pruners_see_the_main_line_at_the_same_marks_whatever_the_rounds() -> None:
    tuned = tune(make_adapter, 40, trials=5, minimize="loss", report_every=8, pruner=NopPruner())
    ended = [trial for trial in tuned.study.trials if trial.state == TrialState.COMPLETE]
    assert len({trial.params["adapt_every"] for trial in ended}) > 1
    for trial in ended:
        assert list(trial.intermediate_values) == [8, 16, 24, 32, 40]
        measured = history_of_trial(trial).measured
        for mark, value in trial.intermediate_values.items():
            assert value == [each["loss"] for number, each in measured if number < mark][-1]


def test_what_does_badly_is_pruned_and_its_cost_counts() -> None:
    tuned = tune(
        make_adapter, 60, trials=10, minimize="loss", sampler=QUICK,
        pruner=MedianPruner(n_startup_trials=2),
    )  # fmt: skip
    pruned = [trial for trial in tuned.study.trials if trial.state == TrialState.PRUNED]
    assert pruned
    for trial in pruned:
        history = history_of_trial(trial)
        assert 0 < history.epochs < 60
        assert trial.user_attrs["cost_epochs"] == spent(history).total


def test_a_trial_that_raises_has_failed_and_the_others_go_on() -> None:
    def make(trial: optuna.Trial) -> DynamicGridAdapter:
        return always(try_for=trial.suggest_int("try_for", 4, 7))(trial)  # type: ignore[no-any-return]

    tuned = tune(make, 20, trials=8, minimize="loss", sampler=RandomSampler)
    longer = {trial.number for trial in tuned.study.trials if trial.params["try_for"] > 5}
    assert longer
    assert set(tuned.failed) == longer
    for number, why in tuned.failed.items():
        assert why.startswith("SettingsError: try_for must be at most adapt_every")
        assert f"trial {number} failed: {why}" in str(tuned)
    assert len(str(tuned).splitlines()) == 1 + 8 + len(longer) + 1


def test_where_none_comes_to_its_end_all_reasons_are_said() -> None:
    with raises(AllTriesFailed):
        tune(always(try_for=6), 20, trials=2, minimize="loss")
    with raises(AllTriesFailed):
        tune(always(), 20, trials=1, minimize="los")
    with raises(AllTriesFailed):
        tune(always(), 20, trials=2, minimize="loss", most_runs=1.1)


def test_what_is_planned_to_cost_too_much_is_not_begun() -> None:
    tuned = tune(
        make_adapter, 40, trials=8, minimize="loss", sampler=RandomSampler, most_runs=2.0,
        pruner=NopPruner(),
    )  # fmt: skip
    dear = [trial for trial in tuned.study.trials if "too_expensive" in trial.user_attrs]
    assert dear
    assert all(trial.state == TrialState.PRUNED for trial in dear)
    assert not any("cost_epochs" in trial.user_attrs for trial in dear)
    costs = [trial.user_attrs.get("cost_runs", 0) for trial in tuned.study.trials]
    assert max(costs) <= 2


def test_ctrl_c_passes_through_and_the_trial_does_not_count() -> None:
    settings: Any = {"minimize": "loss", "storage": InMemoryStorage(), "name": "mine"}

    def impatient(trial: optuna.Trial) -> DynamicGridAdapter:
        if trial.number == 1:
            raise KeyboardInterrupt
        return make_adapter(trial)

    with pytest.raises(KeyboardInterrupt):
        tune(impatient, 20, trials=3, **settings)
    tuned = tune(impatient, 20, trials=3, **settings)
    assert len(tuned.study.trials) == 4
    assert tuned.failed[1] == "interrupted"


def test_a_metric_that_is_not_finite_at_the_end_fails_the_trial() -> None:
    class Diverged(NoisyQuadratic):
        def metrics(self) -> dict[str, float]:
            return {**super().metrics(), "gap": float("nan")}

    def make(trial: optuna.Trial) -> DynamicGridAdapter:
        return DynamicGridAdapter(
            Diverged(), {"lr": [0.1, 0.3]}, minimize="loss", adapt_every=5, try_for=1
        )

    objective = AdaptedRun(make, 10, maximize="gap")
    study = optuna.create_study(direction=objective.direction)
    with raises(MetricError):
        study.optimize(objective, n_trials=1)
    assert study.trials[0].state == TrialState.FAIL
    assert history_of_trial(study.trials[0]).epochs == 10
    assert study.trials[0].intermediate_values == {}


def test_the_objective_alone_serves_a_study_of_your_own() -> None:
    objective = AdaptedRun(always(), 40, minimize="loss")
    study = optuna.create_study(pruner=ThresholdPruner(upper=1e-9))
    study.optimize(objective, n_trials=1)
    assert study.trials[0].state == TrialState.PRUNED
    with raises(SettingsError):
        history_of_trial(optuna.trial.create_trial(value=1.0))


def test_a_sampler_inside_a_study_of_samplers_and_nothing_on_the_screen(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def make(trial: optuna.Trial) -> DynamicGridAdapter:
        k = trial.suggest_int("k", 1, 3)
        return always(proposer=OptunaProposer(QUICK, k))(trial)  # type: ignore[no-any-return]

    tune(make, 20, trials=3, minimize="loss", sampler=CmaEsSampler)
    assert capfd.readouterr() == ("", "")


def loop_of(trial: optuna.Trial) -> Any:
    model = NoisyQuadratic()
    return adapt(
        5, state=[model], space={"lr": [0.1]}, minimize="loss", adapt_every=5, try_for=1
    )  # fmt: skip


BAD: list[dict[str, Any]] = [
    {"trials": 0},
    {"epochs": 0},
    {"minimize": None},
    {"maximize": "auc"},
    {"seed": -1},
    {"sampler": TPESampler(seed=1)},
    {"storage": "sqlite:///x.db"},
    {"report_every": 0},
    {"most_runs": 0.5},
    {"make_adapter": 3},
]


@pytest.mark.parametrize("change", BAD)
def test_bad_input(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"make_adapter": always(), "epochs": 10, "trials": 1}
    with raises(SettingsError):
        tune(**{**given, "minimize": "loss", **change})


def test_a_loop_cannot_be_tuned_and_that_is_said() -> None:
    with raises(AllTriesFailed):
        tune(loop_of, 5, trials=1, minimize="loss")
