"""The preset as a stranger switches it on: a loop over steps, from a rate that may be wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from benchmarks.arena.runs.setting import RunSetting, outcome
from benchmarks.arena.tracked import Checkpoint
from dynhp import FullGrid, Ordered, Policy, adapt, attribute, errors, recommended, spent
from dynhp.errors import AllTriesFailed, Hint
from dynhp.loops import Loop
from dynhp.planning import RateFinder, rate_search
from dynhp.planning.presets import Ending
from dynhp.spaces import Around, Space
from dynhp.tails import scale

__all__ = ["BETWEEN", "preset", "scan", "search"]

BETWEEN = 10**0.25
"""The anchor of a grid whose rungs are in the middle between those of the preset's."""

SCANNED = 1e4
"""How far above and below the good rate a scan goes."""


def preset(
    setting: RunSetting, *, ending: Ending | None = "schedule", anchor: float = 1.0
) -> dict[str, Any]:
    """Search for a rate, then train with it to this ending; with the self-check of every run.

    The body measures as many a script does: on validation data once an epoch, and where a try ends.
    """
    tracked = setting.trainer(averaged="tenth" if ending == "average" else None)
    trainer: Any = tracked.trainer
    best = tracked.best  # the untrained model is the first checkpoint
    policy = _policy(setting, ending)
    policy = replace(policy, space=Space({"lr": Around(setting.rate, anchor=anchor)}))
    with _caught() as caught:
        loop = _loop(setting, trainer, policy)
        try:
            for step in loop:
                metrics = {"train_loss": trainer.one_step()}
                if (step + 1) % setting.steps == 0 or step.ends_try:
                    measured = trainer.measure("validation", delivered=step.main)
                    metrics |= {"val_loss": measured.loss}
                    if step.main and math.isfinite(measured.score) and measured.score > best.val:
                        best = Checkpoint(measured.score, trainer.measure("test").score)
                step.report(metrics)
        except AllTriesFailed as error:
            return outcome(best, setting, epochs=0, stopped=type(error).__name__, warned=True)
    found = rate_search(loop)
    return outcome(
        best,
        setting,
        epochs=spent(loop).total / setting.steps,
        rate=found.rate,
        peak=found.best,
        tries=len(found.rates),
        warned=_warned(caught),
        stopped=None,
    )


def search(setting: RunSetting) -> dict[str, Any]:
    """The search alone, from a start that may be very far off."""
    trainer: Any = setting.trainer().trainer
    with _caught() as caught:
        finder = RateFinder(_loop(setting, trainer, _policy(setting, "schedule")))
        try:
            _train_tries(finder, trainer)
        except AllTriesFailed as error:
            return {"stopped": type(error).__name__, "warned": True, "epochs": 0.0, "runs": 0.0}
    found = finder.result
    return {
        "rate": found.rate,
        "peak": found.best,
        "tries": len(found.rates),
        "warned": _warned(caught),
        "stopped": None,
        "epochs": found.epochs / setting.steps,
        "runs": found.epochs / setting.all_steps,
    }


def scan(setting: RunSetting) -> dict[str, Any]:
    """All rungs of the ladder around the good rate: the best of them, to compare searches with."""
    trainer: Any = setting.trainer().trainer
    ladder = Around(setting.rate, anchor=1.0)
    rungs = {ladder.nearest(setting.rate), *ladder.neighbors(setting.rate, 8)}
    rungs = {rung for rung in rungs if 1 / SCANNED <= rung / setting.rate <= SCANNED}
    policy = replace(
        _policy(setting, "schedule"),
        space=Space({"lr": Ordered(*sorted(rungs))}),
        proposer=FullGrid(),
        initial={"lr": ladder.nearest(setting.rate)},
        then=scale(1.0),
        check="off",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)
        finder = RateFinder(_loop(setting, trainer, policy))
        _train_tries(finder, trainer)
    found = finder.result
    return {
        "peak": found.best,
        "rates": list(found.rates),
        "scores": [score if math.isfinite(score) else None for score in found.scores],
        "epochs": found.epochs / setting.steps,
        "runs": found.epochs / setting.all_steps,
    }


def _policy(setting: RunSetting, ending: Ending | None) -> Policy:
    return recommended("learning_rate", name="lr", default=setting.rate, ending=ending)


def _loop(setting: RunSetting, trainer: Any, policy: Policy) -> Loop:
    return adapt(
        steps=setting.all_steps,
        state=[trainer],
        policy=policy,
        seed=setting.seed,
        bind={"lr": attribute(trainer, "rate")},
    )


def _train_tries(finder: RateFinder, trainer: Any) -> None:
    for step in finder:
        metrics = {"train_loss": trainer.one_step()}
        if step.ends_try:
            metrics["val_loss"] = trainer.measure("validation").loss
        step.report(metrics)


@contextmanager
def _caught() -> Iterator[list[warnings.WarningMessage]]:
    """All warnings of one run, whatever runs the process had before: it gives each hint once."""
    errors._given.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _warned(caught: list[warnings.WarningMessage]) -> bool:
    return any(issubclass(each.category, Hint) for each in caught)
