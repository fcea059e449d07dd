"""Averaged weights: the right average, no trace of an evaluation, and the race that uses them."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from dynhp.errors import Hint, SettingsError
from dynhp.planning import ema_race
from dynhp_torch import AveragedWeights, adapt, optimizer_param
from tests.support.messages import raises, warns


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


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), "0.1", True])
def test_a_bad_share(share: Any) -> None:
    with raises(SettingsError):
        AveragedWeights(nn.Linear(1, 1), share=share)


@pytest.mark.parametrize("given", [{}, {"horizon": 3, "share": 0.1}])
def test_one_length_is_needed(given: Any) -> None:
    with raises(SettingsError):
        AveragedWeights(nn.Linear(1, 1), **given)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_share_is_a_window_that_grows_with_the_run(share: float) -> None:
    model: Any = WithCounter()
    average = AveragedWeights(model, share=share)
    wanted = math.nan
    for number in range(1, 40):
        nn.init.constant_(model.weight, float(number) ** 2)
        model.index.fill_(number)
        average.update()
        weight = min(1.0, 1 / (share * number))
        wanted = number**2 if weight == 1 else wanted + weight * (number**2 - wanted)
    average.deliver()
    assert model.weight.item() == pytest.approx(wanted)
    assert model.index.item() == 39


def with_batch_norm() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 1))


def test_statistics_are_those_of_the_averaged_weights_and_leave_no_trace() -> None:
    model = with_batch_norm()
    frozen = model[1]  # type: ignore[index]
    average = AveragedWeights(model, share=0.5)
    batches = list(torch.randn(6, 32, 8))
    for batch in batches:
        model(batch)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1)
        average.update()
    before = copy.deepcopy((model.state_dict(), average.average.state_dict()))
    drawn = torch.get_rng_state()

    def statistics() -> dict[str, float]:
        return {"mean": frozen.running_mean.sum().item()}

    as_averaged = average.evaluate(statistics)
    measured = average.evaluate(statistics, batches=batches)
    assert measured != as_averaged
    with average.swapped():
        wanted = torch.stack([model[0](batch).mean(dim=0) for batch in batches])  # type: ignore[index]
    assert measured["ema_mean"] == pytest.approx(wanted.mean(dim=0).sum().item(), rel=1e-5)
    after = (model.state_dict(), average.average.state_dict())
    for old, new in zip(before, after, strict=True):
        assert all(torch.equal(old[name], new[name]) for name in old)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert (model.training, frozen.training) == (True, True)
    average.deliver(batches=batches)
    assert statistics() == {"mean": measured["ema_mean"]}
    assert torch.equal(model[0].weight, average.average.module[0].weight)  # type: ignore[index]


@pytest.mark.parametrize(("given", "hints"), [({"share": 0.1}, 1), ({"horizon": 4}, 0)])
def test_statistics_that_are_not_measured_again_get_a_hint(given: Any, hints: int) -> None:
    for end in ("evaluate", "deliver"):
        average = AveragedWeights(type("Named", (nn.BatchNorm1d,), {})(3), **given)
        average.update()
        arguments: Any = [dict] if end == "evaluate" else []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(average, end)(*arguments)
        assert len(caught) == (hints if end == "evaluate" else 0)  # once in a process


@pytest.mark.parametrize("dry_run", [False, True])
def test_it_is_exact_under_tries_and_after_a_resume(dry_run: bool) -> None:
    inputs = torch.randn(96, 8, generator=torch.Generator().manual_seed(3))
    target = inputs.sin().sum(dim=1, keepdim=True)
    batches = list(inputs.split(32))

    class Task:
        def __init__(self) -> None:
            self.model = with_batch_norm()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
            self.average = AveragedWeights(self.model, share=0.2)

        def epoch(self) -> dict[str, float]:
            for rows in torch.randperm(96).split(32):
                self.optimizer.zero_grad()
                loss: Any = mse_loss(self.model(inputs[rows]), target[rows])
                loss.backward()
                self.optimizer.step()
                self.average.update()
            return self.average.evaluate(self.loss, "averaged_", batches=batches)

        def loss(self) -> dict[str, float]:
            self.model.eval()
            with torch.no_grad():
                loss = mse_loss(self.model(inputs), target).item()
            self.model.train()
            return {"loss": loss}

        def loop(self) -> Any:
            return adapt(
                6, state=[self.model, self.optimizer, self.average], lr=[0.02, 0.05, 0.1],
                minimize="averaged_loss", adapt_every=3, try_for=1, dry_run=dry_run,
            )  # fmt: skip

        def end(self) -> list[torch.Tensor]:
            self.average.deliver(batches=batches)
            return list(self.model.state_dict().values())

    def equal(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
        return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))

    whole = Task()
    for epoch in whole.loop():
        epoch.report(whole.epoch())
    wanted = whole.end()
    if dry_run:
        plain = Task()
        for _ in range(6):
            plain.epoch()
        assert equal(plain.end(), wanted)
    first = Task()
    saved: Any = None
    loop = first.loop()
    for epoch in loop:
        epoch.report(first.epoch())
        if epoch.main and epoch == 4:
            parts = (first.model, first.optimizer, first.average.average)
            states = copy.deepcopy([part.state_dict() for part in parts])
            saved = (loop.state_dict(), states, torch.get_rng_state())
            break
    second = Task()
    again = second.loop()
    again.load_state_dict(saved[0])
    for part, state in zip(
        (second.model, second.optimizer, second.average.average), saved[1], strict=True
    ):
        part.load_state_dict(state)
    torch.set_rng_state(saved[2])
    for epoch in again:
        epoch.report(second.epoch())
    assert equal(second.end(), wanted)


@pytest.mark.parametrize("refused", ["none", "used up", "one row"])
@pytest.mark.parametrize("end", ["evaluate", "deliver"])
def test_batches_that_cannot_be_measured_change_nothing(refused: str, end: str) -> None:
    model = with_batch_norm()
    average = AveragedWeights(model, share=0.5)
    for batch in torch.randn(3, 16, 8):
        model(batch)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1)
        average.update()
    before = copy.deepcopy((model.state_dict(), average.average.state_dict()))
    batches: Any = {
        "none": [],
        "used up": iter(()),
        "one row": [torch.randn(4, 8), torch.randn(1, 8)],
    }[refused]
    arguments: Any = [dict] if end == "evaluate" else []
    with pytest.raises((SettingsError, ValueError)):
        getattr(average, end)(*arguments, batches=batches)
    for old, new in zip(before, (model.state_dict(), average.average.state_dict()), strict=True):
        assert all(torch.equal(old[name], new[name]) for name in old)
    assert model[1].momentum == 0.1  # type: ignore[index]
    assert model.training


@pytest.mark.parametrize("training", [True, False])
def test_frozen_layers_keep_their_statistics(training: bool) -> None:
    model = with_batch_norm()
    model.append(nn.BatchNorm1d(1))  # type: ignore[operator]
    average = AveragedWeights(model, share=0.5)
    frozen = model[1]  # type: ignore[index]
    if training:
        frozen.eval()
    else:
        model.eval()
    average.update()
    kept = frozen.running_mean.clone()
    average.deliver(batches=[(torch.randn(16, 8),)])
    assert torch.equal(frozen.running_mean, kept) is training
    assert model[4].num_batches_tracked == 1  # type: ignore[index]
    assert (model.training, frozen.training) == (training, False)


def test_nothing_is_delivered_before_an_update() -> None:
    with raises(SettingsError):
        AveragedWeights(nn.Linear(1, 1), share=0.1).deliver()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("given", [{"share": 0.1}, {"horizon": 300}])
def test_the_average_of_coarse_weights_is_kept_in_32_bits(
    dtype: torch.dtype, given: dict[str, float]
) -> None:
    coarse, fine = WithCounter().to(dtype), WithCounter()
    averages = [AveragedWeights(model, **given) for model in (coarse, fine)]
    for number in range(3000):  # at 8 bits the newest weights would long count nothing
        for model, average in zip((coarse, fine), averages, strict=True):
            nn.init.constant_(model.weight, float(number % 256))
            average.update()
    wanted: torch.Tensor = averages[1].average.module.weight
    assert torch.equal(averages[0].average.module.weight, wanted)
    kept = coarse.weight
    with averages[0].swapped():
        assert coarse.weight is kept
        assert torch.equal(coarse.weight, wanted.to(dtype))
    assert coarse.weight.item() == 2999 % 256
    averages[0].deliver()
    assert coarse.weight.dtype == dtype
    assert torch.equal(coarse.weight, wanted.to(dtype))


class InstanceNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, track_running_stats=True)

    def forward(self, rows: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.norm(scale * rows)  # type: ignore[no-any-return]


def test_the_statistics_of_instance_norm_are_measured_again() -> None:
    model = InstanceNet()
    average = AveragedWeights(model, share=0.5)
    average.update()
    rows = torch.randn(5, 4, 3, 16)
    average.deliver(batches=list(rows))
    assert torch.allclose(model.norm.running_mean, rows.mean(dim=(0, 1, 3)), atol=1e-6)
    assert model.norm.momentum == 0.1
    with warns(Hint):
        average.deliver()


BATCH = torch.randn(4, 3, 16)


@pytest.mark.parametrize(
    ("batch", "feed"),
    {
        "inputs": (BATCH, None),
        "inputs and targets": ((BATCH, torch.zeros(4)), None),
        "several inputs": (((BATCH, 1.0), torch.zeros(4)), None),
        "by name": ({"rows": BATCH, "scale": 1.0}, None),
        "by name, and more": ({"rows": BATCH, "labels": torch.zeros(4)}, None),
        "by name, and targets": (({"rows": BATCH}, torch.zeros(4)), None),
        "as it likes": ([torch.zeros(4), BATCH], lambda model, batch: model(batch[1])),
    }.values(),
)
def test_batches_of_any_shape(batch: Any, feed: Any) -> None:
    model = InstanceNet()
    average = AveragedWeights(model, share=0.5)
    average.update()
    wanted = BATCH.mean(dim=(0, 2))
    seen = average.evaluate(
        lambda: {"off": (model.norm.running_mean - wanted).abs().max().item()},
        batches=[batch],
        feed=feed,
    )
    assert seen["ema_off"] < 1e-6
    average.deliver(batches=[batch], feed=feed)
    assert torch.allclose(model.norm.running_mean, wanted, atol=1e-6)


def test_a_model_that_takes_any_name_is_given_all() -> None:
    class TakesAll(InstanceNet):
        def forward(self, **given: Any) -> Any:
            assert set(given) == {"rows", "labels"}
            return self.norm(given["rows"])

    average = AveragedWeights(TakesAll(), share=0.5)
    average.update()
    average.deliver(batches=[{"rows": BATCH, "labels": 3}])


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
