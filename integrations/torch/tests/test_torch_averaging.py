"""Averaged weights: the right average, no trace of an evaluation, and the race that uses them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from dynhp.errors import SettingsError
from dynhp.planning import ema_race
from dynhp_torch import AveragedWeights, adapt, optimizer_param
from tests.support.messages import raises


class WithCounter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("index", torch.tensor([5]))


def test_floats_are_averaged_and_counters_copied() -> None:
    model: Any = WithCounter()
    average = AveragedWeights(model, horizon=4)
    wanted = 0.0
    for number in range(6):
        nn.init.constant_(model.weight, float(number))
        model.mean.fill_(2.0 * number)
        model.index.fill_(5 + number)
        average.update()
        wanted = number if number == 0 else wanted + 0.25 * (number - wanted)
    with average.swapped() as same:
        assert same is model
        assert model.weight.item() == pytest.approx(wanted)
        assert model.mean.item() == pytest.approx(2 * wanted)
        assert model.index.item() == 10
    assert (model.weight.item(), model.mean.item()) == (5.0, 10.0)


def test_an_evaluation_that_raises_leaves_no_trace() -> None:
    model = nn.Linear(2, 2)
    average = AveragedWeights(model, horizon=2)
    nn.init.zeros_(model.weight)
    with pytest.raises(ZeroDivisionError):
        average.evaluate(lambda: {"loss": 1 / 0})
    assert not model.weight.any()


@pytest.mark.parametrize("horizon", [0.5, 0, -1, float("inf"), float("nan"), "3", True])
def test_a_bad_horizon(horizon: Any) -> None:
    with raises(SettingsError):
        AveragedWeights(nn.Linear(1, 1), horizon=horizon)


def test_a_model_is_needed() -> None:
    with raises(SettingsError):
        AveragedWeights(3, horizon=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", [False, True])
def test_the_race_of_learning_rates_fits_a_loop(spread: bool) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(64, 8)
    target = inputs @ torch.randn(8, 1) + 0.5 * torch.randn(64, 1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    average = AveragedWeights(model, horizon=4)

    def measure() -> dict[str, float]:
        with torch.no_grad():
            return {"val_loss": mse_loss(model(inputs[48:]), target[48:]).item()}

    policy = ema_race("learning_rate", epochs=16, default=0.01)
    state = [model, optimizer, average]
    if spread:
        bind = {"learning_rate": optimizer_param(optimizer, "lr")}
        loop = adapt(16, state=state, bind=bind, **policy)
    else:
        loop = adapt(16, state=state, policy=policy)
    for epoch in loop:
        for batch in torch.randperm(48).split(12):
            optimizer.zero_grad()
            loss: Any = mse_loss(model(inputs[batch]), target[batch])
            loss.backward()
            optimizer.step()
            average.update()
        epoch.report(**measure(), **average.evaluate(measure))
    assert loop.history.epochs == 16
    assert loop.adapter.current["learning_rate"] == optimizer.param_groups[0]["lr"]
    assert {"val_loss", "ema_val_loss"} == set(loop.history[-1].metrics)
    assert len(loop.history) == 4
