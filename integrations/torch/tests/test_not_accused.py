"""A loop whose state is whole is never accused, whatever else its code can reach."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

from dynhp import Counter, everything, lowest
from dynhp.errors import Hint
from dynhp.loops import Part, copied
from dynhp_torch import AveragedWeights, adapt, optimizer_param, schedule_scale
from tests.support.messages import warns

INPUTS = torch.linspace(-1, 1, 64).reshape(32, 2)
TARGETS = INPUTS.sum(1, keepdim=True).sin()
DATA = TensorDataset(INPUTS, TARGETS)
SETTINGS: dict[str, Any] = {"adapt_every": 2, "try_for": 1, "criterion": lowest("loss")}
RATES = [0.01, 0.1]


def model_with_noise() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1)
    )


def train(model: nn.Module, optimizer: Any, batches: Any) -> None:
    model.train()
    for inputs, targets in batches:
        optimizer.zero_grad()
        mse_loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def measure(model: nn.Module) -> float:
    model.eval()
    with torch.no_grad():
        return mse_loss(model(INPUTS).float(), TARGETS).item()


def rates(optimizer: Any) -> dict[str, Any]:
    bind = {"lr": optimizer_param(optimizer, "lr")}
    return {"space": {"lr": RATES}, "bind": bind, **SETTINGS}


def loader_with(workers: int) -> None:
    model = model_with_noise()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loader = DataLoader(
        DATA, batch_size=8, shuffle=True, num_workers=workers, generator=torch.Generator()
    )
    held_out = DataLoader(DATA, batch_size=16, num_workers=workers)
    for epoch in adapt(4, state=[model, optimizer, loader], **rates(optimizer)):
        train(model, optimizer, loader)
        epoch.report(loss=sum(mse_loss(model(x), y).item() for x, y in held_out))


def with_no_workers() -> None:
    loader_with(0)


def with_two_workers() -> None:
    loader_with(2)


def with_a_compiled_model() -> None:
    model = model_with_noise()
    fast: Any = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in adapt(4, state=[model, optimizer], **rates(optimizer)):
        train(fast, optimizer, [(INPUTS, TARGETS)] * 3)
        epoch.report(loss=measure(fast))


def with_a_compiled_model_in_the_state() -> None:
    model: Any = torch.compile(model_with_noise(), backend="eager")
    inner = model._orig_mod
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.1, momentum=0.9)
    for epoch in adapt(4, state=[model, optimizer], **rates(optimizer)):
        train(model, optimizer, [(INPUTS, TARGETS)] * 3)
        epoch.report(loss=measure(model))


def with_bfloat16_and_accumulation() -> None:
    model = model_with_noise()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", growth_interval=2)
    state = [model, optimizer, scaler]
    for epoch in adapt(4, state=state, **rates(optimizer)):
        model.train()
        for number in range(3):  # so that every other epoch ends between two steps
            with torch.autocast("cpu", torch.bfloat16):
                loss = mse_loss(model(INPUTS).float(), TARGETS) / 2
            scaler.scale(loss).backward()
            if (3 * int(epoch) + number) % 2:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        epoch.report(loss=measure(model))


class RunningMean(nn.Module):
    """A meter like those of torchmetrics: a module that is reset in each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.updates = 0

    def reset(self) -> None:
        self.total = torch.zeros(())
        self.updates = 0

    def update(self, value: Any) -> None:
        self.total += value.detach()
        self.updates += 1


def with_copies_that_each_epoch_makes_anew() -> None:
    model, meter, loss_of = model_with_noise(), RunningMean(), nn.MSELoss()
    teacher, copy_to_measure = model_with_noise().eval(), copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    meters = torch.zeros(2)
    for epoch in adapt(4, state=[model, optimizer], **rates(optimizer)):
        meter.reset()
        order = np.random.permutation(32)
        for batch in np.split(order, 4):
            optimizer.zero_grad()
            with torch.no_grad():
                hint = teacher(INPUTS[batch])
            loss = loss_of(model(INPUTS[batch]), hint + TARGETS[batch])
            loss.backward()
            meter.update(loss)
            optimizer.step()
        copy_to_measure.load_state_dict(model.state_dict())
        meters[0] = meter.total
        epoch.report(loss=measure(copy_to_measure), seconds=time.time())


