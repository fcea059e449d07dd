"""Weights of a sampler as a value: in force from the next epoch on, and read back."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.testing import check_trainer
from dynhp_torch import adapt, sampler_weight, torch_trainer
from tests.support.messages import raises

INPUTS = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS.sum(1) > 2).long()
WEIGHTS = {"rare": [1.0, 4.0, 16.0]}


class Oversampled:
    """A classifier of rare cases, of which more are drawn."""

    def __init__(self, generator: bool = True) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        own = torch.Generator().manual_seed(5) if generator else None
        sampler = WeightedRandomSampler(torch.ones(40), 40, generator=own)
        self.loader = DataLoader(TensorDataset(INPUTS, LABELS), batch_size=10, sampler=sampler)
        self.drawn = 0

    def epoch(self) -> None:
        self.drawn = 0
        for inputs, labels in self.loader:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(inputs), labels).backward()
            self.optimizer.step()
            self.drawn += int(labels.sum())

    def measure(self) -> dict[str, float]:
        return {"loss": nn.functional.cross_entropy(self.model(INPUTS), LABELS).item()}

    def adapted(self, **more: Any) -> Any:
        settings: Any = {"minimize": "loss", "adapt_every": 3, "try_for": 1, **more}
        return adapt(
            6,
            state=[self.model, self.optimizer, self.loader],
            space=WEIGHTS,
            bind={"rare": sampler_weight(self.loader, LABELS == 1)},
            **settings,
        )


def test_more_of_the_rare_ones_are_drawn() -> None:
    training, drawn = Oversampled(), {}
    for epoch in training.adapted():
        training.epoch()
        drawn.setdefault(epoch["rare"], training.drawn)
        epoch.report(training.measure())
    assert drawn[1.0] < drawn[4.0] < drawn[16.0]


@pytest.mark.parametrize("generator", [True, False])
def test_a_dry_run_is_the_plain_loop(generator: bool) -> None:
    plain = Oversampled(generator)
    for _ in range(6):
        plain.epoch()
    dry = Oversampled(generator)
    for epoch in dry.adapted(dry_run=True):
        dry.epoch()
        epoch.report(dry.measure())
    assert torch.equal(plain.model.weight, dry.model.weight)


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = Oversampled()
        return torch_trainer(
            state=[training.model, training.optimizer, training.loader],
            train_epoch=lambda values: training.epoch(),
            evaluate=training.measure,
            bind={"rare": sampler_weight(training.loader.sampler, LABELS.nonzero().flatten())},
        )

    check_trainer(make, WEIGHTS, epochs=1, another_process=False)


def test_weights_that_the_loop_computes_anew_are_caught() -> None:
    training = Oversampled()

    def train() -> None:
        for epoch in training.adapted():
            training.epoch()
            training.loader.sampler.weights = torch.ones(40).double()  # type: ignore[attr-defined]
            epoch.report(training.measure())

    with raises(ValueNotInForce):
        train()


def test_weights_that_differ_stand_for_no_value() -> None:
    sampler = WeightedRandomSampler([1.0, 2.0, 3.0], 3)
    with raises(ValueNotInForce):
        sampler_weight(sampler, [1, 2]).get()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), True, "1", None])
def test_no_weight(value: Any) -> None:
    bound = sampler_weight(WeightedRandomSampler([1.0, 1.0], 2), [1])
    with raises(SettingsError):
        bound.set(value)


def test_some_sample_must_have_a_weight() -> None:
    bound = sampler_weight(WeightedRandomSampler([0.0, 2.0], 2), [1])
    with raises(SettingsError):
        bound.set(0.0)
    assert bound.get() == 2.0


@pytest.mark.parametrize(
    "members",
    [[], [3], [-1], [0.5], torch.tensor([False, False, False]), torch.tensor([True]), "rare", None,
     [[0]], object()],
)  # fmt: skip
def test_no_members(members: Any) -> None:
    with raises(SettingsError):
        sampler_weight(WeightedRandomSampler(torch.ones(3), 3), members)


def test_all_members_would_change_nothing() -> None:
    with raises(SettingsError):
        sampler_weight(WeightedRandomSampler(torch.ones(3), 3), [0, 1, 2])


@pytest.mark.parametrize("sampler", [DataLoader([1, 2], shuffle=True), [1, 2], None])
def test_no_sampler_with_weights(sampler: Any) -> None:
    with raises(SettingsError):
        sampler_weight(sampler, [0])
