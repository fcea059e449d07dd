"""adapted_train takes what lightgbm.train takes: a dry run gives the same, to the last bit."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import lightgbm.sklearn
import numpy as np
import pytest

from dynhp import DynamicGridAdapter, plateau, schedule_of
from dynhp.errors import SettingsError
from dynhp.storage import Journal, run_with_checkpoints
from dynhp_lightgbm import adapted_fit, adapted_train, lightgbm_trainer
from tests.support.messages import raises

# From 4.7 on, eval_X and eval_y are preferred, which earlier versions do not have.
pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 5)).round(1)  # so that some scores are equal
Y = (X[:, 0] * X[:, 1] + 0.7 * RNG.normal(size=300) > 0).astype(int)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.7])]
PARAMS: dict[str, Any] = {
    "objective": "binary",
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "learning_rate": 0.3,
    "num_threads": 1,
    "force_col_wise": True,
    "verbosity": -1,
}
RUN: dict[str, Any] = {
    "space": {"num_leaves": [7, 15, 31]},
    "minimize": "valid_0-binary_logloss",
    "adapt_every": 5,
    "try_for": 2,
}
DRY: dict[str, Any] = {**RUN, "dry_run": True}


def data(**more: Any) -> tuple[lgb.Dataset, lgb.Dataset]:
    """Training and validation data; each run makes its own."""
    train = lgb.Dataset(X[:200], Y[:200], **more)
    return train, lgb.Dataset(X[200:], Y[200:], reference=train, **more)


def logistic(preds: Any, train: lgb.Dataset) -> Any:
    p = 1 / (1 + np.exp(-preds))
    return p - train.get_label(), p * (1 - p)


def error(preds: Any, data: lgb.Dataset) -> tuple[str, float, bool]:
    return "mistakes", float(np.mean(data.get_label() != (preds > 0.5))), False


def squares(preds: Any, data: lgb.Dataset) -> list[tuple[str, float, bool]]:
    residuals = np.asarray(data.get_label()) - preds
    return [("brier", float(np.mean(residuals**2)), False), ("bias", residuals.mean(), True)]


Given = Callable[[lgb.Dataset, lgb.Dataset], dict[str, Any]]


def pair(given: Given, rounds: int = 23, **changed: Any) -> tuple[lgb.Booster, lgb.Booster, Any]:
    """What lightgbm.train gives, what a dry run gives with the same arguments, and its history."""
    run = {**DRY, **changed}
    params = {**PARAMS, **run.pop("params", {})}
    boosters = []
    train, val = data()
    boosters.append(lgb.train(params, train, rounds, **given(train, val)))
    train, val = data()
    dry, history = adapted_train(params, train, rounds, **given(train, val), **run)
    return boosters[0], dry, history


def assert_same(plain: lgb.Booster, dry: lgb.Booster) -> None:
    assert dry.model_to_string() == plain.model_to_string()
    assert dry.num_trees() == plain.num_trees()
    assert dry.best_iteration == plain.best_iteration
    assert dry.best_score == plain.best_score
    assert np.array_equal(dry.predict(X), plain.predict(X))


def test_the_arguments_are_those_of_lightgbm_train_by_name_and_in_order() -> None:
    theirs = dict(inspect.signature(lgb.train).parameters)
    for name in ("feature_name", "categorical_feature"):  # arguments of Dataset; gone in 4.6
        theirs.pop(name, None)
    ours = list(inspect.signature(adapted_train).parameters.values())
    assert [each.name for each in ours[: len(theirs)]] == list(theirs)
    for each, their in zip(ours, theirs.values(), strict=False):
        assert (each.kind, each.default) == (their.kind, their.default)
    assert {each.kind for each in ours[len(theirs) :]} == {inspect.Parameter.KEYWORD_ONLY}


ARGUMENTS: dict[str, tuple[Given, dict[str, Any]]] = {
    "one Dataset": (lambda train, val: {"valid_sets": val}, {}),
    "the training data": (
        lambda train, val: {"valid_sets": train},
        {"minimize": "training-binary_logloss"},
    ),
    "a tuple, in any order": (
        lambda train, val: {"valid_sets": (train, val)},
        {"minimize": "valid_1-binary_logloss"},
    ),
    "a name": (
        lambda train, val: {"valid_sets": [val], "valid_names": "held-out"},
        {"minimize": "held-out-binary_logloss"},
    ),
    "names": (
        lambda train, val: {"valid_sets": [val, train], "valid_names": ["a", "b"]},
        {"minimize": "b-binary_logloss"},
    ),
    "feval": (
        lambda train, val: {"valid_sets": val, "feval": error},
        {"minimize": "valid_0-mistakes"},
    ),
    "a list of feval": (
        lambda train, val: {"valid_sets": [val, train], "feval": [error, squares]},
        {"minimize": "training-brier"},
    ),
    "an objective of one's own": (
        lambda train, val: {"valid_sets": [val, train], "feval": squares},
        {"params": {"objective": logistic}, "minimize": "valid_0-brier"},
    ),
    "the same, trained again": (
        lambda train, val: {"valid_sets": val, "feval": squares},
        {
            "params": {"objective": logistic, "feature_fraction": 0.5},
            "minimize": "valid_0-brier",
        },
    ),
    "the number of rounds in params": (
        lambda train, val: {"valid_sets": val},
        {"params": {"n_estimators": 12}},
    ),
    "an alias of the objective": (
        lambda train, val: {"valid_sets": val},
        {"params": {"application": "binary", "objective": "binary"}},
    ),
}


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")  # to be judged by training data, ...
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_dry_run_is_lightgbm_train_whatever_it_is_given(name: str) -> None:
    given, changed = ARGUMENTS[name]
    plain, dry, history = pair(given, **changed)
    assert_same(plain, dry)
    assert sum(len(round_.tries) for round_ in history) == 3 * len(history)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("more", [{}, {"feature_fraction": 0.5}, {"boosting": "dart"}], ids=str)
@pytest.mark.parametrize("kind", ["file", "path", "booster"])
def test_a_run_goes_on_from_a_model(kind: str, more: dict[str, Any], tmp_path: Path) -> None:
    params = {**PARAMS, **more}
    first = lgb.train(params, data()[0], 7)
    path = tmp_path / "first.txt"
    first.save_model(path)
    model: Any = {"file": str(path), "path": path, "booster": first}[kind]
    plain, dry, _ = pair(
        lambda train, val: {"valid_sets": [val, train], "init_model": model}, params=more
    )
    assert dry.num_trees() == 7 + 23
    assert_same(plain, dry)


def test_two_halves_are_one_run() -> None:
    train, val = data(free_raw_data=False)
    whole, history = adapted_train(PARAMS, train, 20, [val], **RUN)
    train, val = data(free_raw_data=False)
    half, before = adapted_train(PARAMS, train, 10, [val], **RUN)
    after, rest = adapted_train(
        {**PARAMS, **before[-1].candidate}, train, 10, [val], init_model=half, **RUN
    )
    assert after.num_trees() == whole.num_trees() == 20
    values = [round_.candidate for round_ in (*before, *rest)]
    assert values == [round_.candidate for round_ in history]
    assert np.allclose(after.predict(X), whole.predict(X))


def own(seen: list[Any], *, before: bool = False, order: int | None = None) -> Any:
    """A callback of the user's own, which looks at everything there is."""

    def look(env: Any) -> None:
        results = env.evaluation_result_list
        seen.append(
            (
                env.iteration,
                env.begin_iteration,
                env.end_iteration,
                env.params["num_leaves"],
                None if results is None else [tuple(result) for result in results],
                env.model.num_trees(),
                env.model.predict(X[:9]).tolist() if env.model.num_trees() else None,
                env.model.model_to_string() if env.model.num_trees() else None,
            )
        )

    if before:
        vars(look)["before_iteration"] = True
    if order is not None:
        vars(look)["order"] = order
    return look