def with_names_that_each_epoch_binds_anew() -> None:
    model = model_with_noise()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    helper, best = torch.optim.Adam(model.parameters()), copy.deepcopy(model)
    rng, shape_of, last = random.Random(0), model[0].weight, nn.Linear(2, 8)
    recent = [model.state_dict()]
    for epoch in adapt(6, state=[model, optimizer], check="every", **rates(optimizer)):
        helper = torch.optim.Adam(model.parameters())  # from nothing
        rng = random.Random(int(epoch))
        loader = DataLoader(DATA, batch_size=8, shuffle=True, generator=torch.Generator())
        model.train()
        for inputs, targets in loader:
            helper.zero_grad()
            optimizer.zero_grad()
            loss = mse_loss(model(inputs + 0.1 * rng.random()), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            helper.step()
            optimizer.step()
        best, shape_of = copy.deepcopy(model), copy.deepcopy(model[0].weight)
        last, recent = copy.deepcopy(model[0]), [best.state_dict(), dict(model.state_dict())]
        epoch.report(loss=measure(best))
    assert len(recent) == 2
    assert shape_of.shape == last.weight.shape


def with_all_kinds_of_parts() -> None:
    model, rng, noise = model_with_noise(), random.Random(0), np.random.default_rng(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=400)
    average, steps, seen = AveragedWeights(model, horizon=3), Counter(), {"batches": 0}
    buffer: list[float] = []
    memory = Part(get=lambda: dict(seen), set=lambda state: seen.update(state))
    state = [model, optimizer, scheduler, average, steps, rng, noise, memory, copied(buffer)]
    settings = {"space": {"scale": [0.3, 1.0]}, "bind": {"scale": schedule_scale(optimizer)}}
    for epoch in adapt(4, state=state, **settings, **SETTINGS):
        for _ in range(3):
            steps += 1
            seen["batches"] += 1
            buffer.append(rng.random())
            shift = buffer[-1] * noise.normal() / (steps + seen["batches"])
            train(model, optimizer, [(INPUTS + shift, TARGETS)])
            scheduler.step()
            average.update()
        epoch.report(loss=measure(model), **average.evaluate(lambda: {"loss": measure(model)}))


def with_the_best_copy_of_the_main_line() -> None:
    model, best, losses = model_with_noise(), model_with_noise(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in adapt(4, state=[model, optimizer], **rates(optimizer)):
        train(model, optimizer, [(INPUTS, TARGETS)])
        loss = measure(model)
        if epoch.main:
            losses.append(loss)
            best.load_state_dict(model.state_dict())
        epoch.report(loss=loss)


class Training:
    """A loop in a method, with its parts as attributes and an iterator around the loop."""

    def __init__(self) -> None:
        self.parts = {"model": model_with_noise()}
        self.optimizers = [torch.optim.Adam(self.parts["model"].parameters(), lr=0.1)]
        generator = torch.Generator()
        self.loader = DataLoader(DATA, batch_size=8, shuffle=True, generator=generator)

    def epochs(self, state: Any) -> Iterator[Any]:
        yield from adapt(4, state=state, **rates(self.optimizers[0]))

    def run(self) -> None:
        model = self.parts["model"]
        state = [model, *self.optimizers, self.loader]
        for epoch in self.epochs(state):
            train(model, self.optimizers[0], self.loader)
            epoch.report(loss=measure(model))


def in_a_method() -> None:
    Training().run()


def with_everything() -> None:
    model = model_with_noise()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    loader = DataLoader(DATA, batch_size=8, shuffle=True, generator=torch.Generator())
    with warns(Hint):
        state = everything(model, optimizer, loader)
    for epoch in adapt(4, state=state, **rates(optimizer)):
        train(model, optimizer, loader)
        epoch.report(loss=measure(model))


def with_the_state_by_itself() -> None:
    model = model_with_noise()
    fast = torch.compile(model, backend="eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
    rng, steps, loss_of = np.random.default_rng(0), Counter(), nn.MSELoss()
    with warns(Hint) as lines:
        loop = adapt(4, state="auto", space={"rate": RATES}, **SETTINGS)
    assert str(lines[0].message) == (
        "the state is: model (Sequential), optimizer (Adam), scheduler (LambdaLR), rng "
        "(Generator), steps (Counter)"
    )
    for epoch in loop:
        steps += 1
        loss = epoch["rate"] * loss_of(fast(INPUTS + rng.normal()), TARGETS) / steps
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        epoch.report(loss=measure(model))


class CountedAverage:
    """An average with a state of its own, as many people have one."""

    def __init__(self, model: nn.Module) -> None:
        self.module, self.updates = copy.deepcopy(model), 0

    def update(self, model: nn.Module) -> None:
        self.updates += 1
        for mine, its in zip(self.module.parameters(), model.parameters(), strict=True):
            mine.data.lerp_(its.data, 1 / self.updates)

    def state_dict(self) -> dict[str, Any]:
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["module"])
        self.updates = state["updates"]


def with_a_scheduler_and_an_average_that_lead_to_the_rest() -> None:
    model = model_with_noise()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATES[1])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    average = CountedAverage(model)
    with pytest.warns(Hint) as lines:
        state = everything(model, scheduler, average)
    assert str(lines[0].message) == (
        "the state is: model (Sequential), scheduler (StepLR), average (CountedAverage), "
        "scheduler.optimizer (SGD)"
    )
    for epoch in adapt(4, state=state, lr=RATES, **SETTINGS):
        train(model, optimizer, [(INPUTS, TARGETS)])
        average.update(model)
        scheduler.step()
        epoch.report(loss=measure(average.module))
    assert (average.updates, scheduler.last_epoch) == (4, 4)


class ShadowOfWeights:
    """The usual average of a model's weights, which knows the model itself."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.shadow = {name: each.detach().clone() for name, each in model.named_parameters()}

    def update(self) -> None:
        for name, each in self.model.named_parameters():
            self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * each.detach()


def with_a_copied_average_that_knows_the_model() -> None:
    ends = []
    for dry in (False, True):
        model = model_with_noise()
        optimizer = torch.optim.SGD(model.parameters(), lr=RATES[0])
        average = ShadowOfWeights(model)
        epochs: Any = range(4)
        if dry:
            state = [model, optimizer, copied(average)]
            epochs = adapt(4, state=state, dry_run=True, **rates(optimizer))
        for epoch in epochs:
            train(model, optimizer, [(INPUTS, TARGETS)])
            average.update()
            if dry:
                epoch.report(loss=measure(model))
        assert average.model is model
        ends.append((average.shadow, model.state_dict()))
    for one, other in zip(*ends, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)


LOOPS = [
    *(with_no_workers, with_two_workers, with_a_compiled_model, with_a_compiled_model_in_the_state),
    *(with_bfloat16_and_accumulation, with_copies_that_each_epoch_makes_anew),
    with_names_that_each_epoch_binds_anew,
    *(with_all_kinds_of_parts, with_the_best_copy_of_the_main_line, in_a_method, with_everything),
    *(with_the_state_by_itself, with_a_copied_average_that_knows_the_model),
    with_a_scheduler_and_an_average_that_lead_to_the_rest,
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_whole_state_is_not_accused(loop: Callable[[], None]) -> None:
    loop()


def that_only_collects() -> None:
    model, losses = model_with_noise(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in adapt(4, state=[model, optimizer], **rates(optimizer)):
        train(model, optimizer, [(INPUTS, TARGETS)])
        losses.append(measure(model))
        epoch.report(loss=losses[-1])


def test_what_only_grows_is_a_hint() -> None:
    with warns(Hint):
        that_only_collects()
