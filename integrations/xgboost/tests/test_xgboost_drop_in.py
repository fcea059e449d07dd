"""adapted_train takes what xgboost.train takes: a dry run gives the same, to the last bit."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
import xgboost.sklearn
from xgboost.callback import (
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
    TrainingCheckPoint,
)

from dynhp import DynamicGridAdapter, highest, plateau, schedule_of
from dynhp.errors import SettingsError
from dynhp.storage import run_with_checkpoints
from dynhp_xgboost import adapted_fit, adapted_train, xgboost_trainer
from tests.support.messages import raises

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 5))
Y = (X[:, 0] * X[:, 1] + 0.7 * RNG.normal(size=300) > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.7])
TRAIN, VAL = xgb.DMatrix(X[:200], Y[:200]), xgb.DMatrix(X[200:], Y[200:])
VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
PARAMS: dict[str, Any] = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
EVALS = [(TRAIN, "train"), (VAL, "val")]
RUN: dict[str, Any] = {
    "space": {"max_depth": [1, 3, 6]},
    "minimize": "val-logloss",
    "adapt_every": 5,
    "try_for": 2,
}
DRY: dict[str, Any] = {**RUN, "dry_run": True}
DRAWN: list[dict[str, Any]] = [{}, {"subsample": 0.5}, {"booster": "dart", "rate_drop": 0.3}]


def trees(booster: xgb.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


def assert_same(plain: xgb.Booster, dry: xgb.Booster) -> None:
    assert dry.attributes() == plain.attributes()
    assert trees(dry) == trees(plain)  # attributes too
    assert dry.save_config() == plain.save_config()
    assert np.array_equal(dry.predict(VAL), plain.predict(VAL))


Given = Callable[[], dict[str, Any]]


def pair(given: Given, rounds: int = 23, **changed: Any) -> tuple[xgb.Booster, xgb.Booster, Any]:
    """What xgboost.train gives, what a dry run gives with the same arguments, and its history."""
    run = {**DRY, **changed}
    params = {**PARAMS, **run.pop("params", {})}
    plain = xgb.train(params, TRAIN, rounds, **{"verbose_eval": False, "evals": EVALS, **given()})
    dry, history = adapted_train(params, TRAIN, rounds, **{"evals": EVALS, **given()}, **run)
    return plain, dry, history


def squared(predt: Any, data: xgb.DMatrix) -> Any:
    return predt - data.get_label(), np.ones_like(predt)


def mistakes(predt: Any, data: xgb.DMatrix) -> tuple[str, float]:
    return "mistakes", float(np.mean((predt > 0.5) != data.get_label()))


def test_the_arguments_are_those_of_xgboost_train_by_name_and_in_order() -> None:
    theirs = dict(inspect.signature(inspect.unwrap(xgb.train)).parameters)
    theirs.pop("feval", None)  # an old name of custom_metric; gone in 3.0
    ours = inspect.signature(adapted_train).parameters
    assert set(theirs) <= set(ours)
    first = [name for name, each in theirs.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert list(ours)[: len(first)] == first == ["params", "dtrain", "num_boost_round"]
    different = {name for name in theirs if ours[name].default != theirs[name].default}
    assert different == {"verbose_eval"}  # nothing is printed unless asked for


ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a tuple of pairs": ({"evals": tuple(EVALS)}, {}),
    "lists as pairs": ({"evals": [list(each) for each in EVALS]}, {}),
    "an objective of one's own": (
        {"obj": squared},
        {"params": {"objective": "reg:squarederror"}, "minimize": "val-rmse"},
    ),
    "a metric of one's own": ({"custom_metric": mistakes}, {"minimize": "val-mistakes"}),
    "both": (
        {"obj": squared, "custom_metric": mistakes},
        {"params": {"objective": "reg:squarederror"}, "minimize": "val-mistakes"},
    ),
    "maximize": ({"maximize": True, "early_stopping_rounds": 30}, {}),
    "None in params": ({}, {"params": {"gamma": None, "eta": 0.2, "learning_rate": None}}),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_dry_run_is_xgboost_train_whatever_it_is_given(name: str) -> None:
    given, changed = ARGUMENTS[name]
    plain, dry, history = pair(lambda: given, **changed)
    assert_same(plain, dry)
    assert sum(len(round_.tries) for round_ in history) == 3 * len(history)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("more", DRAWN, ids=str)
@pytest.mark.parametrize("kind", ["file", "path", "bytes", "booster"])
def test_a_run_goes_on_from_a_model(kind: str, more: dict[str, Any], tmp_path: Path) -> None:
    first = xgb.train({**PARAMS, "max_depth": 2, "reg_lambda": 3, **more}, TRAIN, 7)
    path = tmp_path / "first.json"
    first.save_model(path)
    model: Any = {"file": str(path), "path": path, "bytes": first.save_raw(), "booster": first}
    if more and (kind == "booster" or VERSION < (3, 2)):
        # XGBoost itself comes to something else each time. Versions differ in when this is so.
        with pytest.raises(SettingsError, match="does not repeat such a training"):
            pair(lambda: {"xgb_model": model[kind]}, params=more)
        return
    plain, dry, _ = pair(lambda: {"xgb_model": model[kind]}, params=more)
    assert dry.num_boosted_rounds() == 7 + 23
    assert_same(plain, dry)
    assert ('"reg_lambda":"3"' in dry.save_config()) == (kind == "booster")  # it has its settings


@pytest.mark.parametrize("seed", [{}, {"seed": 5}], ids=str)
def test_one_that_draws_by_the_number_of_the_round_goes_on_from_a_booster(seed: Any) -> None:
    params = {**PARAMS, "subsample": 0.5, "seed_per_iteration": True}
    first = xgb.train({**params, "reg_lambda": 3}, TRAIN, 7)
    given: dict[str, Any] = {"evals": EVALS, "xgb_model": first}
    runs = [
        adapted_train({**params, **seed}, TRAIN, 12, **given, **run)[0]
        for run in ({**RUN, "max_rounds": 0}, DRY)
    ]
    assert_same(*runs)
    assert f'"seed":"{seed.get("seed", 0)}"' in runs[0].save_config()


def test_two_halves_are_one_run() -> None:
    whole, history = adapted_train(PARAMS, TRAIN, 20, evals=EVALS, **RUN)
    half, before = adapted_train(PARAMS, TRAIN, 10, evals=EVALS, **RUN)
    params = {**PARAMS, **before[-1].candidate}
    after, rest = adapted_train(params, TRAIN, 10, evals=EVALS, xgb_model=half, **RUN)
    values = [round_.candidate for round_ in (*before, *rest)]
    assert values == [round_.candidate for round_ in history]
    assert after.get_dump() == whole.get_dump()


class Looks(TrainingCallback):
    """Of the user's own: looks at everything there is, and notes what it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def _look(self, model: xgb.Booster, epoch: int, log: Any) -> bool:
        predicted = model.predict(VAL).tolist() if model.num_boosted_rounds() else None
        series = {data: {name: list(each) for name, each in log[data].items()} for data in log}
        raw = trees(model) if model.num_boosted_rounds() else None
        self.seen.append((epoch, model.num_boosted_rounds(), predicted, series, raw))
        return False

    def before_training(self, model: xgb.Booster) -> xgb.Booster:
        self.seen.append(model.num_boosted_rounds())
        return model

    def before_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        return self._look(model, epoch, evals_log)

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        model.set_attr(newest=str(epoch))
        return self._look(model, epoch, evals_log)

    def after_training(self, model: xgb.Booster) -> xgb.Booster:
        self.seen.append(trees(model))
        return model


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("more", DRAWN, ids=str)
def test_callbacks_see_what_they_see_in_xgboost_train(more: dict[str, Any]) -> None:
    looks: list[Looks] = []

    def given() -> dict[str, Any]:
        looks.append(Looks())
        return {"callbacks": [looks[-1]]}

    plain, dry, _ = pair(given, params=more)
    assert_same(plain, dry)
    assert len(looks[0].seen) == 2 * 23 + 2
    assert looks[1].seen == looks[0].seen


