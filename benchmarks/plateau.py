"""Plateaus and rescues on real data: against torch's ReduceLROnPlateau, and against divergence."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from _torch_tasks import TASKS, TorchTask

import dynhp_torch
from dynhp import Policy, plateau, rescue, spent
from dynhp.records.text import text_table
from dynhp_torch import optimizer_param

EPOCHS, PATIENCE, FACTOR, SEEDS = 25, 3, 3.0, 5
STARTS = {"good": 1.0, "high": 10.0, "low": 0.1}  # times the middle of the sweep
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # Student's t for so many seeds


def constant(task: TorchTask, schedule: Any = None) -> dict[str, float]:
    """Train with torch alone: a constant rate, or what a scheduler makes of it."""
    best, kept = math.inf, math.inf
    for _ in range(EPOCHS):
        task.train_epoch()
        loss = task.validation()
        if schedule is not None:
            schedule.step(loss)
        if loss < best:
            best, kept = loss, task.test()
    return {"end": task.test(), "best": kept, "runs": 1.0}


def torch_plateau(task: TorchTask) -> dict[str, float]:
    """ReduceLROnPlateau; it counts bad epochs beyond its patience, we up to it."""
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        task.optimizer,
        factor=1 / FACTOR,
        patience=PATIENCE - 1,
        threshold=0.0,
        threshold_mode="abs",
    )
    return constant(task, schedule)


def adapted(task: TorchTask, policy: Policy) -> dict[str, float]:
    """Train in a loop of dynhp, with this policy."""
    loop = dynhp_torch.adapt(
        EPOCHS,
        state=task.state,
        bind={"lr": optimizer_param(task.optimizer, "lr")},
        keep_best=True,
        policy=policy,
    )
    for epoch in loop:
        with epoch:
            task.train_epoch()
            epoch.report(val_loss=task.validation())
    cost, end = spent(loop), task.test()
    loop.restore_best()
    return {"end": end, "best": task.test(), "runs": cost.runs, "abandoned": cost.abandoned}


def made(data: Path, name: str, seed: int, rate: float) -> TorchTask:
    """A task as it is before its first epoch."""
    return TASKS[name][0](data, seed, rate)


def jobs(data: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """What is run, and how: the rescues first."""
    name, sweep = "characters", TASKS["characters"][1]
    for seed in range(SEEDS):
        for rate in (*sweep, 10 * sweep[3]):
            key = {"part": "rescue", "task": name, "seed": seed, "arm": "constant", "rate": rate}
            yield key, lambda s=seed, r=rate: constant(made(data, name, s, r))
        rate = 10 * sweep[3]
        key = {"part": "rescue", "task": name, "seed": seed, "arm": "rescue", "rate": rate}
        policy = rescue("lr", default=rate)
        yield key, lambda s=seed, r=rate, p=policy: adapted(made(data, name, s, r), p)
    for seed in range(SEEDS):
        for task, (_, rates) in TASKS.items():
            for start, times in STARTS.items():
                rate = rates[2] * times
                key = {"part": "plateau", "task": task, "seed": seed, "start": start, "rate": rate}
                policy = plateau("lr", default=rate, patience=PATIENCE, factor=FACTOR)
                yield (
                    {**key, "arm": "torch"},
                    lambda t=task, s=seed, r=rate: torch_plateau(made(data, t, s, r)),
                )
                yield (
                    {**key, "arm": "dynhp"},
                    lambda t=task, s=seed, r=rate, p=policy: adapted(made(data, t, s, r), p),
                )


def run(data: Path, log: Path) -> None:
    """Run what the log does not have yet, and write each line as it comes."""
    done = {_key(row) for row in _rows(log)}
    for key, job in jobs(data):
        if _key(key) not in done:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps({**key, **job()}) + "\n")


def _rows(log: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, log.read_text("utf-8").splitlines())) if log.exists() else []


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("part", "task", "seed", "arm", "rate"))


def rescue_table(rows: list[dict[str, Any]]) -> str:
    """The best constant of each seed's sweep, the rate ten times too high, and its rescue."""
    high, lines = 10 * TASKS["characters"][1][3], [("seed", "best constant", "its rate")]
    lines[0] += ("ten times that", "with rescue", "difference", "runs")  # type: ignore[operator]
    for seed in sorted({row["seed"] for row in rows}):
        mine = [row for row in rows if row["seed"] == seed]
        constants = [row for row in mine if row["arm"] == "constant"]
        saved = [row for row in mine if row["arm"] == "rescue"]
        sweep = [row for row in constants if row["rate"] != high and math.isfinite(row["end"])]
        plain = [row for row in constants if row["rate"] == high]
        if sweep and saved and plain:
            best, with_rescue = min(sweep, key=lambda row: row["end"]), saved[0]
            gap = with_rescue["end"] / best["end"] - 1
            lines.append(
                (
                    str(seed), f"{best['end']:.4f}", f"{best['rate']:g}", f"{plain[0]['end']:.4f}",
                    f"{with_rescue['end']:.4f}", f"{gap:+.1%}", f"{with_rescue['runs']:.2f}",
                )  # type: ignore[arg-type]
            )  # fmt: skip
    return text_table(lines, right=True)


def plateau_table(rows: list[dict[str, Any]]) -> str:
    """Test losses of both, and their paired difference with its 95 % interval."""
    heads = ("task", "start", "seeds", "torch", "dynhp", "difference", "best: difference", "runs")
    lines: list[tuple[str, ...]] = [heads]
    for task in TASKS:
        for start in STARTS:
            both = [row for row in rows if (row["task"], row["start"]) == (task, start)]
            arms = {
                arm: {r["seed"]: r for r in both if r["arm"] == arm} for arm in ("torch", "dynhp")
            }
            seeds = sorted(arms["torch"].keys() & arms["dynhp"].keys())
            if len(seeds) > 1:
                pairs = [(arms["torch"][seed], arms["dynhp"][seed]) for seed in seeds]
                lines.append(
                    (
                        task, start, str(len(seeds)), _mean([a["end"] for a, _ in pairs]),
                        _mean([b["end"] for _, b in pairs]),
                        _interval([b["end"] - a["end"] for a, b in pairs]),
                        _interval([b["best"] - a["best"] for a, b in pairs]),
                        f"{statistics.fmean(b['runs'] for _, b in pairs):.2f}",
                    )
                )  # fmt: skip
    return text_table(lines)


def _mean(values: list[float]) -> str:
    return f"{statistics.fmean(values):.4f}"


def _interval(values: list[float]) -> str:
    if not all(map(math.isfinite, values)):
        return "not finite"
    half = T95[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return f"{mean:+.4f} ± {half:.4f}" + ("*" if abs(mean) > half else "")


def main() -> None:
    """Run what is missing, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("DYNHP_DATA"))
    parser.add_argument(
        "--log", type=Path, default=Path(__file__).parents[1] / "docs/results/plateau.jsonl"
    )
    parser.add_argument("--table", action="store_true", help="print the tables of the log only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if not arguments.table:
        if arguments.data is None:
            parser.error(
                "pass --data DIR (or set DYNHP_DATA) with images/, text/ and graphs/ in it"
            )
        run(Path(arguments.data), arguments.log)
    rows = _rows(arguments.log)
    print(rescue_table([row for row in rows if row["part"] == "rescue"]), end="\n\n")
    print(plateau_table([row for row in rows if row["part"] == "plateau"]))


if __name__ == "__main__":
    main()
