"""Optuna: trials of its sampler, pruned, until the epochs are used up; then a run with WSD."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.runs.factors import wsd_factors
from benchmarks.arena.runs.setting import RunSetting, outcome

__all__ = ["SPREAD", "tpe"]

SPREAD = 100.0
"""Rates are looked for within this factor of the start, in both directions."""


LONGEST = 0.1
"""The share of a run that a trial has at most."""


def tpe(setting: RunSetting) -> dict[str, Any]:
    """TPE with successive halving on short trials, then WSD with the best of their rates.

    The start is the first trial. What is left of the budget after a whole run is for trials.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    longest = max(2, round(LONGEST * setting.epochs))
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=setting.seed, n_startup_trials=3),
        pruner=optuna.pruners.SuccessiveHalvingPruner(
            min_resource=max(1, longest // 5), reduction_factor=2
        ),
    )
    study.enqueue_trial({"lr": setting.rate})
    left = setting.budget - setting.epochs
    while left:
        trial = study.ask()
        rate = trial.suggest_float("lr", setting.rate / SPREAD, setting.rate * SPREAD, log=True)
        left -= _tried(setting, trial, rate, epochs=min(left, longest))
    best = max(study.get_trials(), key=lambda trial: (len(trial.intermediate_values), trial.value))
    trainer = setting.trainer(wsd_factors(setting.all_steps))  # the ending of the preset
    trainer.train_k(setting.epochs, {"lr": best.params["lr"]})
    trials = len(study.get_trials())
    return outcome(
        trainer.best, setting, epochs=setting.budget, rate=best.params["lr"], trials=trials
    )


def _tried(setting: RunSetting, trial: Any, rate: float, *, epochs: int) -> int:
    """Train a trial until it is pruned or over, and give the epochs that it took."""
    trainer = setting.trainer()
    while trainer.trained < epochs:
        trainer.train_k(1, {"lr": rate})
        trial.report(trainer.best.val, trainer.trained)
        if trial.should_prune():
            break
    trial.study.tell(trial, trainer.best.val)
    return trainer.trained