def test_callbacks_see_what_they_see_in_lightgbm_train() -> None:
    seen: list[list[Any]] = []

    def given(train: lgb.Dataset, val: lgb.Dataset) -> dict[str, Any]:
        looks: list[Any] = []
        seen.append(looks)
        callbacks = [own(looks), own(looks, before=True), own(looks, order=99)]
        return {"valid_sets": [val, train], "feval": error, "callbacks": callbacks}

    plain, dry, _ = pair(given)
    assert_same(plain, dry)
    assert len(seen[0]) == 3 * 23
    assert seen[1] == seen[0]


def test_in_a_run_that_adapts_they_see_the_main_line_alone() -> None:
    seen: list[Any] = []
    recorded: dict[str, Any] = {}
    scores = iter([1.0, 2.0, 0.0] * 9)  # the second always wins
    train, val = data()
    booster, history = adapted_train(
        PARAMS,
        train,
        13,
        val,
        callbacks=[lgb.record_evaluation(recorded), own(seen)],
        **{**RUN, "minimize": None, "check": "off", "criterion": lambda *_: next(scores)},
    )
    assert [look[0] for look in seen] == list(range(13))
    series = recorded["valid_0"]["binary_logloss"]
    for number, metrics in history.measured:
        assert series[number] == metrics["valid_0-binary_logloss"]
    assert len(series) == 13
    for trees in (1, 2, 5, 13):  # the first two are those of a try
        assert seen[trees - 1][5] == trees
        assert seen[trees - 1][6] == booster.predict(X[:9], num_iteration=trees).tolist()