def test_in_a_run_that_adapts_they_see_the_main_line_alone() -> None:
    looks, recorded = Looks(), dict[str, Any]()
    scores = iter([1.0, 2.0, 0.0] * 9)  # the second always wins
    run = {**RUN, "minimize": None, "check": "off", "criterion": lambda *_: next(scores)}
    booster, history = adapted_train(
        PARAMS, TRAIN, 13, evals=EVALS, callbacks=[looks], evals_result=recorded, **run
    )
    after = looks.seen[2:-1:2]
    assert [seen[0] for seen in after] == list(range(13))
    assert [seen[1] for seen in after] == list(range(1, 14))
    for number, metrics in history.measured:
        assert recorded["val"]["logloss"][number] == metrics["val-logloss"]
    assert len(recorded["train"]["logloss"]) == 13
    for rounds in (1, 2, 5, 13):  # the first two are those of a try
        predicted = booster.predict(VAL, iteration_range=(0, rounds)).tolist()
        assert after[rounds - 1][2] == predicted


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_a_run_that_draws_is_the_same_with_and_without_callbacks() -> None:
    """Boosters that are copied or cut for a callback leave the hidden generator alone."""
    boosters = []
    for callbacks in ([], [Looks()]):
        scores = iter([1.0, 2.0, 0.0] * 9)
        run = {
            **RUN,
            "minimize": None,
            "check": "off",
            "criterion": lambda *_, lot=scores: next(lot),
        }
        params = {**PARAMS, "subsample": 0.5}
        booster, _ = adapted_train(params, TRAIN, 13, evals=EVALS, callbacks=callbacks, **run)
        boosters.append(booster.get_dump())
    assert boosters[0] == boosters[1]


