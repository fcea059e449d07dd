"""What is forgotten in a torch loop's state ends the run in its first round, by its name."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import NotRepeatable
from dynhp_torch import adapt, torch_trainer
from tests.support.messages import raises

INPUTS = torch.linspace(-1, 1, 64).reshape(32, 2)
TARGETS = INPUTS.sum(1, keepdim=True).sin()
SETTINGS: dict[str, Any] = {"adapt_every": 3, "try_for": 2, "criterion": lowest("loss")}
SPACE = {"rate": [0.01, 0.1, 0.3]}


def small_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))


def step(model: nn.Module, optimizer: Any, rate: float, inputs: Any = INPUTS) -> Any:
    """One step with a rate that is set by hand, as a value that is bound to nothing."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss = mse_loss(model(inputs), TARGETS[: len(inputs)])
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss


def measure(model: nn.Module) -> float:
    with torch.no_grad():
        return mse_loss(model(INPUTS), TARGETS).item()


def without_the_optimiser() -> None:
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in adapt(9, state=[model], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        epoch.report(loss=measure(model))


def without_the_scheduler() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)  # nothing to see for long
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        loss = epoch["rate"] * mse_loss(model(INPUTS), TARGETS)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
        epoch.report(loss=measure(model))


def without_the_loader() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    data = TensorDataset(INPUTS, TARGETS)
    loader = DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator())
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        for inputs, _ in loader:
            step(model, optimizer, epoch["rate"], inputs)
        epoch.report(loss=measure(model))


def without_a_generator(generator: Any, draw: Callable[[], float]) -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"], INPUTS + draw())
        epoch.report(loss=measure(model))


def without_numpys_generator() -> None:
    rng = np.random.default_rng(0)
    without_a_generator(rng, rng.normal)


def without_pythons_generator() -> None:
    rng = random.Random(0)
    without_a_generator(rng, rng.random)


def without_the_averaged_copy() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ema = copy.deepcopy(model)
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        for mean, own in zip(ema.parameters(), model.parameters(), strict=True):
            mean.data.lerp_(own.data, 0.1)  # as many loops do it, unseen by torch
        epoch.report(loss=measure(model))


class AveragedByHand:
    """Averaged weights as many scripts keep them."""

    def __init__(self, model: nn.Module) -> None:
        self.weights = {name: each.clone() for name, each in model.state_dict().items()}

    def update(self, model: nn.Module) -> None:
        for name, each in model.state_dict().items():
            self.weights[name] = 0.9 * self.weights[name] + 0.1 * each


def averaged_by_hand(model: nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ema = AveragedByHand(model)
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        ema.update(model)
        epoch.report(loss=measure(model))


def without_the_averaged_tensors() -> None:
    averaged_by_hand(small_model())


def without_many_averaged_tensors() -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(2, 2) for _ in range(40)]
    for layer in layers:  # each lets gradients through whole, so that all weights change
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    averaged_by_hand(nn.Sequential(*layers, nn.Linear(2, 1)))


def without_the_averages_of_parameters() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ema = {each: each.detach().clone() for each in model.parameters()}
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        for own, mean in ema.items():
            mean.lerp_(own.detach(), 0.1)
        epoch.report(loss=measure(model))


def without_the_schedulers_of(key: Callable[[Any], Any]) -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedulers = {key(optimizer): torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)}
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        loss = epoch["rate"] * mse_loss(model(INPUTS), TARGETS)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedulers[key(optimizer)].step()
        epoch.report(loss=measure(model))


def without_the_scheduler_under_a_number() -> None:
    without_the_schedulers_of(lambda optimizer: 0)


def without_the_scheduler_under_its_optimiser() -> None:
    without_the_schedulers_of(lambda optimizer: optimizer)


def without_the_scheduler_in_a_hook() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def attach() -> None:
        hidden = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
        optimizer.register_step_post_hook(lambda *_: hidden.step())

    attach()
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        loss = epoch["rate"] * mse_loss(model(INPUTS), TARGETS)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        epoch.report(loss=measure(model))


def without_the_counter() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    steps = 0
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        steps += 1  # noqa: SIM113  (that is another case)
        step(model, optimizer, epoch["rate"] * min(1.0, steps / 100))  # a warm-up
        epoch.report(loss=measure(model))


def without_the_number_of_the_pass() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loop = adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS)
    for number, epoch in enumerate(loop):  # it counts tries too
        step(model, optimizer, epoch["rate"] * min(1.0, (number + 1) / 100))
        epoch.report(loss=measure(model))


def without_the_scaler() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", growth_interval=2)
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        optimizer.zero_grad()
        loss = epoch["rate"] * mse_loss(model(INPUTS), TARGETS)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        epoch.report(loss=measure(model))


def without_the_iterator() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = iter(DataLoader(TensorDataset(INPUTS, TARGETS), batch_size=1, shuffle=True))
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        inputs, _ = next(batches)
        step(model, optimizer, epoch["rate"], inputs)
        epoch.report(loss=measure(model))