def recording(callbacks: Callable[[], list[Any]]) -> tuple[Given, list[dict[str, Any]]]:
    """Arguments with these callbacks, and what record_evaluation has seen beside them."""
    recorded: list[dict[str, Any]] = []

    def given(train: lgb.Dataset, val: lgb.Dataset) -> dict[str, Any]:
        recorded.append({})
        listed = [*callbacks(), lgb.record_evaluation(recorded[-1])]
        return {"valid_sets": [val, train], "callbacks": listed}

    return given, recorded


STOPPING: dict[str, tuple[Callable[[], list[Any]], dict[str, Any]]] = {
    "a callback": (lambda: [lgb.early_stopping(3, verbose=False)], {}),
    "with a delta": (lambda: [lgb.early_stopping(3, verbose=False, min_delta=0.02)], {}),
    "a later one": (lambda: [lgb.early_stopping(6, verbose=False)], {}),
    "never": (lambda: [lgb.early_stopping(500, verbose=False)], {}),
    "params": (list, {"early_stopping_round": 3}),
    "an alias": (list, {"n_iter_no_change": 3, "early_stopping_min_delta": 0.01}),
    "none": (list, {"early_stopping_round": 0}),
    "the first metric": (
        lambda: [lgb.early_stopping(4, first_metric_only=True, verbose=False)],
        {"metric": ["auc", "binary_logloss"]},
    ),
    "in params": (
        list,
        {"metric": ["auc", "binary_logloss"], "early_stopping_round": 4, "first_metric_only": True},
    ),
    "trained again": (
        lambda: [lgb.early_stopping(3, verbose=False)],
        {"feature_fraction": 0.5},
    ),
}


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("name", STOPPING)
def test_a_dry_run_stops_early_in_the_same_round(name: str) -> None:
    callbacks, params = STOPPING[name]
    given, recorded = recording(callbacks)
    plain, dry, history = pair(given, rounds=60, params=params)
    assert_same(plain, dry)
    assert recorded[0] == recorded[1]
    rounds = len(recorded[0]["valid_0"]["binary_logloss"])
    assert history.epochs == rounds
    assert (rounds == 60) == (name in ("never", "none"))


@pytest.mark.parametrize("patience", range(1, 7))
def test_a_run_that_adapts_stops_where_its_schedule_stops_without_dynhp(patience: int) -> None:
    """In the same round; or, if that is one of a try, with the try, whose trees are left out."""
    recorded: dict[str, Any] = {}
    train, val = data()
    callbacks = [lgb.early_stopping(patience, verbose=False), lgb.record_evaluation(recorded)]
    scores = iter([1.0, 2.0, 0.0, 0.0, 1.0, 2.0] * 9)  # a choice that changes
    run = {**RUN, "minimize": None, "criterion": lambda *_: next(scores), "check": "off"}
    booster, history = adapted_train(PARAMS, train, 60, val, callbacks=callbacks, **run)
    values = [value["num_leaves"] for n, value in schedule_of(history).as_list() for _ in range(n)]
    assert values[0] != PARAMS["num_leaves"] or patience > 1
    train, val = data()
    alone: dict[str, Any] = {}
    plain = lgb.train(
        PARAMS,
        train,
        60,
        val,
        callbacks=[
            lgb.early_stopping(patience, verbose=False),
            lgb.record_evaluation(alone),
            lgb.reset_parameter(num_leaves=lambda n: values[min(n, len(values) - 1)]),
        ],
    )
    stopped = len(alone["valid_0"]["binary_logloss"])
    assert stopped <= history.epochs <= stopped + 1
    assert booster.best_iteration == plain.best_iteration
    assert booster.best_score == plain.best_score
    trees = [each.model_to_string().partition("\nparameters:")[0] for each in (booster, plain)]
    assert trees[0] == trees[1]
    assert recorded == alone


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("params", [{}, {"feature_fraction": 0.5}, {"boosting": "dart"}], ids=str)
@pytest.mark.parametrize("by", ["function", "list"])
def test_tries_follow_what_resets_parameters(by: str, params: dict[str, Any]) -> None:
    rates = [0.4 * 0.9**n for n in range(23)]
    rate: Any = {"function": rates.__getitem__, "list": rates}[by]
    leaf: Any = [5] * 9 + [20] * 14
    given, recorded = recording(
        lambda: [lgb.reset_parameter(learning_rate=rate), lgb.reset_parameter(lambda_l2=leaf)]
    )
    plain, dry, _ = pair(given, params=params)
    assert_same(plain, dry)
    assert recorded[0] == recorded[1]


