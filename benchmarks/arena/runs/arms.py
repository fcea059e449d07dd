"""All arms by name, and the one function that the campaign calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.arena.runs import adapted, closed_loop, open_loop, populations, searched, trials
from benchmarks.arena.runs.setting import BUDGET, RunSetting

__all__ = ["ARMS", "COSTS", "TORCH_ONLY", "WITHOUT_START", "arena_run", "cost"]

Arm = Callable[[RunSetting], dict[str, Any]]

ARMS: Mapping[str, Arm] = {
    "constant": open_loop.constant,
    **{name: partial(open_loop.scheduled, name=name) for name in ("cosine", "wsd")},
    "average": open_loop.averaged,
    "one-cycle": open_loop.one_cycle,
    "range-test": open_loop.range_test,
    "prodigy": open_loop.prodigy,
    "schedule-free": open_loop.schedule_free,
    "plateau": closed_loop.plateau,
    "greedy": closed_loop.greedy,
    "preset-schedule": searched.preset,
    "preset-average": partial(searched.preset, ending="average"),
    "preset-none": partial(searched.preset, ending=None),
    "preset-shifted": partial(searched.preset, anchor=searched.BETWEEN),
    "search": searched.search,
    "scan": searched.scan,
    "ema-race": adapted.race,
    "adagrid": adapted.adagrid,
    "placebo": adapted.placebo,
    "random": adapted.random_rates,
    "tpe": trials.tpe,
    "pbt": populations.pbt,
    "pbt-whole": populations.pbt_whole,
    "pb2": populations.pb2,
}
TORCH_ONLY = (
    *("prodigy", "schedule-free", "ema-race", "placebo", "average", "search", "scan"),
    *("preset-schedule", "preset-average", "preset-none", "preset-shifted"),
)
"""What needs torch; copies that differ by random numbers alone, of which boosting draws none; and
the preset, which is refused for the shrinkage of boosted trees."""

WITHOUT_START = ("one-cycle", "range-test", "prodigy", "scan")
"""Arms that find the rate themselves, and one that tries all rates of the ladder."""

COSTS = {
    "one-cycle": 1.1,
    "range-test": 1.1,
    **dict.fromkeys(("preset-schedule", "preset-average", "preset-none", "preset-shifted"), 1.25),
    "search": 0.3,
    "scan": 0.5,
    "ema-race": 1.7,
    "pbt-whole": 4.0,
    **dict.fromkeys(("adagrid", "placebo", "tpe", "pbt", "pb2"), BUDGET),
}
"""About how many runs an arm costs, where that is not one."""


def cost(settings: Mapping[str, Any]) -> float:
    """About how many steps a run takes, so that long ones are begun first."""
    return COSTS.get(settings["arm"], 1.0) * settings["epochs"] * settings["steps"]


def arena_run(
    task: str, arm: str, rate: float, seed: int, epochs: int, steps: int
) -> dict[str, Any]:
    """Carry out one run of the arena; it depends on nothing else than these settings."""
    torch.set_num_threads(1)  # runs are side by side already
    setting = RunSetting(task=task, rate=rate, seed=seed, epochs=epochs, steps=steps)
    result = ARMS[arm](setting)
    return {name: _short(value) for name, value in result.items()}


def _short(value: Any) -> Any:
    """Nine digits: what is printed from results must not hang on the last bit of a sum."""
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
