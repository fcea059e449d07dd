"""A state with something missing is refused, and torch's objects belong to dynhp_torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dynhp
from dynhp import lowest
from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp_torch import adapt, optimizer_param, schedule_scale


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
    with pytest.raises(SettingsError, match="2 of 4 parameters of SGD are in no module"):
        loop(model, optimizer)
    with pytest.raises(SettingsError, match="the optimiser of StepLR is missing"):
        loop(model, other, scheduler)
    with pytest.raises(SettingsError, match="state must be a list"):
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
        with pytest.raises(SettingsError, match="'lr' is bound to SGD, which is missing"):
            adapt(4, state=[model], space={"lr": [0.1, 1.0]}, bind={"lr": binding}, **settings)


def test_the_core_sends_torch_objects_here() -> None:
    with pytest.raises(SettingsError, match=r"Linear is a torch object.*use adapt of dynhp_torch"):
        dynhp.adapt(
            4,
            state=[nn.Linear(2, 1)],
            space={"lr": [0.1, 1.0]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