def test_what_is_printed_is_that_of_the_main_line(capfd: Any) -> None:
    printed = []
    given = recording(lambda: [lgb.log_evaluation(4), lgb.early_stopping(4)])[0]
    for each in (lambda t, v: given(t, v), lambda t, v: {**given(t, v), **DRY}):
        train, val = data()
        arguments = each(train, val)
        function: Any = adapted_train if "space" in arguments else lgb.train
        function({**PARAMS, "verbosity": 0}, train, 40, **arguments)
        printed.append(capfd.readouterr().out)
    assert "Early stopping, best iteration is" in printed[0]
    assert printed[0] == printed[1]


def test_the_best_round_of_all_is_delivered_after_an_early_stop_too() -> None:
    train, val = data()
    callbacks = [lgb.early_stopping(5, verbose=False)]
    best, history = adapted_train(
        PARAMS, train, 60, val, callbacks=callbacks, keep_best=True, **RUN
    )
    assert best.num_trees() == best.best_iteration < history.epochs < 60


@pytest.mark.parametrize("more", [{}, {"init_model": True}], ids=str)
def test_a_booster_that_is_kept_can_be_trained_and_measured(more: dict[str, Any]) -> None:
    first = lgb.train(PARAMS, data()[0], 3)
    more = {"init_model": first} if more else {}
    kept = []
    for dry in (False, True):
        train, val = data(free_raw_data=False)
        given = {"valid_sets": [val, train], "valid_names": ["v", "t"], **more}
        given["keep_training_booster"] = True
        if dry:
            run = {**DRY, "minimize": "v-binary_logloss"}
            booster, _ = adapted_train(PARAMS, train, 12, **given, **run)
        else:
            booster = lgb.train(PARAMS, train, 12, **given)
        for _ in range(3):
            booster.update()
        kept.append((booster.model_to_string(), booster.eval_train(), booster.eval_valid()))
    assert kept[0] == kept[1]


def test_what_cannot_be_goes_by_its_name(tmp_path: Path) -> None:
    def train(params: dict[str, Any] = PARAMS, **changed: Any) -> None:
        train, val = data()
        adapted_train(params, train, 20, **{"valid_sets": val, **DRY, **changed})

    def sets(env: Any) -> None:
        env.model.reset_parameter({"learning_rate": 0.1})

    def measures(env: Any) -> None:
        env.model.eval_valid()

    with raises(SettingsError):
        train(callbacks=[sets])
    with raises(SettingsError):
        train(callbacks=[measures])
    with raises(SettingsError):
        train(callbacks=print)
    with raises(SettingsError):
        train(callbacks=[Journal(tmp_path / "journal.jsonl")])
    with raises(SettingsError):
        train(callbacks=[lgb.reset_parameter(max_leaves=[7] * 20)])
    with raises(SettingsError):
        train(keep_training_booster=True, keep_best=True)
    with raises(SettingsError):
        train(callbacks=[lgb.early_stopping(3)], start_from="best", max_rounds=2, dry_run=False)
    with raises(SettingsError):
        train(lgb.LGBMClassifier())  # type: ignore[arg-type]
    with raises(SettingsError):
        train(valid_sets=None)
    with pytest.raises(ValueError, match="Length of list 'lambda_l2'"):  # by LightGBM itself
        train(callbacks=[lgb.reset_parameter(lambda_l2=[1.0])])
    with pytest.raises(TypeError, match="early_stopping_round"):
        train({**PARAMS, "early_stopping_round": "3"})


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_a_record_goes_back_with_the_run() -> None:
    recorded: dict[str, Any] = {"valid_0": {"binary_logloss": [1.0] * 99}}  # from another run
    loss = "valid_0-binary_logloss"
    train, val = data()
    booster, history = adapted_train(
        {**PARAMS, "learning_rate": 1.0},
        train,
        25,
        val,
        callbacks=[lgb.record_evaluation(recorded)],
        policy=plateau("learning_rate", default=1.0, loss=loss, patience=2),
    )
    assert any(round_.abandoned for round_ in history)
    series = recorded["valid_0"]["binary_logloss"]
    assert len(series) == booster.num_trees() == 25
    assert [series[n] for n, _ in history.measured] == [each[loss] for _, each in history.measured]