def test_checkpoints_are_those_of_xgboost_train(tmp_path: Path) -> None:
    folders = [tmp_path / "plain", tmp_path / "dry"]
    left = iter(folders)

    def given() -> dict[str, Any]:
        folder = next(left)
        folder.mkdir()
        return {"callbacks": [TrainingCheckPoint(folder, interval=4)]}

    pair(given)
    files = [{path.name: path.read_bytes() for path in each.iterdir()} for each in folders]
    assert len(files[0]) == 5
    assert files[0] == files[1]


def recording(more: Given) -> tuple[Given, list[dict[str, Any]]]:
    """Arguments, and what evals_result has seen."""
    recorded: list[dict[str, Any]] = []

    def given() -> dict[str, Any]:
        recorded.append({})
        return {"evals_result": recorded[-1], **more()}

    return given, recorded


STOPPING: dict[str, tuple[Given, dict[str, Any]]] = {
    "early_stopping_rounds": (lambda: {"early_stopping_rounds": 3}, {}),
    "more of them": (lambda: {"early_stopping_rounds": 7}, {}),
    "never": (lambda: {"early_stopping_rounds": 500}, {}),
    "not asked for": (dict, {}),
    "a metric that XGBoost knows": (
        lambda: {"early_stopping_rounds": 4},
        {"eval_metric": ["logloss", "auc"]},
    ),
    "a metric that it does not know": (
        lambda: {
            "early_stopping_rounds": 4,
            "maximize": True,
            "custom_metric": lambda p, d: ("right", float(np.mean((p > 0.5) == d.get_label()))),
        },
        {},
    ),
    "a callback": (
        lambda: {"callbacks": [EarlyStopping(rounds=4, data_name="val", min_delta=0.003)]},
        {},
    ),
    "the best model": (lambda: {"callbacks": [EarlyStopping(rounds=4, save_best=True)]}, {}),
    "trained again": (lambda: {"early_stopping_rounds": 4}, {"subsample": 0.5}),
}


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("name", STOPPING)
def test_a_dry_run_stops_early_in_the_same_round(name: str) -> None:
    more, params = STOPPING[name]
    given, recorded = recording(more)
    plain, dry, history = pair(given, rounds=60, params=params)
    assert_same(plain, dry)
    assert recorded[0] == recorded[1]
    rounds = len(recorded[0]["val"]["logloss"])
    assert history.epochs == rounds
    assert (rounds == 60) == (name in ("never", "not asked for"))


