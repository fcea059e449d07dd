"""What is left of an arena, and how long it takes by what runs of its tasks have taken."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from benchmarks.arena.plan import PlannedTask
from benchmarks.arena.runs.arms import COSTS
from benchmarks.arena.tasks.registry import make_trainer
from dynhp.campaign.data import canonical
from dynhp.campaign.results import Finished
from dynhp.records.text import text_table

__all__ = ["clocked_seconds", "estimated", "plain_seconds"]

RAY_SECONDS = 12.0
"""What Ray costs beside the training, for each run of a population."""
LEAST_CLOCKED = 0.2
"""CPU seconds: the clock of a process may tick only every hundredth of a second."""


def plain_seconds(piloted: Iterable[Finished]) -> dict[str, float]:
    """The seconds of a plain run of each task: the fastest of its lowest rate in the pilot.

    What else the machine did made the others slower. High rates may be lost early, which is faster.
    """
    took: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for run in piloted:
        if run.error is None:
            took[run.settings["task"]].append((run.settings["rate"], run.seconds))
    return {
        task: min(seconds for rate, seconds in each if rate == min(each)[0])
        for task, each in took.items()
    }


def clocked_seconds(tasks: Iterable[PlannedTask], *, times: int = 8) -> dict[str, float]:
    """The CPU seconds of a plain run of each task, by at least ``times`` epochs.

    Nothing is measured but time. The seconds of a campaign are those on the wall, in which others
    may have used the machine too.
    """
    torch.set_num_threads(1)
    return {task.name: task.epochs * _epoch(task, times) for task in tasks}


def _epoch(task: PlannedTask, times: int) -> float:
    trainer = make_trainer(task.name, seed=0, steps=task.steps)
    epochs = 0
    took = 0.0
    began = time.process_time()
    while epochs < times or took < LEAST_CLOCKED:
        trainer.train_k(1, {"lr": 0.001})
        epochs += 1
        took = time.process_time() - began
    return took / epochs


def estimated(
    runs: Sequence[Mapping[str, Any]],
    ended: Iterable[Finished],
    seconds: Mapping[str, float],
    *,
    every_arm: bool,
) -> str:
    """The runs that are left and what they cost, in all or by task and arm.

    ``seconds`` are those of a plain run, by task, as far as they are known.
    """
    done = {canonical(run.settings) for run in ended if run.error is None}
    left = [run for run in runs if canonical(run) not in done]
    equal = sum(COSTS.get(run["arm"], 1.0) for run in left)
    text = f"{len(left)} of {len(runs)} runs are left, as long as {equal:.0f} plain ones"
    if all(run["task"] in seconds for run in left):
        text += f": about {sum(_seconds(run, seconds) for run in left) / 3600:.1f} CPU hours"
    return f"{text}\n{_by_arm(runs, left, seconds)}" if every_arm else text


def _seconds(run: Mapping[str, Any], plain: Mapping[str, float]) -> float:
    ray = RAY_SECONDS * (run["arm"] in ("pbt", "pb2"))
    return COSTS.get(run["arm"], 1.0) * plain[run["task"]] + ray


def _by_arm(
    runs: Sequence[Mapping[str, Any]],
    left: Sequence[Mapping[str, Any]],
    plain: Mapping[str, float],
) -> str:
    """Runs that are left of those wanted, and minutes, for each arm; a line for each task."""
    wanted = Counter(run["arm"] for run in runs)
    rows = [("arm", "runs left", "of", "minutes")]
    for arm, count in wanted.items():
        rows.append((arm, *_row([run for run in left if run["arm"] == arm], count, plain)))
    rows.append(("task", "", "", ""))
    for task, count in Counter(run["task"] for run in runs).items():
        rows.append((task, *_row([run for run in left if run["task"] == task], count, plain)))
    return text_table(rows)


def _row(
    left: Sequence[Mapping[str, Any]], count: int, plain: Mapping[str, float]
) -> tuple[str, str, str]:
    known = all(run["task"] in plain for run in left)
    minutes = f"{sum(_seconds(run, plain) for run in left) / 60:.0f}" if known else "?"
    return str(len(left)), str(count), minutes
