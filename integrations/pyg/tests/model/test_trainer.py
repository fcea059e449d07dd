"""What the trainer's arguments, metrics and checkpoints do, and which input it refuses."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from dynhp.errors import SettingsError
from dynhp.trainer import ReadsBack, Reseeds, Trainer
from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.graph import graph_from_edges
from dynhp_pyg.model.batches import Batch, draw
from dynhp_pyg.model.dropout import RecentNoise
from dynhp_pyg.model.hyperparameters import HyperparameterValues
from dynhp_pyg.model.schedule import RateSchedule
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import example, tiny_graph, tiny_split
from dynhp_pyg.splits.make import make_split
from tests.support.messages import raises


def _batch(values: HyperparameterValues, epoch: int = 0, resample_every: int = 1) -> Batch:
    return draw(
        tiny_split(),
        values,
        seed=1,
        epoch=epoch,
        resample_every=resample_every,
        recent=RecentNoise(),
        device="cpu",
    )


def test_it_is_a_trainer_with_both_optional_powers() -> None:
    make, space = example()
    trainer = make()
    assert isinstance(trainer, Trainer)
    assert isinstance(trainer, ReadsBack)
    assert isinstance(trainer, Reseeds)
    assert space == {"edge_message_ratio": [0.2, 0.5, 0.8]}


def test_the_cosine_is_torchs() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    schedule = RateSchedule(name="cosine", learning_rate=0.3, epochs=20)
    for epoch in range(20):
        assert schedule.at(epoch) == pytest.approx(scheduler.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        scheduler.step()
    assert RateSchedule(name="constant", learning_rate=0.3, epochs=20).at(19) == 0.3


def test_a_zero_learning_rate_at_the_horizon_stops_the_weights() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=5)
    trainer.train_k(5, {})
    before = trainer.get_state()["parameters"]
    trainer.train_k(1, {})
    assert np.array_equal(trainer.get_state()["parameters"], before)


def test_message_and_objective_edges_are_disjoint_and_complete() -> None:
    batch, split = _batch(HyperparameterValues(edge_message_ratio=0.3)), tiny_split()
    count = split.train.shape[1]
    assert batch.message.sum() == round(0.3 * count)
    assert batch.positives.shape[1] == count - round(0.3 * count)
    assert np.array_equal(batch.positives, split.train[:, ~batch.message])


def test_negatives_follow_their_number_per_positive() -> None:
    for per_positive in (0.5, 1.0, 2.0):
        batch = _batch(HyperparameterValues(negatives_per_positive=per_positive))
        assert batch.negatives.shape[1] == round(per_positive * batch.positives.shape[1])


def test_message_edges_are_resampled_every_so_many_epochs() -> None:
    masks = [_batch(HyperparameterValues(), epoch, resample_every=3).message for epoch in range(7)]
    same = [np.array_equal(a, b) for a, b in pairwise(masks)]
    assert same == [True, True, False, True, True, False]
    first, second = (
        _batch(HyperparameterValues(), epoch, resample_every=3).negatives for epoch in range(2)
    )
    assert not np.array_equal(first, second)


def test_changing_one_setting_leaves_the_other_streams_alone() -> None:
    usual, dropped = _batch(HyperparameterValues()), _batch(HyperparameterValues(dropout=0.5))
    assert np.array_equal(usual.message, dropped.message)
    assert np.array_equal(usual.negatives, dropped.negatives)
    more = _batch(HyperparameterValues(negatives_per_positive=2.0))
    assert np.array_equal(usual.message, more.message)
    ones = torch.ones(100)
    assert torch.equal(usual.dropout.keep(ones), more.dropout.keep(ones))


def test_metrics_before_training_are_nan_where_nothing_was_trained() -> None:
    metrics = LinkPredictionTrainer(tiny_split(), width=4).metrics()
    assert {name for name, value in metrics.items() if math.isnan(value)} == {
        "train_auc",
        "train_loss",
        "best_val_auc",
    }


def test_average_precision_only_when_asked() -> None:
    plain = LinkPredictionTrainer(tiny_split(), width=4)
    asked = LinkPredictionTrainer(tiny_split(), width=4, with_average_precision=True)
    assert asked.metrics().keys() - plain.metrics().keys() == {"train_ap", "val_ap"}
    assert not any("test" in name for name in asked.metrics())


def test_the_test_is_of_the_best_validation_checkpoint() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=8, epochs=30, learning_rate=1.0)
    seen = []
    for epoch in range(1, 31):
        trainer.train_k(1, {})
        seen.append((trainer.metrics()["val_auc"], -epoch, trainer.get_state()))
    auc, epoch, state = max(seen, key=lambda each: each[:2])
    tested = trainer.test()
    assert (tested["val_auc"], tested["epoch"]) == (auc, -epoch)
    assert trainer.metrics()["best_val_auc"] == auc
    assert -epoch < 30, "the best must not be the last for this test to say anything"
    fresh = LinkPredictionTrainer(tiny_split(), width=8, keep_best=False)
    fresh.set_state({**state, "best": None})
    assert fresh.test()["test_auc"] == tested["test_auc"]
    assert trainer.get_state()["best"]["parameters"] is trainer.get_state()["best"]["parameters"]


def test_without_the_best_the_present_weights_are_tested_and_nothing_is_validated() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=8, keep_best=False)
    calls = []
    scores = trainer._engine.scores
    trainer._engine.scores = lambda name: calls.append(name) or scores(name)  # type: ignore[method-assign, func-returns-value]
    trainer.train_k(3, {})
    assert calls == []
    trainer.metrics(), trainer.metrics()
    assert calls == ["validation"]
    assert trainer.test()["epoch"] == 3
    assert trainer.get_state()["best"] is None


def test_diverged_training_gives_nan_not_infinity() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=8, learning_rate=1e6)
    with np.errstate(all="ignore"):
        trainer.train_k(10, {})
        metrics = trainer.metrics()
    assert not any(math.isinf(value) for value in metrics.values())
    assert math.isnan(metrics["val_auc"])


def test_a_graph_without_features_learns_an_embedding() -> None:
    graph = tiny_graph()
    bare = graph_from_edges(graph.edges, graph.num_nodes)
    trainer = LinkPredictionTrainer(make_split(bare, (0.6, 0.2, 0.2)), width=8)
    assert trainer.weights()["embedding"].shape == (60, 8)
    with raises(SettingsError):
        LinkPredictionTrainer(make_split(bare, (0.6, 0.2, 0.2)), inputs="features")


@pytest.mark.parametrize(
    "values",
    [
        {"edge_mesage_ratio": 0.5},
        {"lr": 0.1},
        {"edge_message_ratio": 0.0},
        {"edge_message_ratio": 1.0},
        {"edge_message_ratio": math.nan},
        {"dropout": 1.0},
        {"dropout": "0.5"},
        {"weight_decay": -1e-3},
        {"weight_decay": True},
        {"learning_rate_scale": 0.0},
        {"learning_rate_scale": math.inf},
        {"negatives_per_positive": 0},
    ],
    ids=str,
)
def test_bad_values_are_refused_and_nothing_is_trained(values: dict[str, Any]) -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4)
    before = trainer.get_state()
    with raises(SettingsError):
        trainer.train_k(1, values)
    assert trainer.get_state()["epoch"] == before["epoch"] == 0
    assert trainer.hyperparameters()["edge_message_ratio"] == 0.5


@pytest.mark.parametrize(
    "arguments",
    [
        {"layers": 0},
        {"width": 2.5},
        {"epochs": 0},
        {"resample_every": 0},
        {"seed": -1},
        {"schedule": "step"},
        {"learning_rate": 0.0},
        {"momentum": 1.0},
        {"path": "quick"},
        {"inputs": "degree"},
        {"dropout": -0.1},
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with raises(SettingsError):
        LinkPredictionTrainer(tiny_split(), **arguments)


def test_a_ratio_that_leaves_no_message_edge_is_refused() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4)
    with raises(ValueError):
        trainer.train_k(1, {"edge_message_ratio": 1e-6})
    assert trainer.get_state()["epoch"] == 0


def test_a_bad_number_of_epochs_is_refused() -> None:
    trainer: Any = LinkPredictionTrainer(tiny_split(), width=4)
    for k in (-1, 1.5, True):
        with raises(SettingsError):
            trainer.train_k(k, {})


def test_the_state_of_another_model_is_refused() -> None:
    small, large = (LinkPredictionTrainer(tiny_split(), width=width) for width in (4, 8))
    with raises(SettingsError):
        large.set_state(small.get_state())


def test_the_number_of_threads_is_left_alone() -> None:
    torch.set_num_threads(2)
    LinkPredictionTrainer(tiny_split(), width=4).train_k(1, {})
    assert torch.get_num_threads() == 2


@pytest.mark.slow
def test_quality_on_cora() -> None:
    trainer = LinkPredictionTrainer(make_split(load_dataset("cora"), seed=3), seed=3)
    trainer.train_k(500, {})
    assert trainer.test()["test_auc"] > 0.92


def test_only_the_metrics_that_are_asked_for_are_measured() -> None:
    plain, lean = (LinkPredictionTrainer(tiny_split(), width=4, epochs=9) for _ in range(2))
    lean.measure_only(["val_loss", "train_auc"])
    for trainer in (plain, lean):
        trainer.train_k(3, {})
    everything = plain.metrics()
    assert lean.metrics() == {name: everything[name] for name in ("train_auc", "val_loss")}
    assert lean.test() == plain.test()
    lean.measure_only(None)
    assert lean.metrics() == everything


def test_a_metric_that_is_not_measured_is_refused() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4)
    with raises(SettingsError):
        trainer.measure_only(["val_acu"])
    with raises(SettingsError):
        trainer.measure_only(["ema_val_auc"])
    with raises(SettingsError):
        trainer.measure_only("val_auc")
    assert "val_auc" in trainer.metrics()


def test_the_test_needs_no_metric() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=4, epochs=9, keep_best=False)
    trainer.train_k(3, {})
    expected = trainer.test()["val_auc"]
    trainer.measure_only([])
    assert trainer.metrics() == {}
    assert trainer.test()["val_auc"] == expected
