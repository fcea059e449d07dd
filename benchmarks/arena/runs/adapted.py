"""Other arms of dynhp: its earlier preset, the AdaGrid paper's, a placebo, random values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.arena.runs.setting import RunSetting, outcome
from benchmarks.arena.stepped import Averaging
from benchmarks.arena.tracked import Tracked
from dynhp import DynamicGridAdapter, Float, Placebo, Policy, paper
from dynhp.errors import DynhpError, Hint
from dynhp.planning.baselines import random_search
from dynhp.planning.presets import ema_race

__all__ = ["adagrid", "paper_grid", "placebo", "race", "random_rates"]

ALPHA, BETA = 10, 1
"""The paper's own: the epochs of a round, and of a try."""


def paper_grid(rate: float) -> list[float]:
    """Five values around the start, half powers of ten apart."""
    return [rate * math.sqrt(10) ** step for step in range(-2, 3)]


def adagrid(setting: RunSetting) -> dict[str, Any]:
    """The paper's settings: every ten epochs, all five values are tried for one."""
    return _carried_out(setting, lambda trainer: _run(setting, trainer, _paper(setting)))


def race(setting: RunSetting) -> dict[str, Any]:
    """The preset of before: five values race four times in a run, judged by averaged weights."""

    def train(trainer: Tracked) -> None:
        _run(setting, trainer, ema_race("lr", epochs=setting.epochs, default=setting.rate))

    return _carried_out(setting, train, averaged="epoch")


def placebo(setting: RunSetting) -> dict[str, Any]:
    """The same tries, all of them with the start's value and random numbers of their own."""
    policy = replace(_paper(setting), proposer=Placebo(5), randomness=None)
    return _carried_out(setting, lambda trainer: _run(setting, trainer, policy))


def random_rates(setting: RunSetting) -> dict[str, Any]:
    """A new rate for every epoch, within a factor of ten of the start."""
    space = {"lr": Float(setting.rate / 10, setting.rate * 10, log=True)}
    return _carried_out(
        setting,
        lambda trainer: random_search(trainer, space, epochs=setting.epochs, seed=setting.seed),
    )


def _paper(setting: RunSetting) -> Policy:
    return paper({"lr": paper_grid(setting.rate)}, ALPHA, BETA, validation="val")


def _run(setting: RunSetting, trainer: Tracked, policy: Policy) -> None:
    own = replace(policy, initial={"lr": setting.rate}, seed=setting.seed, check="off")
    DynamicGridAdapter(trainer, policy=own).run(setting.epochs)


def _carried_out(
    setting: RunSetting, train: Callable[[Tracked], Any], *, averaged: Averaging | None = None
) -> dict[str, Any]:
    """Train; where every try fails, what was reached until then is the result, and it says so."""
    trainer = setting.trainer(averaged=averaged)
    stopped = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)
        try:
            train(trainer)
        except DynhpError as error:
            stopped = type(error).__name__
    return outcome(trainer.best, setting, epochs=trainer.trained, stopped=stopped)
