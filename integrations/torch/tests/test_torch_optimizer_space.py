"""Settings of an optimiser bind themselves; under a scheduler a rate becomes a scale."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from dynhp import Policy, lowest
from dynhp.errors import DynhpError, Hint, LoopError, SettingsError, ValueNotInForce
from dynhp.loops import Epoch, Loop
from dynhp.records import Candidate
from dynhp.triggers import Every
from dynhp_torch import adapt, attribute, schedule_scale
from tests.support.messages import raises, warns

LRS = [0.01, 0.1, 0.3]


def made(**settings: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    return model, torch.optim.SGD(model.parameters(), **{"lr": 0.1, "momentum": 0.9, **settings})


def run(loop: Loop, model: nn.Module, optimizer: Any, scheduler: Any = None) -> None:
    for epoch in loop:
        optimizer.zero_grad()
        loss = model(torch.randn(8, 3)).square().mean()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        epoch.report(loss=loss.detach())  # a tensor of one number is a number


def used_rates(optimizer: Any) -> list[float]:
    """The rates that the steps to come are made with."""
    used: list[float] = []
    optimizer.register_step_pre_hook(lambda opt, *_: used.append(opt.param_groups[0]["lr"]))
    return used


def test_settings_below_an_optimiser_bind_themselves() -> None:
    model, optimizer = made()
    loop = adapt(
        4,
        state=[model, optimizer],
        space={optimizer: {"lr": LRS, "weight_decay": [0.0, 0.1]}},
        minimize="loss",
        adapt_every=2,
        try_for=1,
    )
    assert loop.adapter.current == {"lr": 0.1, "weight_decay": 0.0}
    used = used_rates(optimizer)
    run(loop, model, optimizer)
    assert set(used) == set(LRS)
    chosen = loop.history[-1].candidate
    group = optimizer.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (chosen["lr"], chosen["weight_decay"])


def test_an_optimiser_and_names_in_one_space() -> None:
    model, optimizer = made()
    loop = adapt(
        2,
        state=[model, optimizer],
        space={optimizer: {"momentum": [0.5, 0.9]}, "p": [0.1, 0.5]},
        lr=LRS,
        bind={"p": attribute(model, "1.p")},
        minimize="loss",
        adapt_every=2,
        try_for=2,  # in its first step momentum does nothing
    )
    assert set(loop.adapter.policy.space) == {"momentum", "p", "lr"}
    run(loop, model, optimizer)


def policy_of(space: Any) -> Policy:
    return Policy(space=space, criterion=lowest("loss"), when=Every(2), try_for=1)


@pytest.mark.parametrize("name", ["lr", "learning_rate"])
@pytest.mark.parametrize("scheduled", [False, True])
def test_the_rate_of_a_policy_binds_itself_as_lr_does(name: str, scheduled: bool) -> None:
    weights, chosen, used = [], [], []
    for by_policy in (False, True):
        model, optimizer = made()
        scheduler = lr_scheduler.StepLR(optimizer, 3) if scheduled else None
        state = [model, optimizer, *([scheduler] if scheduled else [])]
        if by_policy:
            loop = adapt(6, state=state, policy=policy_of({name: LRS}))
        else:
            loop = adapt(6, state=state, lr=LRS, minimize="loss", adapt_every=2, try_for=1)
        used.append(used_rates(optimizer))
        run(loop, model, optimizer, scheduler)
        chosen.append([next(iter(round_.candidate.values())) for round_ in loop.history])
        weights.append(torch.cat([each.flatten() for each in model.parameters()]))
    assert torch.equal(*weights)
    assert chosen[0] == chosen[1]
    assert used[0] == used[1]


def test_a_rate_of_a_policy_that_is_bound_by_hand_stays_so() -> None:
    model, optimizer = made()
    scale = schedule_scale(optimizer)
    loop = adapt(
        2, state=[model, optimizer], policy=policy_of({"lr": [0.5, 1.0]}), bind={"lr": scale}
    )
    run(loop, model, optimizer)
    assert scale.get() == loop.adapter.current["lr"]
    assert optimizer.param_groups[0]["lr"] == 0.1


@pytest.mark.parametrize("optimizers", [0, 2])
def test_a_rate_of_a_policy_is_read_from_the_epoch_where_no_optimiser_is_the_one(
    optimizers: int,
) -> None:
    model, optimizer = made()
    others = [torch.optim.SGD(model.parameters(), lr=0.5) for _ in range(optimizers)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)  # the optimiser is in reach and not in the state
        loop = adapt(2, state=[model, *others], policy=policy_of({"lr": LRS}), check="off")
        for epoch in loop:
            optimizer.param_groups[0]["lr"] = epoch["lr"]
            epoch.report(loss=float(epoch["lr"]))
    assert loop.adapter.current == {"lr": 0.01}


def test_a_space_beside_a_policy_takes_the_place_of_its_own() -> None:
    model, optimizer = made()
    policy = policy_of({"lr": LRS})
    space = {optimizer: {"momentum": [0.5, 0.9]}}
    loop = adapt(2, state=[model, optimizer], policy=policy, space=space, seed=3)
    assert set(loop.adapter.policy.space) == {"momentum"}
    assert (loop.adapter.policy.when, loop.adapter.policy.seed) == (Every(2), 3)
    assert loop.adapter.current == {"momentum": 0.9}


SCHEDULERS: dict[str, tuple[Any, float]] = {
    "cosine": (lambda opt: lr_scheduler.CosineAnnealingLR(opt, T_max=9), 0.1),
    "warm-up": (lambda opt: lr_scheduler.LinearLR(opt, 0.1), 0.1),
    "plateau": (lambda opt: lr_scheduler.ReduceLROnPlateau(opt), 0.1),
    "one cycle": (lambda opt: lr_scheduler.OneCycleLR(opt, 0.3, total_steps=99), 0.3),
    "cyclic": (lambda opt: lr_scheduler.CyclicLR(opt, 0.01, 0.3), 0.3),
}


@pytest.mark.parametrize("way", SCHEDULERS)
def test_under_a_scheduler_rates_are_factors_on_its_schedule(way: str) -> None:
    make, base = SCHEDULERS[way]
    model, optimizer = made()
    scheduler = make(optimizer)
    own = optimizer.param_groups[0]["lr"]
    with warns(Hint):
        loop = adapt(
            2,
            state=[model, optimizer, scheduler],
            lr=[base / 10, base, base * 4],
            minimize="loss",
            adapt_every=2,
            try_for=1,
        )
    assert loop.adapter.current == {"lr": base}
    used = used_rates(optimizer)
    steps = None if way == "plateau" else scheduler
    run(loop, model, optimizer, steps)
    assert used[:3] == pytest.approx([own, own / 10, own * 4])
    assert loop.history[0].candidate["lr"] in (base / 10, base, base * 4)


def test_a_dry_run_under_a_scheduler_is_the_plain_loop_to_the_bit() -> None:
    ends = []
    for wrapped in (False, True):
        model, optimizer = made()
        scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.3, total_steps=99)
        if wrapped:
            with warns(Hint):
                loop: Any = adapt(
                    6,
                    state=[model, optimizer, scheduler],
                    lr=[0.1, 0.3, 0.9],
                    minimize="loss",
                    adapt_every=3,
                    try_for=2,
                    dry_run=True,
                )
        else:
            loop = [_Plain() for _ in range(6)]
        run(loop, model, optimizer, scheduler)
        ends.append([parameter.tolist() for parameter in model.parameters()])
    assert ends[0] == ends[1]


class _Plain:
    def report(self, **metrics: Any) -> None:
        pass


def test_a_scheduler_that_is_not_in_the_state_is_missed() -> None:
    model, optimizer = made()
    lr_scheduler.StepLR(optimizer, 3)
    with raises(SettingsError):
        adapt(2, state=[model, optimizer], lr=LRS, minimize="loss", adapt_every=2, try_for=1)


def two_groups() -> Any:
    parameters = [nn.Parameter(torch.ones(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.2}])
    return [*parameters, optimizer], optimizer


def test_groups_with_rates_of_their_own() -> None:
    state, optimizer = two_groups()
    with raises(ValueNotInForce):
        adapt(2, state=state, lr=LRS, minimize="loss", adapt_every=2, try_for=1)
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    with raises(SettingsError):
        adapt(2, state=[*state, scheduler], lr=LRS, minimize="loss", adapt_every=2, try_for=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"lr": LRS, "two": True},
        {"below": {"lrr": LRS}},
        {"below": LRS},
        {"below": {}},
        {"below": {"lr": LRS}, "lr": LRS},
        {"lr": ["fast", "slow"], "scheduled": True},
        {"lr": 0.1},
        {"space": 3, "lr": None},
    ],
)
def test_bad_input(arguments: dict[str, Any]) -> None:
    model, optimizer = made()
    state: list[Any] = [model, optimizer]
    given = dict(arguments)
    if given.pop("two", False):
        state += [made()[1]]
    if given.pop("scheduled", False):
        state += [lr_scheduler.StepLR(optimizer, 3)]
    if "below" in given:
        given["space"] = {optimizer: given.pop("below")}
    settings: dict[str, Any] = {"minimize": "loss", "adapt_every": 2, "try_for": 1, **given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)
        with raises(DynhpError):
            run(adapt(2, state=state, **settings), model, optimizer)


def test_a_value_that_nobody_uses_is_an_error() -> None:
    model, optimizer = made()
    loop = adapt(
        2, state=[model, optimizer], space={"lr": LRS}, minimize="loss", adapt_every=2, try_for=1
    )
    with raises(LoopError):
        run(loop, model, optimizer)


def test_hints_go_by_what_a_value_is_bound_to() -> None:
    model, optimizer = made()
    loop = adapt(
        2,
        state=[model, optimizer],
        space={"p": [0.1, 0.5], "scale": [0.5, 1.0]},
        bind={"p": attribute(model, "1.p"), "scale": schedule_scale(optimizer)},
        minimize="loss",
        adapt_every=2,
        try_for=1,
    )
    assert [hint.partition(";")[0] for hint in loop.adapter.hints] == [
        "p: without dropout the next epoch really is better, so short tries drive it to zero. "
        "Compare with a placebo, or use a shadow",
        "scale: short tries judged by ordinary weights choose too small a learning rate",
    ]


def test_an_epoch_can_be_saved_and_counted_with(tmp_path: Path) -> None:
    epoch = Epoch(Candidate({"lr": 0.1}), number=3, trying=False)
    torch.save({"epoch": epoch}, tmp_path / "saved")
    assert torch.load(tmp_path / "saved", weights_only=True) == {"epoch": 3}
    assert (torch.ones(2) * epoch).tolist() == [3.0, 3.0]
    assert torch.arange(5)[epoch] == 3
    assert torch.tensor(epoch).item() == 3
    assert torch.tensor([epoch, 1]).tolist() == [3, 1]
