"""Trainers made of a torch epoch and an evaluation obey the laws."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from dynhp import DynamicGridAdapter, lowest, replay, schedule_of
from dynhp.errors import MetricError, SettingsError, ValueNotInForce
from dynhp.testing import check_trainer
from dynhp_torch import optimizer_param, torch_trainer
from dynhp_torch.example import example
from tests.support.messages import raises


def test_the_example_obeys_all_laws() -> None:
    make, space = example()
    check_trainer(make, space, epochs=1)


def test_the_example_adapts_and_its_schedule_replays() -> None:
    make, space = example()
    trainer = make()
    start = trainer.get_state()
    adapter = DynamicGridAdapter(
        trainer, space, criterion=lowest("ema_val_loss"), adapt_every=3, try_for=1
    )
    adapter.run(6)
    wanted = trainer.metrics()
    trainer.set_state(start)
    replay(schedule_of(adapter.history), trainer)
    assert trainer.metrics() == wanted


class ImpureEvaluation:
    """A trainer whose evaluation does everything it should not."""

    def __init__(self, **arguments: Any) -> None:
        self.model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.generator = torch.Generator()
        self.values: list[Any] = []
        self.trainer: Any = torch_trainer(
            **{
                "state": [self.model, self.optimizer, self.generator],
                "train_epoch": self.train_epoch,
                "evaluate": self.evaluate,
                "bind": {"lr": optimizer_param(self.optimizer, "lr")},
                **arguments,
            }
        )

    def train_epoch(self, values: Any) -> None:
        self.values.append(dict(values))

    def evaluate(self) -> dict[str, Any]:
        self.model.eval()
        drawn = torch.rand(1) + torch.rand(1, generator=self.generator)
        return {"loss": drawn[0] + np.random.rand() + random.random()}


def test_evaluation_is_pure() -> None:
    impure = ImpureEvaluation()
    first = impure.trainer.metrics()
    assert impure.trainer.metrics() == first
    assert type(first["loss"]) is float
    assert impure.model.training
    assert impure.model[1].training


def test_values_are_bound_or_read() -> None:
    impure = ImpureEvaluation(reads=["ratio"])
    impure.trainer.train_k(2, {"lr": 0.5, "ratio": 0.3})
    assert impure.values == [{"lr": 0.5, "ratio": 0.3}] * 2
    assert impure.trainer.hyperparameters() == {"lr": 0.5}
    impure.trainer.train_k(1, {"ratio": 0.3})  # the others stay as they are
    assert impure.optimizer.param_groups[0]["lr"] == 0.5
    with raises(SettingsError):
        impure.trainer.train_k(1, {"ratoi": 0.3})
    assert not hasattr(ImpureEvaluation(bind=None, reads=["lr"]).trainer, "hyperparameters")


def test_a_value_overwritten_while_training_is_caught() -> None:
    impure = ImpureEvaluation()
    overwriting = ImpureEvaluation(
        state=[impure.model, impure.optimizer],
        bind={"lr": optimizer_param(impure.optimizer, "lr")},
        train_epoch=lambda values: impure.optimizer.param_groups[0].update(lr=9.0),
    )
    with raises(ValueNotInForce):
        overwriting.trainer.train_k(1, {"lr": 0.5})


def test_bound_values_go_with_the_state() -> None:
    impure = ImpureEvaluation()
    state = impure.trainer.get_state()
    impure.trainer.train_k(1, {"lr": 0.5})
    impure.trainer.set_state(state)
    assert impure.trainer.hyperparameters() == {"lr": 0.1}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"bind": None}, SettingsError),
        ({"reads": "lr"}, SettingsError),
        ({"state": []}, SettingsError),
        ({"train_epoch": 3}, SettingsError),
        ({"evaluate": None}, SettingsError),
    ],
)
def test_bad_input(arguments: Any, error: Any) -> None:
    with raises(error):
        ImpureEvaluation(**arguments)


def test_metrics_must_be_numbers() -> None:
    with raises(MetricError):
        ImpureEvaluation(evaluate=lambda: {"loss": "low"}).trainer.metrics()
    with raises(MetricError):
        ImpureEvaluation(evaluate=lambda: 3).trainer.metrics()
