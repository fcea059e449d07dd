"""The rate preset in loops as people have them: groups, accumulation, scalers, clipping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from dynhp import spent
from dynhp.errors import ValueNotInForce
from dynhp.planning import rate_search
from dynhp.tails import wsd
from dynhp_torch import adapt, recommended_lr, wsd_schedule
from dynhp_torch.settings.groups import RateOfGroups
from tests.support.messages import raises

STEPS = 700
STARTS = [1 / 30, 1 / 5.6, 1.0, 1.8, 17.8]
Body = Callable[["Script", Any, int], float]


class Script:
    """A small network on noisy data; the second layer learns ten times as fast as the first."""

    def __init__(self, times: float = 1.0, *, groups: bool = False) -> None:
        torch.manual_seed(0)
        self.inputs = torch.randn(256, 6)
        self.target = self.inputs @ torch.randn(6, 1) + 0.3 * torch.randn(256, 1)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        self.generator = torch.Generator().manual_seed(1)
        first, _, second = self.model
        parts = [
            {"params": first.parameters(), "lr": 0.01 * times},
            {"params": second.parameters(), "lr": 0.1 * times},
        ]
        self.optimizer = torch.optim.SGD(
            parts if groups else self.model.parameters(), lr=0.05 * times, momentum=0.9
        )

    def loss(self) -> Any:
        batch = torch.randint(192, (16,), generator=self.generator)
        return mse_loss(self.model(self.inputs[batch]), self.target[batch])

    def step(self) -> float:
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss.item()  # type: ignore[no-any-return]

    def held_out(self) -> float:
        with torch.no_grad():
            return mse_loss(self.model(self.inputs[192:]), self.target[192:]).item()

    @property
    def state(self) -> list[Any]:
        return [self.model, self.optimizer, self.generator]

    @property
    def rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]


def searched(script: Script, body: Body, *more: Any, **settings: Any) -> float:
    loop = adapt(
        steps=STEPS, state=[*script.state, *more], check="off", policy=recommended_lr(**settings)
    )
    for step in loop:
        body(script, step, int(step))
    return rate_search(loop).rate


def plain(script: Script, step: Any, number: int) -> float:
    loss = script.step()
    step.report(train_loss=loss)
    return loss


@pytest.mark.parametrize("times", STARTS)
def test_groups_keep_their_ratio_and_are_found_the_same_from_any_start(times: float) -> None:
    script, good = Script(times, groups=True), Script(groups=True)
    assert searched(script, plain) == searched(good, plain)
    slow, fast = script.rates
    assert slow == pytest.approx(fast / 10)
    for own, other in zip(script.model.parameters(), good.model.parameters(), strict=True):
        assert torch.allclose(own, other, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:lr. .*drives the learning rate")
@pytest.mark.parametrize("times", [1 / 17.8, 5.6])
def test_groups_under_a_scheduler_keep_their_ratio(times: float) -> None:
    rates = []
    for script in (Script(times, groups=True), Script(groups=True)):
        schedule = wsd_schedule(script.optimizer, STEPS)

        used: list[list[float]] = []

        def body(
            script: Script, step: Any, number: int, schedule: Any = schedule, used: Any = used
        ) -> float:
            used.append(schedule.get_last_lr())
            loss = plain(script, step, number)
            schedule.step()
            return loss

        rates.append(searched(script, body, schedule))
        assert all(slow == pytest.approx(fast / 10) for slow, fast in used)
        assert max(fast for _, fast in used[-STEPS:]) == pytest.approx(rates[-1])
    assert rates[0] == rates[1]


def test_a_rate_of_groups_that_is_written_elsewhere_is_not_in_force() -> None:
    script = Script(groups=True)
    rate = RateOfGroups(script.optimizer)
    rate.set(0.2)
    script.optimizer.param_groups[0]["lr"] = 0.2
    with raises(ValueNotInForce):
        rate.get()


def test_rates_of_groups_in_tensors() -> None:
    weights = [torch.ones(1, requires_grad=True) for _ in range(2)]
    groups: Any = [
        {"params": weights[:1], "lr": torch.tensor(0.01)},
        {"params": weights[1:], "lr": torch.tensor(0.1)},
    ]
    rate = RateOfGroups(torch.optim.Adam(groups, foreach=False, capturable=False))
    rate.set(0.3)
    assert rate.get() == pytest.approx(0.3)


@pytest.mark.parametrize("times", [1 / 30, 17.8])
@pytest.mark.parametrize("way", ["accumulated", "clipped", "scaled"])
def test_the_same_rate_with_accumulation_clipping_and_a_scaler(way: str, times: float) -> None:
    def body(script: Script, step: Any, number: int) -> float:
        script.optimizer.zero_grad()
        if way == "accumulated":
            losses = [script.loss() / 2 for _ in range(2)]
            for loss in losses:
                loss.backward()
            mean = float(sum(loss.item() for loss in losses))
        elif way == "clipped":
            loss = script.loss()
            loss.backward()
            nn.utils.clip_grad_norm_(script.model.parameters(), 1.0)
            mean = loss.item()
        else:
            with torch.autocast("cpu", torch.bfloat16):
                loss = script.loss()
            scaler.scale(loss).backward()
            scaler.step(script.optimizer)
            scaler.update()
            step.report(train_loss=loss.item())
            return loss.item()  # type: ignore[no-any-return]
        script.optimizer.step()
        step.report(train_loss=mean)
        return mean

    found = []
    for script in (Script(times), Script()):
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)  # type: ignore[attr-defined]
        found.append(searched(script, body, *([scaler] if way == "scaled" else [])))
    assert found[0] == found[1]
    assert 0.001 < found[0] < 0.5


def test_validation_every_k_steps_has_its_say_where_a_try_ends() -> None:
    judged = []

    def body(script: Script, step: Any, number: int) -> float:
        loss = script.step()
        metrics = {"train_loss": loss}
        if (number + 1) % 100 == 0 or step.ends_try:
            metrics["val_loss"] = script.held_out()
        if step.ends_try:
            judged.append(metrics["val_loss"])
        step.report(metrics)
        return loss

    script = Script(1 / 5.6)
    loop = adapt(steps=STEPS, state=script.state, check="off", policy=recommended_lr())
    for step in loop:
        body(script, step, int(step))
    tries = loop.history[0].tries
    assert len(judged) == len(tries)
    assert all(try_.score <= -value for try_, value in zip(tries, judged, strict=True))


def test_a_metric_to_maximise() -> None:
    def body(script: Script, step: Any, number: int) -> float:
        loss = script.step()
        step.report(reward=-loss)
        return loss

    rates = [searched(Script(times), body, maximize="reward") for times in STARTS]
    assert len(set(rates)) == 1
    assert rates[0] == searched(Script(), plain)


def test_fine_tuning_finds_a_lower_rate_than_training_from_scratch() -> None:
    script = Script()
    for _ in range(2000):
        script.optimizer.param_groups[0]["lr"] = 0.05 * (1 - _ / 2000)
        script.step()
    script.optimizer = torch.optim.SGD(script.model.parameters(), lr=0.05, momentum=0.9)
    before = script.held_out()
    tuned = searched(script, plain)
    assert tuned <= searched(Script(), plain)
    assert script.held_out() < 1.1 * before


def test_a_dry_run_is_the_plain_loop_under_the_schedule_of_the_preset() -> None:
    dry, bare = Script(), Script()
    loop = adapt(steps=STEPS, state=dry.state, dry_run=True, policy=recommended_lr())
    for step in loop:
        plain(dry, step, int(step))
    for number in range(STEPS):
        bare.optimizer.param_groups[0]["lr"] = 0.05 * wsd((number + 0.5) / STEPS)
        bare.step()
    for own, other in zip(dry.model.parameters(), bare.model.parameters(), strict=True):
        assert torch.equal(own, other)
    assert spent(loop).overhead > 0
