"""Which runs make up the arena: read from a file of tasks, with the good rate of each task."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.arena.runs.arms import TORCH_ONLY, WITHOUT_START
from benchmarks.arena.tasks.registry import is_torch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Arena", "FAR", "Good", "OFF_GRID", "PILOTS", "PlannedTask", "START_ARMS", "STARTS"]
__all__ += ["SWEEPS", "good_of", "good_rates", "pilot_runs", "power_of_two", "read_arena"]
__all__ += ["runs_of", "start_rate", "sweep_rates"]

STARTS: Mapping[str, float] = {
    "30 times too low": 1 / 30,
    "17.8 times too low": 1 / 17.8,
    "10 times too low": 1 / 10,
    "5.6 times too low": 1 / 5.6,
    "1.8 times too low": 1 / 1.8,
    "good": 1.0,
    "1.8 times too high": 1.8,
    "5.6 times too high": 5.6,
    "10 times too high": 10.0,
    "17.8 times too high": 17.8,
    "30 times too high": 30.0,
}
"""What the good rate is multiplied with. Rates of the preset's ladder are half powers of ten apart,
so these are in the middle between two of them, near them, and in between."""

OFF_GRID = tuple(start for start in STARTS if start != "good")
_FIVE = ("30 times too low", "10 times too low", "good", "10 times too high", "30 times too high")
_THREE = ("10 times too low", "good", "10 times too high")
_SHIFTED = ("17.8 times too low", "good", "17.8 times too high")

FAR: Mapping[str, float] = {
    "1000 times too low": 1 / 1000,
    "300 times too low": 1 / 300,
    "56 times too low": 1 / 56,
    "56 times too high": 56.0,
    "300 times too high": 300.0,
    "1000 times too high": 1000.0,
}
"""Where searches begin that are carried out without a run after them."""

SWEEPS: Mapping[str, Sequence[int]] = {
    "constant": range(-3, 3),
    "cosine": range(-2, 4),
    "wsd": range(-2, 4),
    "average": range(-2, 4),
    "schedule-free": range(-3, 3),
}
"""The six rates of a sweep, as powers of two around the good one: its own, for Schedule-Free."""

MARGIN_SWEEP = range(-2, 5)
"""That of the margins: one more rate, because they say what twice the best rate costs."""

PILOTS = ("constant", "schedule-free")
"""The arms whose good rate is looked for on seeds of their own; others share that of constants."""

START_ARMS: Mapping[str, Sequence[str]] = {
    "preset-schedule": tuple(STARTS),
    "preset-average": _SHIFTED,
    "preset-none": _SHIFTED,
    "preset-shifted": _SHIFTED,
    "constant": _FIVE,
    "wsd": _FIVE,
    "average": _THREE,
    "schedule-free": _THREE,
    "plateau": _FIVE,
    "greedy": _FIVE,
    "ema-race": _THREE,
    "adagrid": _THREE,
    "placebo": _THREE,
    "random": _THREE,
    "tpe": _FIVE,
    "pbt": ("good",),
    "pbt-whole": _THREE,
    "pb2": ("good",),
    "search": tuple(FAR),
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


Good = Mapping[tuple[str, str], int]
"""The exponents of the good rates, by task and by arm of the pilot."""


def read_arena(path: Path) -> Arena:
    """Read a file such as ``tasks.toml``."""
    content = tomllib.loads(path.read_text("utf-8"))
    tasks = (PlannedTask(**{**each, "pilot": tuple(each["pilot"])}) for each in content["task"])
    return Arena(
        tasks=tuple(tasks), seeds=content["seeds"], pilot_seeds=tuple(content["pilot_seeds"])
    )


def power_of_two(exponent: int) -> float:
    """A power of two, in four digits.

    >>> power_of_two(-4), power_of_two(-10)
    (0.0625, 0.0009766)
    """
    return float(f"{2.0**exponent:.4g}")


def pilot_runs(arena: Arena) -> list[dict[str, Any]]:
    """Constants and Schedule-Free on seeds of their own, to know what a good rate is."""
    return [
        task.settings(arm, power_of_two(exponent), seed)
        for task in arena.tasks
        for arm, exponents in _pilots(task).items()
        for exponent in exponents
        for seed in arena.pilot_seeds
    ]


def _pilots(task: PlannedTask) -> Mapping[str, Sequence[int]]:
    """The rates of a pilot by its arm: Schedule-Free is at its best with higher ones."""
    low, high = task.pilot
    ranges = {"constant": range(low, high + 1), "schedule-free": range(low + 1, high + 6)}
    return {
        arm: each for arm, each in ranges.items() if arm not in TORCH_ONLY or is_torch(task.name)
    }


def good_rates(arena: Arena, values: Mapping[tuple[str, str, float], Sequence[float]]) -> Good:
    """The exponent of the best rate of each task and arm, by the mean of its validation scores."""
    return {
        (task.name, arm): max(
            exponents,
            key=lambda exponent: math.fsum(values[task.name, arm, power_of_two(exponent)]),
        )
        for task in arena.tasks
        for arm, exponents in _pilots(task).items()
    }


def good_of(good: Good, task: str, arm: str) -> int:
    """The exponent of the good rate for an arm: its own if it has a pilot, or that of constants."""
    return good.get((task, arm), good[task, PILOTS[0]])


def start_rate(good: int, start: str) -> float:
    """The rate that a start gives."""
    times = STARTS[start] if start in STARTS else FAR[start]
    return power_of_two(good) if times == 1 else float(f"{2.0**good * times:.4g}")


def sweep_rates(good: int, arm: str) -> list[float]:
    """The rates of a sweep around the good one."""
    return [power_of_two(good + shift) for shift in SWEEPS[arm]]


def runs_of(
    arena: Arena,
    good: Good,
    arms: Iterable[str] | None = None,
    starts: Iterable[str] | None = None,
) -> list[dict[str, Any]]:
    """All runs, each once: sweeps and starts share those that are the same.

    With ``starts`` arms begin at these alone; sweeps are whole.
    """
    wanted = None if arms is None else set(arms)
    runs: dict[tuple[Any, ...], dict[str, Any]] = {}
    for task in arena.tasks:
        for arm, rate in _rates(task, good, None if starts is None else set(starts)):
            if wanted is None or arm in wanted:
                for seed in range(arena.seeds):
                    runs[task.name, arm, rate, seed] = task.settings(arm, rate, seed)
    return list(runs.values())


def _rates(
    task: PlannedTask, good: Good, starts: Collection[str] | None
) -> Iterable[tuple[str, float]]:
    arms = dict.fromkeys([*SWEEPS, *START_ARMS, *WITHOUT_START])
    for arm in arms:
        if arm in TORCH_ONLY and not is_torch(task.name):
            continue
        exponent = good_of(good, task.name, arm)
        if arm in WITHOUT_START:
            # A scan has all rungs around the good rate; the others need to know nothing.
            yield arm, power_of_two(exponent) if arm == "scan" else 1.0
        for rate in sweep_rates(exponent, arm) if arm in SWEEPS else ():
            yield arm, rate
        if arm == "wsd":
            yield arm, power_of_two(exponent + MARGIN_SWEEP[-1])
        for start in START_ARMS.get(arm, ()):
            if starts is not None and start not in starts:
                continue
            yield arm, start_rate(good[task.name, PILOTS[0]], start)
