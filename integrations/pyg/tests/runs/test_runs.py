"""Each method against what it must be, written out by hand; costs, determinism, bad settings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from dynhp import (
    DynamicGridAdapter,
    Float,
    Interpolation,
    Neighbors,
    highest,
    paper,
    random_search,
    replay,
    smoothed,
)
from dynhp.errors import DynhpError, SettingsError
from dynhp.records import Event, Round, Try
from dynhp_pyg import DataError, graph_from_edges, make_split
from dynhp_pyg.model.engines.fast import FastGcn
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.runs.intervals import mean_of, student
from dynhp_pyg.runs.run import (
    RATIOS,
    LinkResult,
    LinkRun,
    Method,
    prepare,
    run,
    space_of,
    train,
)
from tests.support.messages import raises

GRAPH = tiny_graph()
SETTINGS = LinkRun(epochs=12, adapt_every=4, try_for=1, width=8, split=(0.6, 0.2, 0.2), seed=3)
METHODS = ("adagrid", "neighbors", "interpolation", "complete", "random", "fixed", "placebo")


def trainer_of(settings: LinkRun = SETTINGS) -> LinkPredictionTrainer:
    split = make_split(GRAPH, settings.split, seed=settings.seed)
    return LinkPredictionTrainer(
        split, width=settings.width, epochs=settings.epochs, seed=settings.seed
    )


def assert_same(result: LinkResult, trainer: LinkPredictionTrainer) -> None:
    """Bit for bit: the same model comes out."""
    measured = trainer.test()
    assert result.test_auc == measured["test_auc"]
    assert result.test_ap == measured["test_ap"]
    assert result.val_auc == measured["val_auc"]
    assert result.epoch == measured["epoch"]
    assert dict(result.history[-1].metrics) == trainer.metrics()


def ran(**changes: object) -> LinkResult:
    return run(replace(SETTINGS, **changes), graph=GRAPH)  # type: ignore[arg-type]


def test_fixed_is_the_plain_loop() -> None:
    trainer = trainer_of()
    trainer.train_k(12, {"edge_message_ratio": 0.3})
    assert_same(ran(method="fixed", ratio=0.3), trainer)


def test_random_is_the_random_search_of_the_core() -> None:
    trainer = trainer_of()
    space = {"edge_message_ratio": Float(0.1, 0.9)}
    history = random_search(trainer, space, epochs=12, seed=3)
    result = ran(method="random")
    assert [round_.candidate for round_ in result.history] == [each.candidate for each in history]
    assert_same(result, trainer)


def test_random_draws_factors_of_the_learning_rate_evenly() -> None:
    result = ran(method="random", epochs=200, width=2, space=space_of(["learning_rate_scale"]))
    drawn = [float(round_.candidate["learning_rate_scale"]) for round_ in result.history]  # type: ignore[arg-type]
    assert 0.35 < np.mean(np.array(drawn) < 1) < 0.65  # on a plain scale it would be 0.09


def test_complete_search_delivers_the_run_that_validated_best() -> None:
    best: LinkPredictionTrainer | None = None
    for ratio in (0.5, *(each for each in RATIOS if each != 0.5)):  # the value in force is first
        trainer = trainer_of()
        trainer.train_k(12, {"edge_message_ratio": ratio})
        if best is None or trainer.metrics()["best_val_auc"] > best.metrics()["best_val_auc"]:
            best = trainer
    assert best is not None
    result = ran(method="complete")
    assert_same(result, best)
    assert result.final == {"edge_message_ratio": best.hyperparameters()["edge_message_ratio"]}
    assert result.cost.total == 9 * 12


@pytest.mark.parametrize("criterion", ["validation", "gap"])
def test_adagrid_is_the_paper(criterion: str) -> None:
    trainer = trainer_of()
    adapter = DynamicGridAdapter(
        trainer,
        policy=paper({"edge_message_ratio": RATIOS}, 4, 2, criterion=criterion),  # type: ignore[arg-type]
        initial={"edge_message_ratio": 0.5},
    )
    history = adapter.run(12)
    result = ran(method="adagrid", try_for=2, criterion=criterion)
    assert result.history == history
    assert_same(result, trainer)


@pytest.mark.parametrize(
    ("method", "proposer"), [("neighbors", Neighbors()), ("interpolation", Interpolation())]
)
def test_the_variants_of_the_future_work(method: str, proposer: Neighbors | Interpolation) -> None:
    trainer = trainer_of()
    adapter = DynamicGridAdapter(
        trainer,
        {"edge_message_ratio": RATIOS},
        criterion=smoothed(highest("val_auc")),
        adapt_every=4,
        try_for=1,
        proposer=proposer,
        initial={"edge_message_ratio": 0.5},
    )
    history = adapter.run(12)
    assert ran(method=method).history == history


def test_placebo_tries_one_value_as_often_as_the_grid_with_luck_of_its_own() -> None:
    result = ran(method="placebo", ratio=0.3)
    tries = [try_ for round_ in result.history for try_ in round_.tries]
    assert {try_.candidate["edge_message_ratio"] for try_ in tries} == {0.3}
    assert all(len(round_.tries) == 9 for round_ in result.history)
    assert len({try_.seed for try_ in tries}) == len(tries)
    assert len({try_.score for try_ in result.history[0].tries}) > 1


@pytest.mark.parametrize("method", METHODS)
def test_every_run_is_repeatable_and_costs_what_was_planned(method: str) -> None:
    job = prepare(replace(SETTINGS, method=method), graph=GRAPH)  # type: ignore[arg-type]
    first = train(job)
    assert first == train(job) == ran(method=method)
    assert first.plan == job.plan
    assert first.as_planned
    assert first.history.epochs == 12
    exact = {"adagrid": 38, "complete": 108, "random": 12, "fixed": 12, "placebo": 38}
    if method in exact:
        assert first.cost.total == first.plan.most.total == exact[method]


def test_another_seed_is_another_run() -> None:
    first, second = (ran(method="fixed", seed=seed) for seed in (0, 1))
    assert first.val_auc != second.val_auc
    assert first.test_auc != second.test_auc


@pytest.mark.parametrize("method", ["adagrid", "placebo", "complete", "random"])
def test_the_schedule_replays_to_the_same_model(method: str) -> None:
    result = ran(method=method)
    trainer = trainer_of()
    replay(result.schedule, trainer)
    assert_same(result, trainer)


def test_callbacks_see_the_records_and_change_nothing() -> None:
    seen: list[Event] = []
    result = run(SETTINGS, graph=GRAPH, callbacks=[seen.append])
    assert [event for event in seen if isinstance(event, Round)] == list(result.history)
    assert sum(isinstance(event, Try) for event in seen) == 27
    assert result == ran()


def test_several_hyperparameters_at_once() -> None:
    result = ran(method="neighbors", space=space_of(["edge_message_ratio", "dropout"]))
    assert list(result.final) == ["edge_message_ratio", "dropout"]
    assert result.history[0].previous == {"edge_message_ratio": 0.5, "dropout": 0.2}
    assert len(result.history[0].tries) == 5
    assert len(result.hints) == 2


def test_the_paper_protocol_says_that_it_leaks() -> None:
    result = ran(protocol="paper", method="fixed")
    assert result.warning is not None
    assert "leaks" in result.warning
    assert result.audit.reverse_test > 0
    clean = ran(method="fixed")
    assert clean.warning is None
    assert clean.audit.leaks == 0


def test_community_negatives_are_recorded() -> None:
    result = ran(method="fixed", negatives="community", communities="networkx")
    assert result.communities == "networkx"
    assert result.community_ratio is not None
    assert 0 < result.community_ratio <= 1


BAD = [
    {"method": "adagird"},
    {"protocol": "papers"},
    {"negatives": "comunity"},
    {"communities": "louvain"},
    {"criterion": "gapp"},
    {"epochs": 0},
    {"epochs": 2.5},
    {"try_for": 0},
    {"try_for": 11},
    {"layers": 0},
    {"width": -1},
    {"seed": -1},
    {"ratio": 1.0},
    {"ratio": math.nan},
    {"ratio": 0.55},
    {"space": {}},
    {"space": {"droput": (0.1,)}},
    {"space": {"dropout": (0.2, 1.0)}},
    {"space": {"dropout": (0.2, 0.2)}},
    {"split": (0.8, 0.1, 0.2)},
    {"device": "abacus"},
    {"device": "meta"},
]


@pytest.mark.parametrize("changes", BAD)
def test_bad_settings_are_refused(changes: dict[str, object]) -> None:
    with raises((DynhpError, DataError)):
        prepare(replace(SETTINGS, adapt_every=10, **changes), graph=GRAPH)  # type: ignore[arg-type]


def test_a_ratio_that_leaves_no_message_edge_is_refused_before_training() -> None:
    path = graph_from_edges([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    with raises(DataError):
        prepare(replace(SETTINGS, ratio=0.5), graph=path)


def test_the_same_name_twice_is_refused() -> None:
    with raises(SettingsError):
        space_of(["dropout", "dropout"])


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 29, 100])
def test_student_agrees_with_scipy(degrees: int) -> None:
    assert student(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def test_the_interval_is_students() -> None:
    values = [0.93, 0.941, 0.937, 0.95]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    mean = mean_of(values)
    assert mean.half_width is not None
    assert mean.mean - mean.half_width == pytest.approx(low)
    assert mean.mean + mean.half_width == pytest.approx(high)
    assert mean_of([0.5]).half_width is None


@pytest.mark.parametrize("method", get_args(Method))
def test_no_try_ever_looks_at_the_test_pairs(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    scores = FastGcn.scores

    def spied(self: FastGcn, name: Any) -> Any:
        asked.append(name)
        return scores(self, name)

    monkeypatch.setattr(FastGcn, "scores", spied)
    seen: list[set[str]] = []
    names = ["learning_rate_scale" if method == "recommended" else "edge_message_ratio"]
    settings = LinkRun(method=method, epochs=6, adapt_every=3, width=4, space=space_of(names))
    run(settings, graph=tiny_graph(), callbacks=[lambda event: seen.append(set(asked))])
    assert seen[-1] == {"validation"}  # until the last round was over
    assert set(asked) == {"validation", "test"}


def test_one_axis_takes_one_hyperparameter_after_the_other() -> None:
    space = space_of(["edge_message_ratio", "dropout"])
    settings = LinkRun(method="one_axis", epochs=6, adapt_every=3, width=4, space=space)
    rounds = run(settings, graph=tiny_graph()).history
    assert [len(round_.tries) for round_ in rounds] == [9, 4]
    for round_, still in zip(rounds, ("dropout", "edge_message_ratio"), strict=True):
        assert {try_.candidate[still] for try_ in round_.tries} == {round_.previous[still]}


def test_recommended_races_and_judges_by_averaged_weights() -> None:
    space = space_of(["learning_rate_scale"])
    settings = LinkRun(method="recommended", epochs=16, width=4, space=space, schedule="constant")
    first = run(settings, graph=tiny_graph()).history[0]
    assert first.epochs == 4
    assert sorted({try_.epochs for try_ in first.tries}) == [1, 2]
    winner = first.winner
    assert -winner.score == pytest.approx(winner.series[-1]["ema_val_loss"])
    assert winner.series[-1]["ema_val_loss"] != winner.series[-1]["val_loss"]


def test_recommended_adapts_the_learning_rate_and_nothing_else() -> None:
    with raises(SettingsError):
        LinkRun(method="recommended")


def test_a_schedule_of_the_learning_rate_can_be_chosen() -> None:
    results = {
        schedule: run(
            LinkRun(method="fixed", epochs=6, width=4, schedule=schedule), graph=tiny_graph()
        )
        for schedule in ("cosine", "constant")
    }
    assert results["cosine"].history != results["constant"].history
    with raises(SettingsError):
        LinkRun(schedule="linear")  # type: ignore[arg-type]


def test_a_dense_graph_trains_on_the_few_non_edges_it_has() -> None:
    generator = np.random.default_rng(0)
    joined = np.triu(generator.random((30, 30)) < 0.66, 1)
    graph = graph_from_edges(np.stack(np.nonzero(joined)), 30)
    assert run(LinkRun(method="random", epochs=20, width=4), graph=graph).history.epochs == 20
