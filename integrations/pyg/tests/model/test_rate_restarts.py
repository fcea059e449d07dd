"""A learning rate that restarts is the published code's, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler

from dynhp.errors import SettingsError
from dynhp.testing import difference
from dynhp_pyg.model.schedule import RateSchedule
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import tiny_split
from tests.support.messages import raises


class CosineOfTorch19(CosineAnnealingLR):
    """The rule of torch 1.9, which the published code asks for; ``eta_min`` is 0 there."""

    def get_lr(self) -> list[float | torch.Tensor]:
        step, length = self.last_epoch, self.T_max
        if step == 0:
            return list(self.base_lrs)
        ratio = (1 + math.cos(math.pi * step / length)) / (
            1 + math.cos(math.pi * (step - 1) / length)
        )
        return [ratio * group["lr"] for group in self.optimizer.param_groups]


def rates_of_published_code(
    rule: type[CosineAnnealingLR], *, epochs: int, adapt_every: int
) -> list[float]:
    """The rate of each epoch where every round makes an optimiser and a schedule anew."""
    weights = [torch.nn.Parameter(torch.zeros(1))]

    def anew() -> tuple[SGD, LRScheduler]:
        optimizer = SGD(weights, lr=0.1, momentum=0.9)
        if saved:
            optimizer.load_state_dict(saved["optimizer"])
        scheduler = rule(optimizer, T_max=epochs)
        if saved:
            scheduler.load_state_dict(saved["scheduler"])
        return optimizer, scheduler

    saved: dict[str, Any] = {}
    rates = []
    for epoch in range(epochs):
        if epoch % adapt_every == 0:
            optimizer, scheduler = anew()
        rates.append(float(optimizer.param_groups[0]["lr"]))
        weights[0].grad = torch.ones(1)
        optimizer.step()
        scheduler.step()
        saved = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    return rates


@pytest.mark.parametrize("epochs", [1, 7, 60, 500])
@pytest.mark.parametrize("adapt_every", [1, 10, 50, 100, 499, 500, 1000])
def test_the_rate_is_that_of_the_published_code_to_the_last_bit(
    epochs: int, adapt_every: int
) -> None:
    schedule = RateSchedule(name="cosine", learning_rate=0.1, epochs=epochs, restarts=adapt_every)
    expected = rates_of_published_code(CosineOfTorch19, epochs=epochs, adapt_every=adapt_every)
    assert [schedule.at(epoch) for epoch in range(epochs)] == expected


def test_the_torch_of_today_does_not_restart_the_rate() -> None:
    plain = RateSchedule(name="cosine", learning_rate=0.1, epochs=500)
    rates = rates_of_published_code(CosineAnnealingLR, epochs=500, adapt_every=100)
    assert rates == pytest.approx([plain.at(epoch) for epoch in range(500)])
    assert [round(rates[epoch], 4) for epoch in (100, 200, 300, 400)] == [
        0.0905,
        0.0655,
        0.0345,
        0.0095,
    ]


def test_the_rule_of_torch_1_9_is_back_at_its_first_rate_in_every_round() -> None:
    rates = rates_of_published_code(CosineOfTorch19, epochs=500, adapt_every=100)
    assert [rates[epoch] for epoch in range(0, 500, 100)] == [0.1] * 5
    assert all(
        later < earlier
        for start in range(0, 500, 100)
        for earlier, later in zip(
            rates[start : start + 99], rates[start + 1 : start + 100], strict=True
        )
    )


def trained(**arguments: Any) -> LinkPredictionTrainer:
    trainer = LinkPredictionTrainer(tiny_split(), width=6, epochs=30, seed=3, **arguments)
    trainer.train_k(12, {})
    return trainer


def test_restarts_in_every_epoch_are_a_constant_rate() -> None:
    restarted, constant = trained(rate_restarts=1), trained(schedule="constant")
    assert difference(restarted.get_state(), constant.get_state()) is None


def test_a_restart_after_the_last_epoch_is_none() -> None:
    restarted, plain = trained(rate_restarts=30).weights(), trained().weights()
    for name, weights in plain.items():
        np.testing.assert_allclose(restarted[name], weights, rtol=1e-4, atol=1e-6)


def test_restarts_change_the_weights_from_the_first_one_on() -> None:
    plain, restarted = (
        LinkPredictionTrainer(tiny_split(), width=6, epochs=30, rate_restarts=restarts)
        for restarts in (None, 4)
    )
    for trainer in (plain, restarted):
        trainer.train_k(1, {})
    assert difference(plain.get_state(), restarted.get_state()) is None
    for trainer in (plain, restarted):
        trainer.train_k(4, {})
    assert difference(plain.get_state(), restarted.get_state()) is not None


def test_a_rate_past_its_schedule_is_refused_and_nothing_is_trained() -> None:
    trainer = LinkPredictionTrainer(tiny_split(), width=6, epochs=5, rate_restarts=2)
    trainer.train_k(5, {})
    before = trainer.get_state()
    with raises(SettingsError):
        trainer.train_k(1, {})
    assert difference(trainer.get_state(), before) is None


@pytest.mark.parametrize("restarts", [0, -1, 2.5, True, "10"])
def test_restarts_are_counted_in_whole_epochs(restarts: object) -> None:
    with raises(SettingsError):
        LinkPredictionTrainer(tiny_split(), rate_restarts=restarts)  # type: ignore[arg-type]


def test_a_rate_that_stays_has_nothing_to_restart() -> None:
    with raises(SettingsError):
        LinkPredictionTrainer(tiny_split(), rate_restarts=10, schedule="constant")
