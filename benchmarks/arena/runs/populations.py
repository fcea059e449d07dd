"""Populations on a real Ray Tune: PBT and PB2, a member at a time, so that runs are repeatable."""

from __future__ import annotations

import functools
import os
import pickle
import random
import tempfile
import warnings
from typing import Any

import numpy as np
import torch

from benchmarks.arena.runs.members import member_of
from benchmarks.arena.runs.setting import RunSetting, outcome
from benchmarks.arena.runs.trials import SPREAD
from benchmarks.arena.tracked import Checkpoint

__all__ = ["pb2", "pbt"]

MEMBERS, PERIODS = 4, 5
"""The members of a population, and the periods after which they may copy each other."""


def pbt(setting: RunSetting) -> dict[str, Any]:
    """Population-based training with Ray Tune's own settings, in step, on equal epochs."""
    return _pbt(setting, budget=setting.budget, periods=PERIODS)


def pbt_whole(setting: RunSetting) -> dict[str, Any]:
    """The same with a whole run for each member, which costs as many runs as there are members."""
    return _pbt(setting, budget=MEMBERS * setting.epochs, periods=2 * PERIODS)


def _pbt(setting: RunSetting, *, budget: int, periods: int) -> dict[str, Any]:
    """It multiplies the rate itself, so that its steps are the same at every rate."""
    from ray import tune
    from ray.tune.schedulers import PopulationBasedTraining

    low, high = (10.0**end for end in _logs(setting))
    mutations = {"lr": tune.loguniform(low, high)}
    scheduler = PopulationBasedTraining(hyperparam_mutations=mutations, **_in_step())
    first = [10.0**log for log in _first_logs(setting)]
    return _populated(setting, scheduler, "lr", first, budget=budget, periods=periods)


def pb2(setting: RunSetting) -> dict[str, Any]:
    """Population-based bandits; a Gaussian process chooses within the bounds.

    It knows no scale of factors, so it is given the logarithm.
    """
    from ray.tune.schedulers.pb2 import PB2

    scheduler = PB2(hyperparam_bounds={"log_lr": list(_logs(setting))}, **_in_step())
    first = _first_logs(setting)
    return _populated(setting, scheduler, "log_lr", first, budget=setting.budget, periods=PERIODS)


def _logs(setting: RunSetting) -> tuple[float, float]:
    """The bounds of the rate's logarithm."""
    middle = float(np.log10(setting.rate))
    return middle - float(np.log10(SPREAD)), middle + float(np.log10(SPREAD))


def _first_logs(setting: RunSetting) -> list[float]:
    """The start, and others within the bounds."""
    drawn = np.random.default_rng(setting.seed).uniform(*_logs(setting), MEMBERS - 1)
    return [float(np.log10(setting.rate)), *map(float, drawn)]


def _in_step() -> dict[str, Any]:
    return {
        "time_attr": "training_iteration",
        "perturbation_interval": 1,
        "metric": "val",
        "mode": "max",
        "synch": True,
    }


def _populated(
    setting: RunSetting,
    scheduler: Any,
    name: str,
    first: list[float],
    *,
    budget: int,
    periods: int,
) -> dict[str, Any]:
    import ray
    from ray import tune

    trainers = _trainers()
    random.seed(setting.seed)
    np.random.seed(setting.seed)  # Ray Tune draws from the global generators
    period = max(1, round(budget / MEMBERS / periods))
    periods = max(1, budget // (MEMBERS * period))
    ray.get(trainers.begin.remote(setting, period))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuner = tune.Tuner(
            member_of(trainers),
            param_space={name: tune.grid_search(first)},
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
    periods_trained = ray.get(trainers.periods_trained.remote())
    rates = {rate for _, _, rate in periods_trained}
    if periods > 1 and len(rates) <= MEMBERS:
        raise RuntimeError(
            f"no member ever copied another: only the rates {sorted(rates)} were tried"
        )
    val, test, _ = max(periods_trained, key=lambda period: period[0])  # of equal ones the first
    return outcome(Checkpoint(val, test), setting, epochs=len(periods_trained) * period)


class Trainers:
    """What trains the members, in a process that outlives them.

    Ray Tune starts processes for members within a run, again and again. To import torch in each of
    them would take longer than the training; so they do not, and their states are bytes to them.

    It also keeps every period that was trained: Ray's own tables leave out what members trained
    before they became copies of others.
    """

    def begin(self, setting: RunSetting, period: int) -> None:
        """Forget what was, and train like this from now on, so many epochs at a time."""
        torch.set_num_threads(1)
        self.setting, self.period = setting, period
        self.trained: list[tuple[float, float, float]] = []

    def train(self, state: bytes | None, rate: float) -> tuple[bytes, float]:
        """Train a member for a period; give its state after that, and its score."""
        trainer = self.setting.trainer()
        if state is not None:
            trainer.set_state(pickle.loads(state))
        trainer.train_k(self.period, {"lr": rate})
        self.trained.append((trainer.best.val, trainer.best.test, rate))
        val = trainer.metrics()["val"]
        return pickle.dumps(trainer.get_state()), val if np.isfinite(val) else -1e9

    def periods_trained(self) -> list[tuple[float, float, float]]:
        """Validation and test value of each period's best checkpoint, and its rate."""
        return self.trained


@functools.cache
def _trainers() -> Any:
    """One small Ray for each process of a campaign, and the process there that trains."""
    import ray

    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    return ray.remote(num_cpus=0, max_restarts=-1)(Trainers).remote()
