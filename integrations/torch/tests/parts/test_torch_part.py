"""A state with something missing is refused, and torch's objects belong to dynhp_torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import dynhp
from dynhp import lowest
from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp_torch import adapt, optimizer_param, schedule_scale
from tests.support.messages import raises


def loop(*state: Any) -> Any:
    return adapt(
        2,
        state=list(state),
        space={"lr": [1.0]},
        criterion=lowest("loss"),
        adapt_every=1,
        try_for=1,
    )


def test_a_state_with_something_missing_is_refused() -> None:
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with raises(SettingsError):
        loop(model, optimizer)
    with raises(SettingsError):
        loop(model, other, scheduler)
    with raises(SettingsError):
        adapt(
            2,
            state={"model": model},
            space={"lr": [1.0]},
            criterion=lowest("loss"),  # type: ignore[arg-type]
            adapt_every=1,
            try_for=1,
        )
    loop(model, other, optimizer, scheduler)
    loop(model, *other.parameters(), optimizer)
    loop(optimizer, Part(get=lambda: None, set=lambda state: None))  # it may hold the module


def test_a_bound_optimiser_must_be_in_the_state() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    for binding in (optimizer_param(optimizer, "lr"), schedule_scale(optimizer)):
        with raises(SettingsError):
            adapt(4, state=[model], space={"lr": [0.1, 1.0]}, bind={"lr": binding}, **settings)


def test_the_core_sends_torch_objects_here() -> None:
    with raises(SettingsError):
        dynhp.adapt(
            4,
            state=[nn.Linear(2, 1)],
            space={"lr": [0.1, 1.0]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
