"""The batch size of a loader: set, read back, put back, and what would go wrong unseen."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, TensorDataset

from dynhp.errors import Hint, SettingsError, ValueNotInForce, ValueNotUsed
from dynhp.testing import check_trainer
from dynhp_torch import adapt, batch_size, torch_trainer
from tests.support.messages import raises

INPUTS = torch.randn(24, 3, generator=torch.Generator().manual_seed(1))
DATA = TensorDataset(INPUTS, INPUTS.sum(1, keepdim=True))
SIZES = {"batch_size": [4, 8, 12]}


class SmallTraining:
    """A linear model, SGD and a shuffled loader."""

    def __init__(self, **more: Any) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        generator = torch.Generator().manual_seed(2)
        settings = {"batch_size": 8, "shuffle": True, "generator": generator, **more}
        self.loader = DataLoader(DATA, **settings)
        self.sizes: list[int] = []

    def epoch(self, loader: Any = None) -> float:
        for inputs, targets in loader or self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()
            self.sizes.append(len(inputs))
        return loss.item()

    @property
    def state(self) -> list[Any]:
        return [self.model, self.optimizer, self.loader]

    def adapted(self, *, state: Any = None, bind: Any = None, **more: Any) -> Any:
        settings: Any = {"minimize": "loss", "adapt_every": 3, "try_for": 1, **more}
        return adapt(
            6,
            state=state or self.state,
            space=SIZES,
            bind=bind or {"batch_size": batch_size(self.loader)},
            **settings,
        )


def test_the_loader_makes_batches_of_the_chosen_size() -> None:
    training = SmallTraining()
    for epoch in training.adapted(proposer=None):
        training.sizes.clear()
        loss = training.epoch()
        assert set(training.sizes) == {epoch["batch_size"]}
        assert len(training.loader) == 24 // epoch["batch_size"]
        epoch.report(loss=loss)


def test_a_dry_run_is_the_plain_loop() -> None:
    plain, dry = SmallTraining(), SmallTraining()
    for _ in range(6):
        plain.epoch()
    for epoch in dry.adapted(dry_run=True):
        epoch.report(loss=dry.epoch())
    assert torch.equal(plain.model.weight, dry.model.weight)
    assert dry.loader.batch_size == 8


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = SmallTraining()
        return torch_trainer(
            state=training.state,
            train_epoch=lambda values: training.epoch(),
            evaluate=lambda: {"loss": training.model(INPUTS).square().mean().item()},
            bind={"batch_size": batch_size(training.loader)},
        )

    check_trainer(make, SIZES, epochs=1, another_process=False)


def trained(training: SmallTraining, loop: Any, body: Any) -> None:
    for epoch in loop:
        body(training)
        epoch.report(loss=training.model.weight.sum().item())


def test_a_loop_that_makes_its_own_loader_is_caught() -> None:
    training = SmallTraining()
    loop = training.adapted()
    fixed = DataLoader(DATA, batch_size=8, generator=torch.Generator())
    with raises(ValueNotUsed):
        trained(training, loop, lambda training: training.epoch(fixed))


def test_a_loop_that_sets_another_size_is_caught() -> None:
    training = SmallTraining()

    def overwritten(training: SmallTraining) -> None:
        training.epoch()
        training.loader.batch_sampler.batch_size = 6  # type: ignore[union-attr]

    with raises(ValueNotInForce):
        trained(training, training.adapted(), overwritten)


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "4", None])
def test_no_size(value: Any) -> None:
    bound = batch_size(DataLoader(DATA, batch_size=8))
    with raises(SettingsError):
        bound.set(value)
    assert bound.get() == 8


def test_a_size_that_would_leave_no_batch() -> None:
    bound = batch_size(DataLoader(DATA, batch_size=8, drop_last=True))
    bound.set(24)
    with raises(SettingsError):
        bound.set(25)
    assert bound.get() == 24
    batch_size(DataLoader(DATA, batch_size=8)).set(25)  # one batch, smaller than asked for


class NumberStream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(10))


def test_a_stream_has_batches_too() -> None:
    loader = DataLoader(NumberStream(), batch_size=4, drop_last=True)
    batch_size(loader).set(3)
    assert [len(batch) for batch in loader] == [3, 3, 3]


class OwnBatches(BatchSampler):
    pass


@pytest.mark.parametrize(
    "loader",
    [
        DATA,
        DataLoader(DATA, batch_size=None),
        DataLoader(DATA, batch_sampler=OwnBatches(range(24), 4, False)),
    ],
)
def test_what_has_no_size_that_could_be_set(loader: Any) -> None:
    with raises(SettingsError):
        batch_size(loader)


def hints(make: Any) -> str:
    with warnings.catch_warnings(record=True) as lines:
        warnings.simplefilter("always")
        make()
    return " ".join(str(line.message) for line in lines if line.category is Hint)


def test_a_schedule_that_counts_batches_is_pointed_out() -> None:
    training = SmallTraining(batch_size=4)  # 6 batches an epoch
    by_batch = torch.optim.lr_scheduler.OneCycleLR(training.optimizer, 0.1, total_steps=36)
    text = hints(lambda: training.adapted(state=[*training.state, by_batch]))
    assert "OneCycleLR(total_steps=36) looks as if it counted batches, 6 an epoch" in text
    by_epoch = torch.optim.lr_scheduler.CosineAnnealingLR(training.optimizer, T_max=10)
    assert "batches" not in hints(lambda: training.adapted(state=[*training.state, by_epoch]))
    stream = DataLoader(NumberStream(), batch_size=4)
    bind = {"batch_size": batch_size(stream)}
    state = [*training.state, by_batch]
    assert "counted batches" not in hints(lambda: training.adapted(state=state, bind=bind))


def test_a_stateful_loader_changes_also_within_an_epoch() -> None:
    torchdata = pytest.importorskip("torchdata.stateful_dataloader")
    loader = torchdata.StatefulDataLoader(range(12), batch_size=4)
    bound, batches = batch_size(loader), iter(loader)
    sizes = [len(next(batches))]
    bound.set(2)
    assert bound.get() == 2
    sizes += [len(batch) for batch in batches]
    assert sizes == [4, 2, 2, 2, 2]
    batches = iter(loader)
    next(batches)
    loader._iterator._sampler_iter.batch_size = 3
    with raises(ValueNotInForce):
        bound.get()