def test_events_of_the_run_are_told_elsewhere() -> None:
    events: list[str] = []
    train, val = data()
    adapted_train(
        PARAMS, train, 10, val, on_event=lambda event: events.append(type(event).__name__), **DRY
    )
    assert events.count("Round") == 2


def test_a_run_that_was_interrupted_goes_on_the_same(tmp_path: Path) -> None:
    first = lgb.train(PARAMS, data()[0], 3)

    def adapter() -> DynamicGridAdapter:
        train, val = data()
        trainer = lightgbm_trainer(
            {**PARAMS, "objective": logistic},
            train,
            20,
            space=RUN["space"],
            valid_sets=val,
            feval=squares,
            init_model=first,
            schedules=[lgb.reset_parameter(learning_rate=lambda n: 0.3 * 0.9**n)],
        )
        return DynamicGridAdapter(
            trainer, RUN["space"], minimize="valid_0-brier", adapt_every=5, try_for=2
        )

    whole = adapter()
    whole.run(20)
    run_with_checkpoints(adapter(), 10, checkpoint=tmp_path)
    again = adapter()
    run_with_checkpoints(again, 20, checkpoint=tmp_path)
    assert again.history == whole.history
    models: list[Any] = [each.trainer for each in (again, whole)]
    assert models[0].booster.model_to_string() == models[1].booster.model_to_string()


# ---- estimators ----
def _fits() -> bool:
    """Whether this LightGBM and this scikit-learn go together: 4.5 and 1.8 do not."""
    try:
        lgb.LGBMRegressor(n_estimators=1, verbosity=-1).fit(X, Y)
    except TypeError:
        return False
    return True


of_estimators = pytest.mark.skipif(not _fits(), reason="scikit-learn is newer than LightGBM")


def fitted(estimator: Any, **arguments: Any) -> tuple[Any, Any, Any]:
    """The estimator after its own fit, after a dry run, and the history of that."""
    from sklearn.base import clone

    plain, dry = clone(estimator), clone(estimator)
    run = {**DRY, **arguments.pop("run", {})}
    plain.fit(**arguments)
    again, history = adapted_fit(dry, **arguments, **run)
    assert again is dry
    return plain, dry, history


def assert_fitted_alike(plain: Any, dry: Any) -> None:
    assert_same(plain.booster_, dry.booster_)
    assert {n for n in vars(plain) if vars(plain)[n] is not None} == {
        n for n in vars(dry) if vars(dry)[n] is not None
    }
    assert dry.evals_result_ == plain.evals_result_
    assert dry.best_iteration_ == plain.best_iteration_
    assert dry.n_features_in_ == plain.n_features_in_
    assert np.array_equal(dry.predict(X, raw_score=True), plain.predict(X, raw_score=True))


SETTINGS: dict[str, Any] = {
    "n_estimators": 23,
    "learning_rate": 0.3,
    "min_child_samples": 5,
    "force_col_wise": True,
    "n_jobs": 1,
    "verbosity": -1,
}
HELD_OUT = {"X": X[:200], "y": Y[:200], "eval_set": [(X[200:], Y[200:])]}


