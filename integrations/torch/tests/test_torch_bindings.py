"""The chosen value is in force, or the run stops and says why."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dynhp import lowest
from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.records import Value
from dynhp_torch import adapt, attribute, optimizer_param, schedule_scale
from tests.support.messages import raises


def optimizer_of(*names: str, **settings: Any) -> torch.optim.Optimizer:
    groups = [{"params": [nn.Parameter(torch.ones(2))], "name": name} for name in names]
    return torch.optim.Adam(groups, **{"lr": 0.1, **settings})


def step(optimizer: torch.optim.Optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones(2)
    optimizer.step()


def test_all_groups_or_some() -> None:
    optimizer = optimizer_of("body", "head", "tail")
    optimizer_param(optimizer, "lr").set(0.5)
    optimizer_param(optimizer, "lr", ["head"]).set(0.2)
    optimizer_param(optimizer, "lr", [2]).set(0.3)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.2, 0.3]
    optimizer_param(optimizer, "weight_decay", ["body", 2]).set(0.01)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.01, 0, 0.01]
    with raises(ValueNotInForce):
        optimizer_param(optimizer, "lr").get()


def test_values_inside_tuples() -> None:
    optimizer = optimizer_of("only")
    beta = optimizer_param(optimizer, "betas.1")
    beta.set(0.9)
    assert (optimizer.param_groups[0]["betas"], beta.get()) == ((0.9, 0.9), 0.9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensor_learning_rates_are_filled_in_place(dtype: torch.dtype) -> None:
    lr = torch.tensor(0.1, dtype=dtype)
    optimizer = optimizer_of("only", lr=lr)
    own = optimizer.param_groups[0]["lr"]
    binding = optimizer_param(optimizer, "lr")
    assert binding.get() == 0.1  # on the grid, so that a run can start from it
    binding.set(0.3)
    assert optimizer.param_groups[0]["lr"] is own
    assert (own.item(), binding.get()) == (pytest.approx(0.3), 0.3)


def test_groups_are_read_afresh_after_load_state_dict() -> None:
    optimizer = optimizer_of("only")
    binding, stale = optimizer_param(optimizer, "lr"), optimizer.param_groups[0]
    optimizer.load_state_dict(optimizer.state_dict())
    binding.set(0.4)
    assert (optimizer.param_groups[0]["lr"], stale["lr"]) == (0.4, 0.1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("lrr",),
        ("params",),
        ("betas",),
        ("betas.2",),
        ("lr.0",),
        ("lr", ["heed"]),
        ("lr", [5]),
        ("lr", "head"),
        ("lr", []),
    ],
)
def test_bad_input(arguments: Any) -> None:
    with raises(SettingsError):
        optimizer_param(optimizer_of("body", "head"), *arguments)


def test_an_optimiser_is_needed() -> None:
    with raises(SettingsError):
        optimizer_param(3, "lr")  # type: ignore[arg-type]


def run(bind: Any, body: Any, optimizer: torch.optim.Optimizer, *state: Any) -> None:
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    loop = adapt(
        6,
        state=[*parameters, optimizer, *state],
        space={"lr": [0.1, 0.2, 0.4]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=1,
        bind={"lr": bind},
    )
    for epoch in loop:
        body()
        epoch.report(loss=sum(each.sum().item() for each in parameters))


def test_a_scheduler_that_overwrites_the_value_is_caught() -> None:
    optimizer = optimizer_of("only")
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def body() -> None:
        step(optimizer)
        scheduler.step()

    with raises(ValueNotInForce):
        run(optimizer_param(optimizer, "lr"), body, optimizer, scheduler)
    assert optimizer.param_groups[0]["lr"] == 0.1  # back at the origin


def test_a_restore_that_undoes_the_value_is_caught() -> None:
    optimizer = optimizer_of("only")
    checkpoint = optimizer.state_dict()

    def body() -> None:
        optimizer.load_state_dict(checkpoint)
        step(optimizer)

    with raises(ValueNotInForce):
        run(optimizer_param(optimizer, "lr"), body, optimizer)


class Detached:
    """Sets into groups that it looked up once."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.groups = optimizer.param_groups

    def set(self, value: Value) -> None:
        for group in self.groups:
            group["lr"] = value

    def get(self) -> Value:
        return self.optimizer.param_groups[0]["lr"]  # type: ignore[no-any-return]