@pytest.mark.parametrize("patience", range(1, 7))
def test_a_run_that_adapts_stops_where_its_schedule_stops_without_dynhp(patience: int) -> None:
    """In the same round; or, if that is one of a try, with the try."""
    recorded, alone = dict[str, Any](), dict[str, Any]()
    scores = iter([1.0, 2.0, 0.0, 0.0, 1.0, 2.0] * 9)  # a choice that changes
    run = {**RUN, "minimize": None, "criterion": lambda *_: next(scores), "check": "off"}
    stopping = {"early_stopping_rounds": patience}
    booster, history = adapted_train(
        PARAMS, TRAIN, 60, evals=EVALS, evals_result=recorded, **stopping, **run
    )
    values = [value["max_depth"] for n, value in schedule_of(history).as_list() for _ in range(n)]

    class Depths(TrainingCallback):
        def before_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
            model.set_param("max_depth", values[min(epoch, len(values) - 1)])
            return False

    plain = xgb.train(
        PARAMS,
        TRAIN,
        60,
        evals=EVALS,
        evals_result=alone,
        callbacks=[Depths()],
        verbose_eval=False,
        early_stopping_rounds=patience,
    )
    stopped = plain.num_boosted_rounds()
    assert stopped <= booster.num_boosted_rounds() == history.epochs <= stopped + 1
    assert booster.attributes() == plain.attributes()
    assert booster.get_dump()[:stopped] == plain.get_dump()
    assert recorded == alone


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize(
    "params", [*DRAWN, {"subsample": 0.5, "seed_per_iteration": True}], ids=str
)
@pytest.mark.parametrize("by", ["function", "list"])
def test_tries_follow_a_schedule_of_the_shrinkage(by: str, params: dict[str, Any]) -> None:
    rates = [0.4 * 0.9**n for n in range(23)]
    rate: Any = {"function": rates.__getitem__, "list": rates}[by]
    given, recorded = recording(lambda: {"callbacks": [LearningRateScheduler(rate)]})
    if "seed_per_iteration" in params:  # a run of dynhp draws otherwise
        runs = [
            adapted_train({**PARAMS, **params}, TRAIN, 23, evals=EVALS, **given(), **run)[0]
            for run in ({**RUN, "max_rounds": 0}, DRY)
        ]
        assert_same(*runs)
    else:
        plain, dry, _ = pair(given, params=params)
        assert_same(plain, dry)
    assert recorded[0] == recorded[1]


@pytest.mark.skipif(VERSION < (3, 0), reason="its logger cannot be chosen")
def test_what_is_printed_is_that_of_the_main_line() -> None:
    printed: list[list[str]] = []

    def given() -> dict[str, Any]:
        printed.append([])
        return {"callbacks": [EvaluationMonitor(period=4, logger=printed[-1].append)]}

    pair(given)
    assert len(printed[0]) == 7
    assert printed[0] == printed[1]


@pytest.mark.parametrize("verbose", [True, 4, False])
def test_how_often_something_is_printed(verbose: Any, capfd: Any) -> None:
    texts = []
    for function, run in ((xgb.train, {}), (adapted_train, DRY)):
        function(PARAMS, TRAIN, 10, evals=EVALS, verbose_eval=verbose, **run)
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1]
    assert texts[0].count("\n") == {True: 10, 4: 4, False: 0}[verbose]


