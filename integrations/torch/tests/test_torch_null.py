"""A try leaves no trace: final weights are bit-identical to the plain loop."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from dynhp import highest, lowest
from dynhp_torch import AveragedWeights, adapt, attribute, optimizer_param, schedule_scale

EPOCHS = 7


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, lr=torch.tensor(0.01), amsgrad=True)


def adamw(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, lr=0.01)


def cosine(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)


def steps(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


@dataclass(kw_only=True)
class LoopCase:
    """A way to train; everything random, stateful and awkward that a real loop has."""

    optimizer: Callable[[Any], Any] = sgd
    scheduler: Callable[[Any], Any] | None = cosine
    own_generator: bool = False
    scaler: bool = False
    numpy_noise: bool = False
    accumulate: bool = False

    def build(self) -> OrdinaryLoop:
        return OrdinaryLoop(self)


class OrdinaryLoop:
    """Model, data and one epoch of an ordinary loop."""

    def __init__(self, case: LoopCase) -> None:
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        self.case = case
        inputs = torch.randn(48, 4)
        labels = (inputs[:, 0] * inputs[:, 1] > 0).long()
        self.model = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2)
        )
        generator = torch.Generator().manual_seed(5) if case.own_generator else None
        self.loader = DataLoader(
            TensorDataset(inputs, labels), batch_size=16, shuffle=True, generator=generator
        )
        self.optimizer = case.optimizer(self.model.parameters())
        self.scheduler = case.scheduler(self.optimizer) if case.scheduler else None
        self.scaler = torch.amp.GradScaler("cpu", enabled=case.scaler, growth_interval=2)
        self.average = AveragedWeights(self.model, horizon=3)
        self.held_out = torch.randn(32, 4), torch.randint(2, (32,))

    @property
    def state(self) -> list[Any]:
        things = [self.model, self.optimizer, self.scheduler, self.scaler, self.average]
        return [thing for thing in (*things, self.loader) if thing is not None]

    def train_epoch(self) -> None:
        self.model.train()
        for inputs, labels in self.loader:
            if self.case.numpy_noise:
                inputs = inputs + np.random.normal() * random.random()
            if not self.case.accumulate:
                self.optimizer.zero_grad()
            loss: Any = cross_entropy(self.model(inputs), labels)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.average.update()
        if self.scheduler is not None:
            self.scheduler.step()

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        self.model.eval()
        return {"loss": cross_entropy(self.model(self.held_out[0]), self.held_out[1]).item()}

    def seen(self) -> str:
        """Everything, to the last bit, and what the global generators say next."""
        states = [thing.state_dict() for thing in self.state if hasattr(thing, "state_dict")]
        states.append(self.average.average.state_dict())
        return repr((plain(states), torch.rand(3).tolist(), np.random.rand(), random.random()))


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


CASES = {
    "plain": LoopCase(),
    "own generator": LoopCase(own_generator=True),
    "adam, tensor lr": LoopCase(optimizer=adam, scheduler=None),
    "adam, cosine": LoopCase(optimizer=adam),
    "adamw, steps": LoopCase(optimizer=adamw, scheduler=steps),
    "scaler": LoopCase(scaler=True),
    "numpy and random": LoopCase(numpy_noise=True, own_generator=True),
    "gradients kept": LoopCase(accumulate=True, scheduler=None),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "by ties"])
@pytest.mark.parametrize("try_for", [1, 3])
def test_bit_identical_to_the_plain_loop(case: LoopCase, dry_run: bool, try_for: int) -> None:
    training = case.build()
    for _ in range(EPOCHS):
        training.train_epoch()
        training.measure()
    wanted = training.seen()

    training = case.build()
    loop = adapt(
        EPOCHS,
        state=training.state,
        space={"scale": [1.0, 0.1, 10.0]},
        initial={"scale": 1.0},
        criterion=highest("nothing"),  # ties: the value in force wins
        adapt_every=3,
        try_for=try_for,
        bind={"scale": schedule_scale(training.optimizer)},
        dry_run=dry_run,
    )
    for epoch in loop:
        training.train_epoch()
        epoch.report(nothing=0.0, **training.measure())
    assert {round_.candidate["scale"] for round_ in loop.history} == {1.0}
    assert training.seen() == wanted


def test_bit_identical_with_values_bound_to_the_optimiser_and_the_model() -> None:
    case = LoopCase(scheduler=None)
    training = case.build()
    for _ in range(EPOCHS):
        training.train_epoch()
    wanted = training.seen()
    training = case.build()
    loop = adapt(
        EPOCHS,
        state=training.state,
        space={"lr": [0.01, 0.1, 1.0], "p": [0.0, 0.3, 0.6]},
        criterion=highest("nothing"),
        adapt_every=3,
        try_for=1,
        bind={
            "lr": optimizer_param(training.optimizer, "lr"),
            "p": attribute(training.model, "3.p"),
        },
    )
    for epoch in loop:
        training.train_epoch()
        epoch.report(nothing=0.0)
    assert training.seen() == wanted


@dataclass
class Snapshot:
    """Copies by the book: state_dict, deepcopy, load_state_dict."""

    training: OrdinaryLoop
    saved: Any = field(init=False)

    def __post_init__(self) -> None:
        things = [thing.state_dict() for thing in self.training.state[:4]]
        things.append(self.training.average.average.state_dict())
        self.saved = copy.deepcopy(things)
        self.random = torch.get_rng_state(), np.random.get_state(), random.getstate()

    def restore(self) -> None:
        saved = copy.deepcopy(self.saved)
        for thing, state in zip(self.training.state[:4], saved, strict=False):
            thing.load_state_dict(state)
        self.training.average.average.load_state_dict(saved[4])
        torch.set_rng_state(self.random[0])
        np.random.set_state(self.random[1])
        random.setstate(self.random[2])


@pytest.mark.parametrize("name", ["plain", "adam, cosine", "scaler"])
def test_several_candidates_against_a_reference_by_hand(name: str) -> None:
    case, values = CASES[name], [1.0, 0.1, 3.0]
    training = case.build()
    scale = schedule_scale(training.optimizer)
    chosen: list[float] = []
    current = 1.0
    for _ in range(3):  # rounds of 3 epochs, 2 of them tries
        origin, best = Snapshot(training), None
        for value in [current, *(other for other in values if other != current)]:
            origin.restore()
            scale.set(value)
            for _ in range(2):
                training.train_epoch()
                loss = training.measure()["loss"]
            if best is None or loss < best[0]:
                best = loss, value, Snapshot(training)
        assert best is not None
        current = best[1]
        best[2].restore()
        scale.set(current)
        training.train_epoch()
        training.measure()
        chosen.append(current)
    wanted = training.seen()

    training = case.build()
    loop = adapt(
        9,
        state=training.state,
        space={"scale": [0.1, 1.0, 3.0]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=2,
        bind={"scale": schedule_scale(training.optimizer)},
    )
    for epoch in loop:
        training.train_epoch()
        epoch.report(**training.measure())
    assert [round_.candidate["scale"] for round_ in loop.history] == chosen
    assert training.seen() == wanted
