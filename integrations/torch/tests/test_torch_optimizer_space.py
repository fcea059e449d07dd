"""Settings of an optimiser bind themselves; under a scheduler a rate becomes a scale."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from dynhp.errors import DynhpError, Hint, LoopError, SettingsError, ValueNotInForce
from dynhp.loops import Epoch, Loop
from dynhp.records import Candidate
from dynhp_torch import adapt, attribute, schedule_scale

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
    assert set(loop.adapter.space) == {"momentum", "p", "lr"}
    run(loop, model, optimizer)


SCHEDULERS: dict[str, tuple[Any, float, str]] = {
    "cosine": (lambda opt: lr_scheduler.CosineAnnealingLR(opt, T_max=9), 0.1, "initial"),
    "warm-up": (lambda opt: lr_scheduler.LinearLR(opt, 0.1), 0.1, "initial"),
    "plateau": (lambda opt: lr_scheduler.ReduceLROnPlateau(opt), 0.1, "initial"),
    "one cycle": (lambda opt: lr_scheduler.OneCycleLR(opt, 0.3, total_steps=99), 0.3, "peak"),
    "cyclic": (lambda opt: lr_scheduler.CyclicLR(opt, 0.01, 0.3), 0.3, "peak"),
}


@pytest.mark.parametrize("way", SCHEDULERS)
def test_under_a_scheduler_rates_are_factors_on_its_schedule(way: str) -> None:
    make, base, word = SCHEDULERS[way]
    model, optimizer = made()
    scheduler = make(optimizer)
    own = optimizer.param_groups[0]["lr"]
    with pytest.warns(
        Hint, match=f"{type(scheduler).__name__} drives .*its {word} rate, and {base}"
    ):
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
            with pytest.warns(Hint, match="OneCycleLR drives"):
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
    with pytest.raises(SettingsError, match="a scheduler was made for SGD, but none is in the st"):
        adapt(2, state=[model, optimizer], lr=LRS, minimize="loss", adapt_every=2, try_for=1)


def two_groups() -> Any:
    parameters = [nn.Parameter(torch.ones(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.2}])
    return [*parameters, optimizer], optimizer


def test_groups_with_rates_of_their_own() -> None:
    state, optimizer = two_groups()
    with pytest.raises(ValueNotInForce, match="differs between the groups"):
        adapt(2, state=state, lr=LRS, minimize="loss", adapt_every=2, try_for=1)
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    with pytest.raises(SettingsError, match=r"rates 0.001, 0.2, so no rate.*schedule_scale"):
        adapt(2, state=[*state, scheduler], lr=LRS, minimize="loss", adapt_every=2, try_for=1)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({}, r"what is adapted must be said: lr=\[0.01, 0.1\]"),
        (
            {"lr": LRS, "two": True},
            "lr= needs one optimiser in the state, got 2 among .*; say which",
        ),
        ({"below": {"lrr": LRS}}, "no setting 'lrr'; did you mean 'lr'"),
        ({"below": LRS}, r"below SGD stand its settings.*got \[0.01"),
        ({"below": {}}, "below SGD stand its settings"),
        ({"below": {"lr": LRS}, "lr": LRS}, r"two hyperparameters are called 'lr'.*bind="),
        (
            {"lr": ["fast", "slow"], "scheduled": True},
            "a learning rate must be a number, got 'fast'",
        ),
        ({"lr": 0.1}, "an axis must be"),
        ({"space": 3, "lr": None}, "a space is a mapping"),
    ],
)
def test_bad_input(arguments: dict[str, Any], pattern: str) -> None:
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
        with pytest.raises(DynhpError, match=pattern):
            run(adapt(2, state=state, **settings), model, optimizer)


def test_a_value_that_nobody_uses_is_an_error() -> None:
    model, optimizer = made()
    loop = adapt(
        2, state=[model, optimizer], space={"lr": LRS}, minimize="loss", adapt_every=2, try_for=1
    )
    with pytest.raises(LoopError, match="'lr' was neither bound nor read"):
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
    with pytest.raises(TypeError, match=r"write int\(epoch\)"):
        torch.tensor(epoch)
