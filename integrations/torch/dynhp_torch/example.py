"""A small ready trainer: an MLP with everything that makes snapshots hard."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from dynhp import Ordered, Trainer, attribute
from dynhp.records import Value
from dynhp_torch.averaging import AveragedWeights
from dynhp_torch.settings.scale import schedule_scale
from dynhp_torch.trainer import torch_trainer

__all__ = ["example", "make"]


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"lr_scale": 1.0, "dropout": 0.2})
    >>> sorted(trainer.metrics())
    ['ema_val_loss', 'val_loss']
    """
    return make, {"lr_scale": Ordered(0.3, 1.0, 3.0), "dropout": Ordered(0.0, 0.2, 0.4)}


def make() -> Trainer:
    """Dropout, batch normalisation, momentum, a cosine schedule, shuffled batches, averages.

    >>> sorted(make().hyperparameters())
    ['dropout', 'lr_scale']
    """
    shuffle = torch.Generator().manual_seed(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        inputs = torch.randn(64, 4)
        labels = (inputs[:, 0] * inputs[:, 1] > 0).long()
        model = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        )
    train, held_out = TensorDataset(inputs[:32], labels[:32]), (inputs[32:], labels[32:])
    loader = DataLoader(train, batch_size=16, shuffle=True, generator=shuffle)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    average = AveragedWeights(model, horizon=len(loader))

    def train_epoch(values: Mapping[str, Value]) -> None:
        model.train()
        for batch, target in loader:
            optimizer.zero_grad()
            cross_entropy(model(batch), target).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            average.update()
        scheduler.step()

    @torch.no_grad()
    def measure() -> dict[str, float]:
        model.eval()
        return {"val_loss": cross_entropy(model(held_out[0]), held_out[1]).item()}

    return torch_trainer(
        state=[model, optimizer, scheduler, average, loader],
        train_epoch=train_epoch,
        evaluate=lambda: {**measure(), **average.evaluate(measure)},
        bind={"lr_scale": schedule_scale(optimizer), "dropout": attribute(model, "3.p")},
    )
