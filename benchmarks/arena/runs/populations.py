"""Populations on a real Ray Tune: PBT and PB2, a member at a time, so that runs are repeatable."""

from __future__ import annotations

import json
import os
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.arena.runs.setting import RunSetting, outcome
from benchmarks.arena.runs.trials import SPREAD
from benchmarks.arena.tracked import Checkpoint

__all__ = ["pb2", "pbt"]

MEMBERS, PERIODS = 4, 5
"""The members of a population, and the periods after which they may copy each other."""


def pbt(setting: RunSetting) -> dict[str, Any]:
    """Population-based training with Ray Tune's own settings, in step, on equal epochs."""
    from ray import tune
    from ray.tune.schedulers import PopulationBasedTraining

    low, high = _logs(setting)
    mutations = {"log_lr": tune.uniform(low, high)}
    return _populated(
        setting, PopulationBasedTraining(hyperparam_mutations=mutations, **_in_step())
    )


def pb2(setting: RunSetting) -> dict[str, Any]:
    """Population-based bandits; a Gaussian process chooses within the bounds."""
    from ray.tune.schedulers.pb2 import PB2

    bounds = {"log_lr": list(_logs(setting))}
    return _populated(setting, PB2(hyperparam_bounds=bounds, **_in_step()))


def _logs(setting: RunSetting) -> tuple[float, float]:
    """The bounds; neither method knows a scale of factors, so it is given one."""
    middle = float(np.log10(setting.rate))
    return middle - float(np.log10(SPREAD)), middle + float(np.log10(SPREAD))


def _in_step() -> dict[str, Any]:
    return {
        "time_attr": "training_iteration",
        "perturbation_interval": 1,
        "metric": "val",
        "mode": "max",
        "synch": True,
    }


def _populated(setting: RunSetting, scheduler: Any) -> dict[str, Any]:
    from ray import tune

    _start_ray()
    random.seed(setting.seed)
    np.random.seed(setting.seed)  # Ray Tune draws from the global generators
    low, high = _logs(setting)
    drawn = np.random.default_rng(setting.seed).uniform(low, high, MEMBERS - 1)
    first = [float(np.log10(setting.rate)), *map(float, drawn)]
    period = max(1, round(setting.budget / MEMBERS / PERIODS))
    periods = max(1, setting.budget // (MEMBERS * period))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuner = tune.Tuner(
            _member(setting, period, Path(folder, "log")),
            param_space={"log_lr": tune.grid_search(first)},
            # No limit of trials: one that is begun only when another has ended copies nobody. A
            # single processor carries out one at a time all the same, and pauses the others.
            tune_config=tune.TuneConfig(scheduler=scheduler, reuse_actors=True),
            run_config=tune.RunConfig(
                storage_path=folder,
                stop={"training_iteration": periods},
                verbose=0,
                failure_config=tune.FailureConfig(fail_fast=True),
            ),
        )
        results = tuner.fit()
        if results.errors:
            raise results.errors[0]
        periods_trained = list(map(json.loads, Path(folder, "log").read_text().splitlines()))
    rates = {rate for _, _, rate in periods_trained}
    if periods > 1 and len(rates) <= MEMBERS:
        raise RuntimeError(
            f"no member ever copied another: only the rates {sorted(rates)} were tried"
        )
    best = Checkpoint(*max((val, test) for val, test, _ in periods_trained))
    return outcome(best, setting, epochs=len(periods_trained) * period)


def _member(setting: RunSetting, period: int, log: Path) -> Any:
    """A member of a population: a trainer whose state Ray copies.

    Its checkpoints are in a log of ours, a line for each period that was trained: Ray's own tables
    leave out what members trained before they became copies of others.
    """
    from ray import tune

    class Member(tune.Trainable):
        def setup(self, config: dict[str, Any]) -> None:
            torch.set_num_threads(1)
            self.trainer = setting.trainer()
            self.rate = 10.0 ** config["log_lr"]

        def reset_config(self, config: dict[str, Any]) -> bool:
            self.setup(config)
            return True

        def step(self) -> dict[str, Any]:
            self.trainer.train_k(period, {"lr": self.rate})
            with log.open("a") as file:
                file.write(json.dumps([*self.trainer.best, self.rate]) + "\n")
            val = self.trainer.metrics()["val"]
            return {"val": val if np.isfinite(val) else -1e9}

        def save_checkpoint(self, folder: str) -> None:
            torch.save(self.trainer.get_state(), Path(folder) / "state.pt")

        def load_checkpoint(self, folder: str) -> None:
            self.trainer.set_state(torch.load(Path(folder) / "state.pt", weights_only=False))

    return Member


def _start_ray() -> None:
    """One small Ray for each process of a campaign; its workers see the modules of this one."""
    import ray

    if not ray.is_initialized():
        os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
