"""Which runs make up the arena: read from a file of tasks, with the good rate of each task."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.arena.runs.arms import TORCH_ONLY, WITHOUT_START
from benchmarks.arena.tasks.registry import is_torch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Arena", "PlannedTask", "START_ARMS", "STARTS", "SWEEPS", "good_rates", "pilot_runs"]
__all__ += ["read_arena", "runs_of", "start_rate", "sweep_rates"]

STARTS: Mapping[str, float] = {
    "30 times too low": 1 / 30,
    "10 times too low": 1 / 10,
    "good": 1.0,
    "10 times too high": 10.0,
    "30 times too high": 30.0,
}
"""What the good rate is multiplied with."""

NEARER = ("10 times too low", "good", "10 times too high")

SWEEPS: Mapping[str, Sequence[int]] = {
    "constant": range(-2, 3),
    "cosine": range(-2, 4),
    "linear": range(-2, 4),
    "wsd": range(-2, 4),
    "schedule-free": range(-2, 4),
}
"""The rates of a sweep, as half powers of ten around the good rate."""

START_ARMS: Mapping[str, Sequence[str]] = {
    "dynhp": tuple(STARTS),
    "constant": tuple(STARTS),
    "wsd": tuple(STARTS),
    "schedule-free": NEARER,
    "plateau": tuple(STARTS),
    "greedy": tuple(STARTS),
    "ema-race": NEARER,
    "adagrid": tuple(STARTS),
    "placebo": NEARER,
    "random": NEARER,
    "tpe": tuple(STARTS),
    "pbt": NEARER,
    "pb2": NEARER,
}
"""Which arms are run from which starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task and its length, the half it belongs to, and the range of its pilot."""

    name: str
    half: str
    epochs: int
    steps: int
    pilot: tuple[int, int]

    def settings(self, arm: str, rate: float, seed: int) -> dict[str, Any]:
        """The settings of one run."""
        return {
            "task": self.name, "arm": arm, "rate": rate, "seed": seed,
            "epochs": self.epochs, "steps": self.steps,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Tasks, seeds, and the seeds of the pilot."""

    tasks: tuple[PlannedTask, ...]
    seeds: int
    pilot_seeds: tuple[int, ...]

    def only(self, *, half: str | None, tasks: Sequence[str] | None, seeds: int | None) -> Arena:
        """A smaller arena; what it runs, the whole one need not run again."""
        chosen = tuple(
            task
            for task in self.tasks
            if (half is None or task.half == half) and (not tasks or task.name in tasks)
        )
        return Arena(tasks=chosen, seeds=seeds or self.seeds, pilot_seeds=self.pilot_seeds)


def read_arena(path: Path) -> Arena:
    """Read a file such as ``tasks.toml``."""
    content = tomllib.loads(path.read_text("utf-8"))
    tasks = (PlannedTask(**{**each, "pilot": tuple(each["pilot"])}) for each in content["task"])
    return Arena(
        tasks=tuple(tasks), seeds=content["seeds"], pilot_seeds=tuple(content["pilot_seeds"])
    )


def half_power(exponent: int) -> float:
    """A power of the root of ten, in three digits.

    >>> half_power(-4), half_power(-3)
    (0.01, 0.0316)
    """
    return float(f"{math.sqrt(10) ** exponent:.3g}")


def pilot_runs(arena: Arena) -> list[dict[str, Any]]:
    """Constants on seeds of their own, to know what a good rate is."""
    return [
        task.settings("constant", half_power(exponent), seed)
        for task in arena.tasks
        for exponent in range(task.pilot[0], task.pilot[1] + 1)
        for seed in arena.pilot_seeds
    ]


def good_rates(arena: Arena, values: Mapping[tuple[str, float], Sequence[float]]) -> dict[str, int]:
    """The exponent of the best constant of each task, by the mean of its validation scores."""
    return {
        task.name: max(
            range(task.pilot[0], task.pilot[1] + 1),
            key=lambda exponent: math.fsum(values[task.name, half_power(exponent)]),
        )
        for task in arena.tasks
    }


def start_rate(good: int, start: str) -> float:
    """The rate that a start gives: those a factor of ten away are rates of the sweeps, too."""
    shift = {1 / 10: -2, 1.0: 0, 10.0: 2}.get(STARTS[start])
    if shift is not None:
        return half_power(good + shift)
    return float(f"{half_power(good) * STARTS[start]:.3g}")


def sweep_rates(good: int, arm: str) -> list[float]:
    """The rates of a sweep around the good one."""
    return [half_power(good + shift) for shift in SWEEPS[arm]]


def runs_of(
    arena: Arena, good: Mapping[str, int], arms: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """All runs, each once: sweeps and starts share those that are the same."""
    wanted = None if arms is None else set(arms)
    runs: dict[tuple[Any, ...], dict[str, Any]] = {}
    for task in arena.tasks:
        for arm, rate in _rates(task, good[task.name]):
            if wanted is None or arm in wanted:
                for seed in range(arena.seeds):
                    runs[task.name, arm, rate, seed] = task.settings(arm, rate, seed)
    return list(runs.values())


def _rates(task: PlannedTask, good: int) -> Iterable[tuple[str, float]]:
    arms = dict.fromkeys([*SWEEPS, *START_ARMS, *WITHOUT_START])
    for arm in arms:
        if arm in TORCH_ONLY and not is_torch(task.name):
            continue
        if arm in WITHOUT_START:
            yield arm, 1.0
        for rate in sweep_rates(good, arm) if arm in SWEEPS else ():
            yield arm, rate
        for start in START_ARMS.get(arm, ()):
            yield arm, start_rate(good, start)
