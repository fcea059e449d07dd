"""A small ready trainer: every epoch of it is a fit of a Lightning trainer."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch import Trainer as LightningTrainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from dynhp import Ordered, Trainer
from dynhp.loops import Part
from dynhp.records import Value
from dynhp_lightning.state import progress_part
from dynhp_torch import schedule_scale, torch_trainer

__all__ = ["example", "make"]


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"lr_scale": 3.0})
    >>> list(trainer.metrics())
    ['val_loss']
    """
    return make, {"lr_scale": Ordered(0.3, 3.0)}


class _Net(LightningModule):
    """Keeps its optimiser and its scheduler from one fit to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 1))
        self.made = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.made, T_max=20)

    def training_step(self, batch: Any, index: int) -> Tensor:
        return nn.functional.mse_loss(self.net(batch[0]), batch[1])

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self) -> Any:
        return {"optimizer": self.made, "lr_scheduler": self.schedule}


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """A fit says how many workers it would like; that is no news here."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def make() -> Trainer:
    """Dropout, momentum, a cosine schedule, shuffled batches, and Lightning's own counters.

    >>> make().hyperparameters()
    {'lr_scale': 1.0}
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        inputs = torch.randn(24, 4)
        targets = inputs[:, :1].sin()
        module = _Net()
    shuffle = torch.Generator().manual_seed(1)
    train = TensorDataset(inputs[:16], targets[:16])
    loader = DataLoader(train, batch_size=8, shuffle=True, generator=shuffle)
    held_out = DataLoader(TensorDataset(inputs[16:], targets[16:]), batch_size=8)
    with _quietly():
        trainer = LightningTrainer(
            max_epochs=0,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        trainer.fit(module, loader, held_out)
    measured: dict[str, float] = {}

    def train_epoch(values: Mapping[str, Value]) -> None:
        trainer.fit_loop.max_epochs = trainer.current_epoch + 1
        with _quietly():
            trainer.fit(module, loader, held_out)
        measured["val_loss"] = float(trainer.callback_metrics["val_loss"])

    def take(state: dict[str, float]) -> None:
        measured.clear()
        measured.update(state)

    return torch_trainer(
        state=[
            module,
            module.made,
            module.schedule,
            loader,
            progress_part(trainer),
            Part(get=lambda: dict(measured), set=take),
        ],
        train_epoch=train_epoch,
        evaluate=lambda: dict(measured) or {"val_loss": float("nan")},
        bind={"lr_scale": schedule_scale(module.made)},
    )
