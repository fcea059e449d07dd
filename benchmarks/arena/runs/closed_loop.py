"""Arms that react to the validation loss: torch's ReduceLROnPlateau, transformers' GreedyLR."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.arena.runs.setting import RunSetting, outcome

__all__ = ["greedy", "plateau"]


def plateau(setting: RunSetting) -> dict[str, Any]:
    """ReduceLROnPlateau with torch's own defaults: a tenth after ten epochs without progress."""
    holder = _holder(setting.rate)
    return _followed(setting, holder, torch.optim.lr_scheduler.ReduceLROnPlateau(holder))


def greedy(setting: RunSetting) -> dict[str, Any]:
    """GreedyLR; its bounds around the start, and a patience with which it gets somewhere in time.

    Its own bounds are 0.001 and 1, whatever the optimiser. After its own ten epochs of patience, a
    hundred epochs would hardly be enough for a factor of 3.
    """
    from transformers.optimization import GreedyLR

    holder = _holder(setting.rate)
    bounds = {"min_lr": setting.rate / 1000, "max_lr": setting.rate * 1000}
    return _followed(setting, holder, GreedyLR(holder, patience=1, eps=0.0, **bounds))


def _holder(rate: float) -> torch.optim.Optimizer:
    """What a scheduler writes its rate into: it serves every task, also without torch."""
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def _followed(setting: RunSetting, holder: torch.optim.Optimizer, scheduler: Any) -> dict[str, Any]:
    trainer = setting.trainer()
    for _ in range(setting.epochs):
        trainer.train_k(1, {"lr": holder.param_groups[0]["lr"]})
        scheduler.step(trainer.metrics()["val_loss"])
    return outcome(trainer.best, setting, epochs=trainer.trained)
