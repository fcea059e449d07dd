"""The margin of each task: what a rate twice the best costs there, which a method may lose at most.

It is committed before any run of the preset on the tasks for confirmation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from benchmarks.arena.methods import OUR_SWEEP, Runs
from benchmarks.arena.plan import MARGIN_SWEEP, Arena, Good, good_of, power_of_two

__all__ = ["FILE", "margins_of", "read_margins", "write_margins"]

FILE = Path(__file__).with_name("margins.json")


def margins_of(arena: Arena, good: Good, runs: Runs) -> dict[str, float]:
    """Of each task whose sweep is whole: the best mean test value, less that of twice the rate."""
    margins = {}
    for task in arena.tasks:
        middle = good_of(good, task.name, OUR_SWEEP)
        means = []
        for shift in MARGIN_SWEEP:
            keys = [
                (task.name, OUR_SWEEP, power_of_two(middle + shift), seed)
                for seed in range(arena.seeds)
            ]
            there = [runs[key].result for key in keys if key in runs]
            if len(there) == arena.seeds:
                means.append(fmean(float(result["value"]) for result in there if result))
        if len(means) == len(MARGIN_SWEEP):
            best = max(range(len(means) - 1), key=lambda place: means[place])
            margins[task.name] = float(f"{means[best] - means[best + 1]:.4g}")
    return margins


def read_margins(path: Path = FILE) -> Mapping[str, float]:
    """The margins that were committed; none if there is no such file."""
    if not path.is_file():
        return {}
    margins: dict[str, float] = json.loads(path.read_text("utf-8"))
    return margins


def write_margins(margins: Mapping[str, float], path: Path = FILE) -> None:
    """Keep the margins of these tasks; those that are known already must not change."""
    known = dict(read_margins(path))
    for task, margin in margins.items():
        if known.get(task, margin) != margin:
            raise SystemExit(f"{task}: its margin is {known[task]}, and now it would be {margin}")
    path.write_text(json.dumps({**known, **margins}, indent=1) + "\n", "utf-8")