def score_of(y: Any, raw: Any) -> Any:
    p = 1 / (1 + np.exp(-raw))
    return p - y, p * (1 - p)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "classifier": (lgb.LGBMClassifier(**SETTINGS), HELD_OUT),
    "strings": (
        lgb.LGBMClassifier(**SETTINGS, class_weight="balanced"),
        {
            "X": X[:200],
            "y": CLASSES[:200],
            "eval_set": [(X[200:], CLASSES[200:])],
            "eval_metric": "multi_error",
            "run": {"minimize": "valid_0-multi_logloss"},
        },
    ),
    "early stopping": (
        lgb.LGBMClassifier(**SETTINGS),
        {
            **HELD_OUT,
            "callbacks": [lgb.early_stopping(9, verbose=False)],
            "eval_names": ["val"],
            "run": {"minimize": "val-binary_logloss"},
        },
    ),
    "early stopping of its own": (
        lgb.LGBMClassifier(**SETTINGS, early_stopping_round=9),
        HELD_OUT,
    ),
    "objective and metric": (
        lgb.LGBMClassifier(**SETTINGS, objective=score_of),
        {
            **HELD_OUT,
            "eval_metric": lambda y, raw: ("mistakes", float(np.mean(y != (raw > 0))), False),
            "run": {"minimize": "valid_0-mistakes"},
        },
    ),
    "regressor": (
        lgb.LGBMRegressor(**SETTINGS),
        {
            "X": X[:200],
            "y": X[:200, 0] ** 2,
            "eval_set": [(X[200:], X[200:, 0] ** 2), (X[:200], X[:200, 0] ** 2)],
            "sample_weight": np.linspace(0.1, 1, 200),
            "eval_metric": ["l1", "l2"],
            "run": {"minimize": "valid_0-l1"},
        },
    ),
    "ranker": (
        lgb.LGBMRanker(**SETTINGS),
        {
            "X": X[:200],
            "y": np.digitize(X[:200, 0], [-1, 0, 1]),
            "group": [20] * 10,
            "eval_set": [(X[200:], np.digitize(X[200:, 0], [-1, 0, 1]))],
            "eval_group": [[25] * 4],
            "eval_at": [3, 5],
            "run": {"minimize": None, "maximize": "valid_0-ndcg@3"},
        },
    ),
}


@of_estimators
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("name", CASES)
def test_a_dry_run_of_an_estimator_is_its_own_fit(name: str) -> None:
    estimator, arguments = CASES[name]
    plain, dry, history = fitted(estimator, **arguments)
    assert_fitted_alike(plain, dry)
    assert len(history) >= 2
    assert ("stopping" in name) == (history.epochs < 23)


@of_estimators
@pytest.mark.skipif("eval_X" not in inspect.signature(lgb.LGBMModel.fit).parameters, reason="4.7")
def test_validation_data_have_arguments_of_their_own() -> None:
    held_out = {"eval_X": (X[200:],), "eval_y": (Y[200:],)}
    assert_fitted_alike(
        *fitted(lgb.LGBMClassifier(**SETTINGS), X=X[:200], y=Y[:200], **held_out)[:2]
    )


@of_estimators
def test_an_estimator_goes_on_from_another() -> None:
    first = lgb.LGBMClassifier(**SETTINGS).fit(X[:200], Y[:200])
    plain, dry, _ = fitted(lgb.LGBMClassifier(**SETTINGS), **HELD_OUT, init_model=first)
    assert dry.booster_.num_trees() == 46
    assert_fitted_alike(plain, dry)


@of_estimators
def test_an_estimator_is_adapted() -> None:
    model, history = adapted_fit(
        lgb.LGBMClassifier(**SETTINGS), X[:200], Y[:200], None, None, [(X[200:], Y[200:])], **RUN
    )
    assert len({round_.candidate for round_ in history}) > 1
    assert model.score(X[200:], Y[200:]) > 0.5
    assert model.n_estimators_ == 23


@of_estimators
def test_only_the_thread_that_fits_is_concerned() -> None:
    others: list[Any] = []

    def fit_elsewhere(event: Any) -> None:
        if not others:
            others.append(None)
            plain = lgb.LGBMClassifier(**SETTINGS)
            thread = threading.Thread(target=plain.fit, args=(X[:200], Y[:200]))
            thread.start()
            thread.join()
            others[0] = plain

    original = lightgbm.sklearn.train
    adapted_fit(lgb.LGBMClassifier(**SETTINGS), **HELD_OUT, on_event=fit_elsewhere, **RUN)
    assert others[0].booster_.num_trees() == 23  # it has no validation data, which we would refuse
    assert lightgbm.sklearn.train is original


@of_estimators
def test_what_an_estimator_cannot_be_given_goes_by_its_name() -> None:
    with raises(SettingsError):
        adapted_fit(lgb.LGBMClassifier(**SETTINGS), X[:200], Y[:200], **RUN)
    with raises(SettingsError):
        adapted_fit(PARAMS, X[:200], Y[:200], **RUN)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="evalset"):
        adapted_fit(lgb.LGBMClassifier(**SETTINGS), X, Y, evalset=[(X, Y)], **RUN)
