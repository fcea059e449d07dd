"""Arms that know the whole schedule beforehand: constants, schedules, optimisers without a rate."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.arena.runs.factors import FACTORS, WARM_UP, cosine
from benchmarks.arena.runs.finder import range_test_of
from benchmarks.arena.runs.setting import RunSetting, outcome
from benchmarks.arena.stepped import MakeOptimizer
from benchmarks.arena.tasks.registry import make_trainer
from benchmarks.arena.tracked import Tracked

__all__ = ["averaged", "constant", "one_cycle", "prodigy", "range_test", "schedule_free"]
__all__ += ["scheduled"]

RUNGS = (0.25, 0.5)
"""The shares of a run after which successive halving looks at it."""


def constant(setting: RunSetting) -> dict[str, Any]:
    """The rate stays; the rungs of successive halving are noted on the way."""
    trainer = setting.trainer()
    rungs = []
    for share in RUNGS:
        trainer.train_k(round(share * setting.epochs) - trainer.trained, {"lr": setting.rate})
        rungs.append(trainer.best.val)
    return _trained(setting, trainer, setting.rate, rungs=rungs)


def scheduled(setting: RunSetting, name: str) -> dict[str, Any]:
    """A cosine, or warm-up, stable, decay."""
    return _trained(setting, setting.trainer(FACTORS[name](setting.all_steps)), setting.rate)


def averaged(setting: RunSetting) -> dict[str, Any]:
    """A constant rate, and the average of the last tenth so far as the model."""
    return _trained(setting, setting.trainer(averaged="tenth"), setting.rate)


def range_test(setting: RunSetting) -> dict[str, Any]:
    """The rate at which a range test has its lowest loss, divided by ten, then WSD."""
    by_step = make_trainer(setting.task, seed=setting.seed, steps=1).trainer
    tested = range_test_of(by_step, _range_steps(setting))
    trainer = setting.trainer(FACTORS["wsd"](setting.all_steps))
    rate = tested.lowest / 10
    return _trained(setting, trainer, rate, extra=tested.steps / setting.steps, rate=rate)


def one_cycle(setting: RunSetting) -> dict[str, Any]:
    """Torch's one-cycle schedule, at the rate that a range test suggests; no start is needed."""
    by_step = make_trainer(setting.task, seed=setting.seed, steps=1).trainer
    tested = range_test_of(by_step, _range_steps(setting))
    rate = tested.steepest
    parameter = torch.nn.Parameter(torch.zeros(1))
    holder = torch.optim.SGD([parameter], lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        holder, rate, total_steps=setting.all_steps, cycle_momentum=False
    )
    factors = []
    for step in range(setting.all_steps):
        factors.append(holder.param_groups[0]["lr"] / rate)
        holder.step()
        if step + 1 < setting.all_steps:
            schedule.step()
    extra = tested.steps / setting.steps
    return _trained(setting, setting.trainer(factors), rate, extra=extra, rate=rate)


def _range_steps(setting: RunSetting) -> int:
    return min(100, max(30, setting.all_steps // 10))


def prodigy(setting: RunSetting) -> dict[str, Any]:
    """Prodigy, which estimates the rate itself, with a cosine; no start is needed."""
    from prodigyopt import Prodigy

    def make(parameters: Any, rate: float) -> torch.optim.Optimizer:
        return Prodigy(parameters, lr=rate, safeguard_warmup=True)

    return _trained(setting, setting.trainer(cosine(setting.all_steps), make), 1.0)


def schedule_free(setting: RunSetting) -> dict[str, Any]:
    """Schedule-Free, in the form of the usual optimiser of the task."""
    usual = setting.trainer().trainer
    is_adam = usual.task.optimizer != "sgd"  # type: ignore[attr-defined]
    trainer = setting.trainer(optimizer=_schedule_free(setting, is_adam))
    return _trained(setting, trainer, setting.rate)


def _schedule_free(setting: RunSetting, is_adam: bool) -> MakeOptimizer:
    from schedulefree import AdamWScheduleFree, SGDScheduleFree

    warm = round(WARM_UP * setting.all_steps)

    def make(parameters: Any, rate: float) -> torch.optim.Optimizer:
        if is_adam:
            return AdamWScheduleFree(parameters, lr=rate, warmup_steps=warm)
        return SGDScheduleFree(parameters, lr=rate, momentum=0.9, warmup_steps=warm)

    return make


def _trained(
    setting: RunSetting, trainer: Tracked, chosen: float, *, extra: float = 0.0, **more: Any
) -> dict[str, Any]:
    trainer.train_k(setting.epochs - trainer.trained, {"lr": chosen})
    return outcome(trainer.best, setting, epochs=trainer.trained + extra, **more)