def test_detached_groups_are_caught() -> None:
    optimizer = optimizer_of("only")
    bind = Detached(optimizer)
    optimizer.load_state_dict(optimizer.state_dict())  # as when a checkpoint is loaded
    with raises(ValueNotInForce):
        run(bind, lambda: step(optimizer), optimizer)


def test_our_own_restores_detach_nobody() -> None:
    optimizer = optimizer_of("only")
    run(Detached(optimizer), lambda: step(optimizer), optimizer)


def test_groups_that_differ_are_refused_before_the_run() -> None:
    optimizer = optimizer_of("body", "head")
    optimizer.param_groups[0]["lr"] = 0.01
    with raises(ValueNotInForce):
        run(optimizer_param(optimizer, "lr"), lambda: step(optimizer), optimizer)


def test_dropout_by_attribute() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    binding = attribute(model, "1.p")
    binding.set(0.25)
    dropout: Any = model[1]
    assert dropout.p == 0.25


SCHEDULERS: dict[str, Any] = {
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=7),
    "steps": lambda o: torch.optim.lr_scheduler.StepLR(o, 2),
    "cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.5, total_steps=20),
}


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_scheduler_never_sees_the_scale(name: str, tensor: bool) -> None:
    def rates(factor: float | None) -> tuple[list[float], list[float]]:
        optimizer = optimizer_of("a", "b", lr=torch.tensor(0.1) if tensor else 0.1)
        scheduler = SCHEDULERS[name](optimizer)
        if factor is not None:
            schedule_scale(optimizer, groups=["b"]).set(factor)
        during: list[float] = []
        optimizer.register_step_pre_hook(
            lambda o, *_: during.append(float(o.param_groups[1]["lr"]))
        )
        seen = []
        for _ in range(9):
            step(optimizer)
            scheduler.step()
            seen.append(float(optimizer.param_groups[1]["lr"]))
        return seen, during

    plain, plain_during = rates(None)
    scaled, during = rates(3.0)
    assert scaled == plain
    assert during == pytest.approx([3.0 * rate for rate in plain_during])
    assert rates(1.0) == (plain, plain_during)


@pytest.mark.parametrize("tensor", [False, True])
def test_a_step_that_raises_leaves_no_scale_behind(tensor: bool) -> None:
    optimizer = optimizer_of("only", lr=torch.tensor(0.1) if tensor else 0.1)
    scale = schedule_scale(optimizer)
    scale.set(3.0)

    def closure() -> float:
        raise ArithmeticError

    for _ in range(2):
        with pytest.raises(ArithmeticError):
            optimizer.step(closure)
    assert float(optimizer.param_groups[0]["lr"]) == pytest.approx(0.3)
    step(optimizer)
    assert float(optimizer.param_groups[0]["lr"]) == pytest.approx(0.1)
    with pytest.raises(ArithmeticError):
        optimizer.step(closure)
    optimizer.param_groups[0]["lr"] = 0.7  # as a restore would
    step(optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.7


def test_a_scale_that_was_taken_off_tells_the_truth() -> None:
    optimizer = optimizer_of("only")
    scale = schedule_scale(optimizer)
    scale.set(3.0)
    assert (scale.get(), repr(scale)) == (3.0, "ScheduleScale('lr', 3.0)")
    scale.remove()
    with raises(ValueNotInForce):
        scale.get()


@pytest.mark.parametrize(
    "key",
    ["betas.0", "rl"],
)
def test_a_scale_needs_one_number(key: str) -> None:
    with raises(SettingsError):
        schedule_scale(optimizer_of("only"), key)


@pytest.mark.parametrize("value", ["a", None, True])
def test_a_scale_is_a_number(value: Any) -> None:
    with raises(SettingsError):
        schedule_scale(optimizer_of("only")).set(value)


def test_a_second_scale_takes_the_place_of_the_first_and_goes_on_from_it() -> None:
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    first = schedule_scale(optimizer)
    first.set(10.0)
    second = schedule_scale(optimizer)
    assert second.get() == 10.0
    for _ in range(3):
        weight.grad = torch.ones(1)
        optimizer.step()
    assert optimizer.param_groups[0]["lr"] == 0.1  # two at once let the rate grow with every step
    assert weight.item() == pytest.approx(1 - 3 * 10 * 0.1)
    with raises(ValueNotInForce):
        first.get()