def test_the_best_round_of_all_is_delivered_after_an_early_stop_too() -> None:
    best, history = adapted_train(
        {**PARAMS, "eta": 1.0},
        TRAIN,
        60,
        evals=EVALS,
        early_stopping_rounds=5,
        keep_best=True,
        **RUN,
    )
    assert best.num_boosted_rounds() == best.best_iteration + 1 < history.epochs < 60


def test_a_log_goes_back_with_the_run() -> None:
    recorded: dict[str, Any] = {}
    policy = plateau("learning_rate", default=1.0, loss="val-logloss", patience=2)
    booster, history = adapted_train(
        {**PARAMS, "eta": 1.0}, TRAIN, 25, evals=EVALS, evals_result=recorded, policy=policy
    )
    assert any(round_.abandoned for round_ in history)
    series = recorded["val"]["logloss"]
    assert len(series) == booster.num_boosted_rounds() == 25
    known = history.measured
    assert [series[n] for n, _ in known] == [each["val-logloss"] for _, each in known]


class Sets(TrainingCallback):
    """Changes what is trained."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        model.set_param("max_depth", 2)
        return False


class SetsAtFirst(Sets):
    """Changes what is trained, before it begins."""

    after_iteration = TrainingCallback.after_iteration

    def before_training(self, model: xgb.Booster) -> xgb.Booster:
        model.set_param("max_depth", 2)
        return model


class NeverBegins(Sets):
    """Ends the run before its first round."""

    after_iteration = TrainingCallback.after_iteration

    def before_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        return True


class EndsBefore(TrainingCallback):
    """Ends the run before its tenth round."""

    def before_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        return epoch == 9


def test_a_callback_may_end_the_run_before_a_round() -> None:
    plain, dry, history = pair(lambda: {"callbacks": [EndsBefore()]})
    assert_same(plain, dry)
    assert history.epochs == 9


def test_what_cannot_be_goes_by_its_name() -> None:
    def train(params: Any = PARAMS, **changed: Any) -> None:
        adapted_train(params, TRAIN, 20, **{"evals": EVALS, **DRY, **changed})

    with raises(SettingsError):
        train(callbacks=[Sets()])
    with raises(SettingsError):
        train(callbacks=[SetsAtFirst()])
    with raises(SettingsError):
        train(callbacks=[NeverBegins()])
    with raises(SettingsError):
        train(callbacks=[print])
    with raises(SettingsError):
        train(callbacks=EarlyStopping(rounds=3))
    with raises(SettingsError):
        train(callbacks=[LearningRateScheduler([0.1])], space={"eta": [0.1, 0.3]})
    with raises(SettingsError):
        train(early_stopping_rounds=3, start_from="best", max_rounds=2, dry_run=False)
    with raises(SettingsError):
        train(xgb.XGBClassifier())
    with raises(SettingsError):
        train(evals=None)
    with raises(SettingsError):
        train(maximize=True, minimize=None)


def test_what_is_higher_is_said_in_two_ways() -> None:
    _, history = adapted_train(
        {**PARAMS, "eval_metric": "auc"},
        TRAIN,
        10,
        evals=EVALS,
        **{**RUN, "minimize": None, "maximize": "val-auc"},
    )
    _, same = adapted_train(
        {**PARAMS, "eval_metric": "auc"},
        TRAIN,
        10,
        evals=EVALS,
        maximize=True,  # type: ignore[arg-type]  # as xgboost.train takes it
        early_stopping_rounds=99,
        **{**RUN, "minimize": None, "criterion": highest("val-auc")},
    )
    assert [each.candidate for each in same] == [each.candidate for each in history]


def test_events_of_the_run_are_told_elsewhere() -> None:
    events: list[str] = []
    note: Any = lambda event: events.append(type(event).__name__)  # noqa: E731
    adapted_train(PARAMS, TRAIN, 10, evals=EVALS, on_event=note, **DRY)
    assert events.count("Round") == 2


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("more", DRAWN, ids=str)
def test_a_run_that_was_interrupted_goes_on_the_same(more: dict[str, Any], tmp_path: Path) -> None:
    first = xgb.train({"max_depth": 2, "base_score": 0.4, **more}, TRAIN, 3)
    drawn = VERSION >= (3, 2) and first.save_raw()  # before, XGBoost itself does not repeat that
    model: Any = (drawn or None) if more else first

    def adapter() -> DynamicGridAdapter:
        trainer = xgboost_trainer(
            {"nthread": 1, **more},
            TRAIN,
            space=RUN["space"],
            evals=EVALS,
            obj=squared,
            custom_metric=mistakes,
            xgb_model=model,
            schedules=[LearningRateScheduler(lambda n: 0.3 * 0.9**n)],
        )
        run = {**RUN, "minimize": "val-mistakes", "space": {"max_depth": [1, 2, 6]}}
        return DynamicGridAdapter(trainer, **run)

    whole = adapter()
    whole.run(20)
    run_with_checkpoints(adapter(), 10, checkpoint=tmp_path)
    again = adapter()
    run_with_checkpoints(again, 20, checkpoint=tmp_path)
    assert again.history == whole.history
    models: list[Any] = [each.trainer for each in (again, whole)]
    assert_same(models[0].booster, models[1].booster)


# ---- estimators ----
def fitted(estimator: Any, **arguments: Any) -> tuple[Any, Any, Any]:
    """The estimator after its own fit, after a dry run, and the history of that."""
    from sklearn.base import clone

    plain, dry = clone(estimator), clone(estimator)
    run = {**DRY, "minimize": "validation_0-logloss", **arguments.pop("run", {})}
    plain.fit(**arguments)
    again, history = adapted_fit(dry, **arguments, **run)
    assert again is dry
    return plain, dry, history


def assert_fitted_alike(plain: Any, dry: Any) -> None:
    models = [each.get_booster() for each in (plain, dry)]
    assert trees(models[0]) == trees(models[1])
    assert models[0].save_config() == models[1].save_config()
    assert vars(plain).keys() == vars(dry).keys()
    assert dry.evals_result() == plain.evals_result()
    assert np.array_equal(dry.predict(X), plain.predict(X))


SETTINGS: dict[str, Any] = {"n_estimators": 23, "n_jobs": 1, "max_depth": 3}
HELD_OUT = {"X": X[:200], "y": Y[:200], "eval_set": [(X[200:], Y[200:])]}
STEEP = np.digitize(X[:, 0], [-1, 0, 1])


def score_of(y: Any, raw: Any) -> Any:
    p = 1 / (1 + np.exp(-raw))
    return p - y, p * (1 - p)


def wrong(y: Any, p: Any) -> float:
    return float(np.mean(y != (p > 0.5)))


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "classifier": (xgb.XGBClassifier(**SETTINGS), HELD_OUT),
    "learning_rate as eta": (
        xgb.XGBClassifier(**SETTINGS, learning_rate=0.2),
        {**HELD_OUT, "run": {"space": {"eta": [0.2, 0.5]}}},
    ),
    "exact": (xgb.XGBClassifier(**SETTINGS, tree_method="exact"), HELD_OUT),
    "three classes": (
        xgb.XGBClassifier(**SETTINGS),
        {
            "X": X[:200],
            "y": CLASSES[:200],
            "eval_set": [(X[:200], CLASSES[:200]), (X[200:], CLASSES[200:])],
            "run": {"minimize": "validation_1-mlogloss"},
        },
    ),
    "early stopping": (xgb.XGBClassifier(**SETTINGS, early_stopping_rounds=6), HELD_OUT),
    "objective and metric": (
        xgb.XGBClassifier(**SETTINGS, objective=score_of, eval_metric=wrong),
        {**HELD_OUT, "run": {"minimize": "validation_0-wrong"}},
    ),
    "a callback": (
        xgb.XGBClassifier(**SETTINGS, callbacks=[LearningRateScheduler(lambda n: 0.9**n)]),
        HELD_OUT,
    ),
    "regressor": (
        xgb.XGBRegressor(**SETTINGS, eval_metric=["mae", "rmse"]),
        {
            "X": X[:200],
            "y": X[:200, 0] ** 2,
            "eval_set": [(X[200:], X[200:, 0] ** 2)],
            "sample_weight": np.linspace(0.1, 1, 200),
            "run": {"minimize": "validation_0-mae"},
        },
    ),
    "subsample": (
        xgb.XGBRegressor(**SETTINGS, subsample=0.5, random_state=4),
        {**HELD_OUT, "run": {"minimize": "validation_0-rmse"}},
    ),
    "ranker": (
        xgb.XGBRanker(**SETTINGS, objective="rank:ndcg"),
        {
            "X": X[:200],
            "y": STEEP[:200],
            "qid": np.repeat(np.arange(10), 20),
            "eval_set": [(X[200:], STEEP[200:])],
            "eval_qid": [np.repeat(np.arange(4), 25)],
            "run": {"minimize": None, "maximize": "validation_0-ndcg@32"},
        },
    ),
}


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("name", CASES)
def test_a_dry_run_of_an_estimator_is_its_own_fit(name: str) -> None:
    if name == "objective and metric" and VERSION < (3, 2):
        pytest.skip("scikit-learn is newer than XGBoost")
    estimator, arguments = CASES[name]
    plain, dry, history = fitted(estimator, **arguments)
    assert_fitted_alike(plain, dry)
    assert ("stopping" in name) == (history.epochs < 23)


def test_an_estimator_goes_on_from_another() -> None:
    first = xgb.XGBClassifier(**SETTINGS, reg_lambda=3).fit(X[:200], Y[:200])
    plain, dry, _ = fitted(xgb.XGBClassifier(**SETTINGS), **HELD_OUT, xgb_model=first)
    assert dry.get_booster().num_boosted_rounds() == 46
    assert_fitted_alike(plain, dry)


def test_an_estimator_is_adapted() -> None:
    model, history = adapted_fit(
        xgb.XGBClassifier(**SETTINGS),
        X[:200],
        Y[:200],
        eval_set=[(X[200:], Y[200:])],
        **{**RUN, "minimize": "validation_0-logloss"},
    )
    assert len({round_.candidate for round_ in history}) > 1
    assert model.score(X[200:], Y[200:]) > 0.5


def test_only_the_thread_that_fits_is_concerned() -> None:
    others: list[Any] = []

    def fit_elsewhere(event: Any) -> None:
        if not others:
            plain = xgb.XGBClassifier(**SETTINGS)
            others.append(plain)
            thread = threading.Thread(target=plain.fit, args=(X[:200], Y[:200]))
            thread.start()
            thread.join()

    original = xgboost.sklearn.train
    run = {**RUN, "minimize": "validation_0-logloss"}
    adapted_fit(xgb.XGBClassifier(**SETTINGS), **HELD_OUT, on_event=fit_elsewhere, **run)
    # It has no validation data, which we would refuse.
    assert others[0].get_booster().num_boosted_rounds() == 23
    assert xgboost.sklearn.train is original


def test_what_an_estimator_cannot_be_given_goes_by_its_name() -> None:
    with raises(SettingsError):
        adapted_fit(xgb.XGBClassifier(**SETTINGS), X[:200], Y[:200], **RUN)
    with raises(SettingsError):
        adapted_fit(xgb.XGBRFClassifier(n_estimators=9), **HELD_OUT, **RUN)
    with raises(SettingsError):
        adapted_fit(PARAMS, X[:200], Y[:200], **RUN)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="evalset"):
        adapted_fit(xgb.XGBClassifier(**SETTINGS), X, Y, evalset=[(X, Y)], **RUN)
