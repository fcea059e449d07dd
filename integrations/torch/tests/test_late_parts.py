"""What begins late in a torch loop is told by its name, and sound loops are not accused."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.optim.swa_utils import AveragedModel

from dynhp.errors import Hint
from dynhp_torch import adapt
from tests.support.messages import warns

START = 6
INPUTS = torch.linspace(-1, 1, 64).reshape(32, 2)
TARGETS = INPUTS.sum(1, keepdim=True).sin()


def made() -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def loop_of(*state: Any) -> Any:
    return adapt(15, state=list(state), lr=[0.003, 0.01, 0.03], minimize="loss", adapt_every=3,
                 try_for=1)  # fmt: skip


def step(model: nn.Module, optimizer: Any, inputs: Any = INPUTS) -> Any:
    optimizer.zero_grad()
    loss = mse_loss(model(inputs), TARGETS)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def an_average_of_the_model() -> None:
    model, optimizer = made()
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer)
        if epoch == START:
            ema = copy.deepcopy(model)
        elif epoch > START:
            with torch.no_grad():
                for mine, its in zip(ema.parameters(), model.parameters(), strict=True):
                    mine.lerp_(its, 0.1)
        epoch.report(loss=loss)


def averages_of_the_parameters() -> None:
    model, optimizer = made()
    averages: list[Any] = []
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer)
        if epoch >= START:
            now = [each.detach().clone() for each in model.parameters()]
            averages = [0.9 * a + 0.1 * n for a, n in zip(averages or now, now, strict=True)]
        epoch.report(loss=loss)


def averages_in_a_state_dict() -> None:
    model, optimizer = made()
    average = None
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer)
        if epoch >= START:
            if average is None:
                average = {name: each.clone() for name, each in model.state_dict().items()}
            for name, each in model.state_dict().items():
                average[name] += 0.1 * (each - average[name])
        epoch.report(loss=loss)


def an_averaged_model_of_torch() -> None:
    model, optimizer = made()
    swa = None
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer)
        if epoch >= START:
            if swa is None:
                swa = AveragedModel(model)
            swa.update_parameters(model)
        epoch.report(loss=loss)


def a_generator() -> None:
    model, optimizer = made()
    noise = None
    for epoch in loop_of(model, optimizer):
        if epoch >= START:
            noise = noise or torch.Generator().manual_seed(1)
            loss = step(model, optimizer, INPUTS + 0.1 * torch.randn(32, 2, generator=noise))
        else:
            loss = step(model, optimizer)
        epoch.report(loss=loss)


def another_optimiser() -> None:
    model, optimizer = made()
    for epoch in loop_of(model, optimizer):
        if epoch == START:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        epoch.report(loss=step(model, optimizer))


def a_schedule() -> None:
    model, optimizer = made()
    schedule = None
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer)
        if epoch == START + 1:
            schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0, 100)
        if schedule is not None:
            schedule.step()
        epoch.report(loss=loss)


LATE = [
    an_average_of_the_model,
    averages_of_the_parameters,
    averages_in_a_state_dict,
    an_averaged_model_of_torch,
    a_generator,
    another_optimiser,
    a_schedule,
]


@pytest.mark.parametrize("loop", LATE, ids=lambda loop: loop.__name__)
def test_what_begins_late_is_told_by_its_name(loop: Callable[[], None]) -> None:
    with warnings.catch_warnings(), warns(Hint) as caught:
        warnings.filterwarnings("ignore", "lr was best at its|.*short tries|Detected call")
        loop()
    assert len([each for each in caught if "began after" in str(each.message)]) == 1


def with_what_each_epoch_makes_anew() -> None:
    model, optimizer = made()
    for epoch in loop_of(model, optimizer):
        before = [each.detach().clone() for each in model.parameters()]
        loss = step(model, optimizer)
        if epoch >= START:
            held = copy.deepcopy(model).eval()
            moved = [a - b.detach() for a, b in zip(before, model.parameters(), strict=True)]
            norm = torch.stack([each.norm() for each in moved]).norm()
            with torch.no_grad():
                loss = mse_loss(held(INPUTS), TARGETS) + 0 * norm
        epoch.report(loss=loss)


def with_best_weights_of_the_main_line() -> None:
    model, optimizer = made()
    best, best_state = float("inf"), None
    for epoch in loop_of(model, optimizer):
        loss = step(model, optimizer).item()
        if epoch.main and epoch >= START and loss < best:
            best, best_state = loss, copy.deepcopy(model.state_dict())
        epoch.report(loss=loss)
    assert best_state is None or best > 0


@pytest.mark.parametrize(
    "loop",
    [with_what_each_epoch_makes_anew, with_best_weights_of_the_main_line],
    ids=lambda loop: loop.__name__,
)
def test_a_sound_loop_is_not_accused(loop: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "lr was best at its|.*short tries", Hint)
        loop()