def without_the_iterator_that_comes_to_its_end() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loader = DataLoader(TensorDataset(INPUTS, TARGETS), batch_size=16, shuffle=True)
    batches = iter(loader)
    settings = {**SETTINGS, "adapt_every": 6, "try_for": 3}
    for epoch in adapt(steps=12, state=[model, optimizer, loader], space=SPACE, **settings):
        try:
            inputs, _ = next(batches)
        except StopIteration:
            batches = iter(loader)
            inputs, _ = next(batches)
        step(model, optimizer, epoch["rate"], inputs)
        epoch.report(loss=measure(model))


def with_a_tensor_whose_name_moves_on() -> None:
    model, weights = small_model(), torch.ones(32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for epoch in adapt(9, state=[model, optimizer, weights], space=SPACE, **SETTINGS):
        loss = step(model, optimizer, epoch["rate"], INPUTS * weights)
        weights = 0.9 * weights + 0.1 * loss.detach()
        epoch.report(loss=measure(model))


def blended(mean: nn.Module, own: nn.Module) -> nn.Module:
    made = copy.deepcopy(own)
    for new, old in zip(made.parameters(), mean.parameters(), strict=True):
        new.data.lerp_(old.data, 0.9)
    return made


def with_a_copy_whose_name_moves_on(listed: bool) -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ema: nn.Module = copy.deepcopy(model)
    state = [model, optimizer, ema] if listed else [model, optimizer]
    for epoch in adapt(9, state=state, space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        ema = blended(ema, model)
        epoch.report(loss=measure(model))


def with_a_listed_copy_whose_name_moves_on() -> None:
    with_a_copy_whose_name_moves_on(True)


def without_the_copy_whose_name_moves_on() -> None:
    with_a_copy_whose_name_moves_on(False)


class Warming(nn.Module):
    """A module that counts its own steps in a plain attribute, and uses the count."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.step_count = small_model(), 0

    def forward(self, inputs: Any) -> Any:
        if self.training and torch.is_grad_enabled():
            self.step_count += 1
        return self.inner(inputs) * min(1.0, self.step_count / 50)


def without_the_attribute() -> None:
    model = Warming()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"])
        epoch.report(loss=measure(model))


class DriftingEnvironment:
    """An environment: it goes on from where it is."""

    def __init__(self) -> None:
        self.place = 0.0

    def reset(self) -> float:
        self.place = 0.0
        return self.place

    def step(self, action: float) -> float:
        self.place = 0.9 * self.place + action
        return self.place


def without_the_environment() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    env = DriftingEnvironment()
    for epoch in adapt(9, state=[model, optimizer], space=SPACE, **SETTINGS):
        step(model, optimizer, epoch["rate"], INPUTS + env.step(0.1))
        epoch.report(loss=measure(model))


def without_the_optimiser_made_later() -> None:
    model = small_model()
    optimizer: Any = None
    for epoch in adapt(9, state=[model], space=SPACE, **SETTINGS):
        if optimizer is None:
            optimizer = torch.optim.Adam(model.parameters())
        step(model, optimizer, epoch["rate"])
        epoch.report(loss=measure(model))


FORGOTTEN = [
    without_the_optimiser,
    without_the_scheduler,
    without_the_loader,
    without_numpys_generator,
    without_pythons_generator,
    without_the_averaged_copy,
    without_the_averaged_tensors,
    without_many_averaged_tensors,
    without_the_averages_of_parameters,
    without_the_scheduler_under_a_number,
    without_the_scheduler_under_its_optimiser,
    without_the_scheduler_in_a_hook,
    without_the_counter,
    without_the_number_of_the_pass,
    without_the_scaler,
    without_the_iterator,
    without_the_iterator_that_comes_to_its_end,
    with_a_tensor_whose_name_moves_on,
    with_a_listed_copy_whose_name_moves_on,
    without_the_copy_whose_name_moves_on,
    without_the_attribute,
    without_the_environment,
    without_the_optimiser_made_later,
]


@pytest.mark.parametrize("loop", FORGOTTEN, ids=lambda loop: loop.__name__)
def test_what_is_forgotten_is_named_in_the_first_round(loop: Callable[[], None]) -> None:
    with raises(NotRepeatable):
        loop()


def test_what_the_functions_of_a_trainer_use_is_in_reach() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)

    def train_epoch(candidate: Any) -> None:
        step(model, optimizer, candidate["rate"])
        scheduler.step()

    trainer = torch_trainer(
        train_epoch=train_epoch,
        evaluate=lambda: {"loss": measure(model)},
        state=[model, optimizer],
        reads=["rate"],
    )
    adapter = DynamicGridAdapter(trainer, SPACE, **SETTINGS)
    with raises(NotRepeatable):
        adapter.run(9)
