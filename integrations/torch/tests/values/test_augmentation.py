"""Augmentation as a value: worker processes that keep an old copy are refused, not believed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

from dynhp.errors import SettingsError, ValueNotUsed
from dynhp.testing import check_trainer
from dynhp_torch import adapt, attribute, augmentation, optimizer_param, torch_trainer
from tests.support.messages import raises

INPUTS = torch.randn(24, 3, generator=torch.Generator().manual_seed(1))
NOISES = {"noise": [0.0, 0.5, 2.0]}


class Jitter:
    """A transform with a strength."""

    def __init__(self, noise: float) -> None:
        self.noise = noise

    def __call__(self, sample: Any) -> Any:
        return sample + self.noise * torch.rand(3)


class Jittered(Dataset[Any]):
    def __init__(self) -> None:
        self.transforms = [Jitter(0.5)]

    def __len__(self) -> int:
        return len(INPUTS)

    def __getitem__(self, place: int) -> Any:
        sample = INPUTS[place]
        for transform in self.transforms:
            sample = transform(sample)
        return sample, INPUTS[place].sum(0, keepdim=True)


class AugmentedTraining:
    """A linear model on jittered samples."""

    def __init__(self, **settings: Any) -> None:
        torch.manual_seed(0)
        self.dataset = Jittered()
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(self.dataset, batch_size=8, **settings)

    def epoch(self) -> None:
        for inputs, targets in self.loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(inputs), targets).backward()
            self.optimizer.step()

    def measure(self) -> dict[str, float]:
        wanted = INPUTS.sum(1, keepdim=True)
        return {"loss": nn.functional.mse_loss(self.model(INPUTS), wanted).item()}

    def train(self, loop: Any) -> Any:
        for epoch in loop:
            self.epoch()
            epoch.report(self.measure())
        return loop


PATH = "transforms.0.noise"
SETTINGS: Any = {"minimize": "loss", "adapt_every": 2, "try_for": 1}


def adapted(training: AugmentedTraining, **more: Any) -> Any:
    bind = {"noise": augmentation(training.loader, PATH)}
    state = [training.model, training.optimizer, training.loader]
    return adapt(4, state=state, space=NOISES, bind=bind, **{**SETTINGS, **more})


def test_no_noise_is_best_here() -> None:
    training = AugmentedTraining()
    assert training.train(adapted(training)).history[-1].candidate["noise"] == 0.0
    assert training.dataset.transforms[0].noise == 0.0


@pytest.mark.parametrize("workers", [0, 1])
def test_a_dry_run_is_the_plain_loop_also_with_worker_processes(workers: int) -> None:
    plain = AugmentedTraining(num_workers=workers)
    for _ in range(4):
        plain.epoch()
    dry = AugmentedTraining(num_workers=workers)
    loop = dry.train(adapted(dry, dry_run=True, check="off" if workers else "first"))
    assert torch.equal(plain.model.weight, dry.model.weight)
    # The values did something in the processes too, or this would show nothing.
    assert len({try_.score for try_ in loop.history[0].tries}) == 3


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = AugmentedTraining()
        return torch_trainer(
            state=[training.model, training.optimizer, training.loader],
            train_epoch=lambda values: training.epoch(),
            evaluate=training.measure,
            bind={"noise": augmentation(training.loader, PATH)},
        )

    check_trainer(make, NOISES, epochs=1, another_process=False)


def test_persistent_workers_would_ignore_the_value() -> None:
    """The mistake itself: a changed attribute does not reach processes that go on."""
    training = AugmentedTraining(num_workers=1, persistent_workers=True)
    training.dataset.transforms[0].noise = 0.0
    before = torch.cat([inputs for inputs, _ in training.loader])
    training.dataset.transforms[0].noise = 100.0
    after = torch.cat([inputs for inputs, _ in training.loader])
    assert torch.equal(before, after)
    with raises(SettingsError):
        augmentation(training.loader, PATH)


def test_persistent_workers_are_refused_also_where_the_loader_is_not_in_the_state() -> None:
    training = AugmentedTraining(num_workers=1, persistent_workers=True)
    loader = training.loader  # a name that the code around sees
    bind: Any = {
        "noise": attribute(training.dataset.transforms[0], "noise"),
        "lr": optimizer_param(training.optimizer, "lr"),
    }
    space = {**NOISES, "lr": [0.01, 0.1]}
    state = [training.model, training.optimizer]
    with raises(SettingsError):
        adapt(4, state=state, space=space, bind=bind, **SETTINGS)
    with raises(SettingsError):
        torch_trainer(state=state, train_epoch=print, evaluate=dict, bind=bind)
    del loader


def test_other_attributes_are_not_accused() -> None:
    training = AugmentedTraining(num_workers=1, persistent_workers=True)
    loader, dropout = training.loader, nn.Dropout(0.1)
    adapt(4, state=[training.model, training.optimizer], space={"p": [0.1, 0.2]},
          bind={"p": attribute(dropout, "p")}, **SETTINGS)  # fmt: skip
    del loader


def test_a_loader_that_becomes_persistent_is_refused_when_a_value_is_set() -> None:
    training = AugmentedTraining(num_workers=1)
    bound = augmentation(training.loader, PATH)
    object.__setattr__(training.loader, "persistent_workers", True)
    with raises(SettingsError):
        bound.set(0.5)


def test_samples_that_were_prepared_before_are_caught() -> None:
    training = AugmentedTraining()
    bind = {"noise": augmentation(training.loader, PATH)}
    state = [training.model, training.optimizer, training.loader]
    training.loader = DataLoader([*map(training.dataset.__getitem__, range(24))], batch_size=8)
    loop = adapt(4, state=state, space=NOISES, bind=bind, **SETTINGS)
    with raises(ValueNotUsed):
        training.train(loop)


def test_through_a_subset() -> None:
    dataset = Jittered()
    loader = DataLoader(Subset(dataset, [0, 1]), batch_size=2)
    augmentation(loader, "dataset.transforms.0.noise").set(0.0)
    assert torch.equal(next(iter(loader))[0], INPUTS[:2])


@pytest.mark.parametrize(
    ("loader", "path"),
    [
        (Jittered(), PATH),
        (DataLoader(Jittered()), "transform.noise"),
        (DataLoader(Jittered()), "transforms.0.nois"),
    ],
)
def test_no_place(loader: Any, path: str) -> None:
    with raises(SettingsError):
        augmentation(loader, path)


def test_the_kind_is_the_name_of_the_attribute() -> None:
    assert augmentation(DataLoader(Jittered()), PATH).kind == "noise"  # type: ignore[attr-defined]
