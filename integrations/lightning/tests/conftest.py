"""A small module with what people give to a trainer, and a fit whose every trace is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)

INPUTS = torch.randn(48, 4, generator=torch.Generator().manual_seed(0))
TARGETS = INPUTS[:, :1].sin()


class FitNet(L.LightningModule):
    """Dropout, batch normalisation, a schedule, logs in steps and epochs, a list of its own."""

    def __init__(self, schedule: str = "none", optimizer: str = "adamw") -> None:
        super().__init__()
        self.schedule, self.kind = schedule, optimizer
        self.net = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1)
        )
        self.scale = 1.0
        self.seen: list[int] = []

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        batch = batch["a"] if isinstance(batch, dict) else batch
        loss = self.scale * nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None:
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("val_loss", loss, add_dataloader_idx=False)

    def on_train_epoch_end(self) -> None:
        self.seen.append(self.current_epoch)

    def configure_optimizers(self) -> Any:
        made: Any
        if self.kind == "sgd":
            made = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        else:
            made = torch.optim.AdamW(self.parameters(), lr=0.01)
        if self.schedule == "none":
            return made
        steps = int(self.trainer.estimated_stepping_batches)
        choices: dict[str, Callable[[], dict[str, Any]]] = {
            "cosine": lambda: {
                "scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(made, 6),
            },
            "onecycle": lambda: {
                "scheduler": torch.optim.lr_scheduler.OneCycleLR(made, 0.02, total_steps=steps),
                "interval": "step",
            },
            "plateau": lambda: {
                "scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(made, patience=0),
                "monitor": "val_loss",
            },
        }
        return {"optimizer": made, "lr_scheduler": choices[self.schedule]()}


class FitWatcher(L.Callback):
    """Counts and records, as callbacks of users do, and keeps no state_dict."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, int, float]] = []
        self.batches = 0

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        self.batches += 1

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        loss = float(trainer.callback_metrics.get("val_loss", -1.0))
        self.epochs.append((trainer.current_epoch, trainer.global_step, loss))


def loaders(**options: Any) -> tuple[DataLoader[Any], DataLoader[Any]]:
    train = TensorDataset(INPUTS[:32], TARGETS[:32])
    held_out = TensorDataset(INPUTS[32:], TARGETS[32:])
    made = {"batch_size": 8, "shuffle": True, **options}
    return DataLoader(train, **made), DataLoader(held_out, batch_size=16)


def fit(
    folder: Path,
    *callbacks: Any,
    net: Callable[[], FitNet] = FitNet,
    data: Any = None,
    ckpt_path: Any = None,
    **options: Any,
) -> Any:
    """Fit, and give the trainer; ``trainer.watcher`` saw what a callback sees."""
    L.seed_everything(0, verbose=False)
    module = net()
    watcher = FitWatcher()
    settings = {
        "max_epochs": 6,
        "accelerator": "cpu",
        "logger": CSVLogger(folder, name="logs", version=0),
        "enable_checkpointing": any("Checkpoint" in type(each).__name__ for each in callbacks),
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "log_every_n_steps": 1,
        "num_sanity_val_steps": 0,
        "default_root_dir": folder,
        **options,
    }
    trainer: Any = L.Trainer(callbacks=[*callbacks, watcher], **settings)
    trainer.watcher = watcher
    if isinstance(data, L.LightningDataModule):
        trainer.fit(module, datamodule=data, ckpt_path=ckpt_path)
    else:
        trainer.fit(module, *(data or loaders()), ckpt_path=ckpt_path)
    return trainer


def traces(trainer: Any) -> dict[str, Any]:
    """All that a fit left behind, as plain data that can be compared bit for bit."""
    logger = trainer.logger
    log = Path(logger.log_dir) / "metrics.csv" if logger is not None else Path("none")
    module = trainer.lightning_module
    return {
        "weights": {name: it.tolist() for name, it in module.state_dict().items()},
        "optimizers": [_plain(each.state_dict()) for each in trainer.optimizers],
        "schedulers": [
            _plain(each.scheduler.state_dict()) for each in trainer.lr_scheduler_configs
        ],
        "counters": (trainer.current_epoch, trainer.global_step, trainer.max_epochs),
        "loops": trainer.fit_loop.state_dict(),
        "stopped": trainer.should_stop,
        "metrics": {name: float(it) for name, it in trainer.callback_metrics.items()},
        "log": log.read_text() if log.exists() else "",
        "watcher": (trainer.watcher.epochs, trainer.watcher.batches),
        "seen": module.seen,
        "generator": torch.random.get_rng_state().tolist(),
    }


def _plain(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items() if not callable(value)}
    if isinstance(state, list | tuple):
        return [_plain(value) for value in state]
    return state


def checkpoints(folder: Path, *, without: str = "Adapt") -> dict[str, Any]:
    """The checkpoint files in a folder by name, each without what Adapt added to it."""
    files = {}
    for path in sorted(folder.rglob("*.ckpt")):
        content = torch.load(path, weights_only=True)
        content["callbacks"].pop(without, None)
        for entry in content["callbacks"].values():  # the two runs have folders of their own
            for name in [each for each in entry if "path" in each or each == "best_k_models"]:
                del entry[name]
        files[path.relative_to(folder).as_posix()] = _plain(content)
    return files


class FitKit:
    """What the tests use, so that they need not import this file."""

    Net, Watcher = FitNet, FitWatcher
    loaders, fit = staticmethod(loaders), staticmethod(fit)
    traces, checkpoints = staticmethod(traces), staticmethod(checkpoints)


@pytest.fixture(scope="session")
def kit() -> type[FitKit]:
    return FitKit
