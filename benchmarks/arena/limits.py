"""What the preset must hold, and whether it does on each task, as far as it was run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from benchmarks.arena.methods import METHODS, OURS
from benchmarks.arena.plan import STARTS
from benchmarks.arena.tables import ArenaResults
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.tables.cells import EMPTY, rounded, row_of, signed
from dynhp import recommended
from dynhp.engine.check import REPEATS

__all__ = ["check_share", "limit_table"]

MOST_RUNS = 1.4
SWEPT = ("best WSD of 6", "best cosine of 6", "best linear of 6")
BOUGHT = ("Ray Tune: PBT", "Ray Tune: PB2", "Optuna: TPE, pruned")


def check_share(epochs: int) -> float:
    """What the preset's self-check costs in runs: it is on by default, and off in the arena."""
    return REPEATS * recommended("learning_rate", epochs=epochs).tail_epochs(epochs) / epochs


def limit_table(results: ArenaResults, differences: Table, flatness: Table) -> Table:
    """The limits by task: whether each holds, and the number by which that is said."""
    tasks = results.arena.tasks
    apart = next((row[1:] for row in flatness.rows if row[0].text == OURS), ())
    rows = [
        row_of(
            f"costs at most {MOST_RUNS} runs from every start, with its self-check",
            *(_cost(results, task.name, check_share(task.epochs)) for task in tasks),
        ),
        row_of(
            "from the worst start to the best less than the interval over seeds",
            *(_flat(cell) for cell in apart or [EMPTY] * len(tasks)),
        ),
    ]
    asked: list[tuple[str, str, Sequence[str]]] = [
        ("not below leaving a good rate alone", "leave alone", ["good"]),
        ("not below the best constant of 5, from every start", "best constant of 5", list(STARTS)),
        *((f"not below the {name}, from every start", name, list(STARTS)) for name in SWEPT),
        *((f"not below {name}, from {_starts_of(name)}", name, list(STARTS)) for name in BOUGHT),
    ]
    for text, rival, starts in asked:
        cells = _lowest(differences, rival, starts, len(tasks))
        rows.append(row_of(text, *cells))
    for name in BOUGHT:
        good = [row[2:] for row in differences.rows if _of(row) == (name, "good")]
        means = [_above(cell) for cell in (good[0] if good else [EMPTY] * len(tasks))]
        rows.append(row_of(f"above {name} from the good start (on two thirds of tasks)", *means))
    return Table(
        name="limits",
        title="What must hold, and whether it does",
        headings=("limit", *results.tasks),
        rows=tuple(rows),
        note="Empty: not run. Not below: the mean difference of the worst start; 'no' where the "
        "95 % interval of a start, not corrected, lies below zero (then it is the worst of those), "
        "and 'no, sure' where one does after Holm's correction. A 'yes' of few seeds says little: "
        "intervals are wide then. Above: by the mean alone.",
    )


def _starts_of(rival: str) -> str:
    """From which starts a rival was run, in words."""
    own = METHODS[rival].starts
    return (
        "every start"
        if not own or set(own) == set(STARTS)
        else f"{len(own)} of {len(STARTS)} starts"
    )


def _of(row: Sequence[Cell]) -> tuple[str, str]:
    return row[0].text, row[1].text


def _said(holds: bool, text: str, value: float, *, sure: bool = False) -> Cell:
    word = "yes" if holds else "no, sure" if sure else "no"
    return Cell(text=word, second_line=text, values={"": word, "by": rounded(value)})


def _cost(results: ArenaResults, task: str, check: float) -> Cell:
    each = [results.entries(METHODS[OURS], task, start).values() for start in STARTS]
    if not all(each):
        return EMPTY
    runs = max(fmean(entry.runs for entry in entries) for entries in each) + check
    return _said(round(runs, 6) <= MOST_RUNS, f"{runs:.2f} at most", runs)


def _flat(cell: Cell) -> Cell:
    apart, interval = (cell.values.get(name) for name in ("apart", "interval"))
    if not isinstance(apart, float) or not isinstance(interval, float):
        return EMPTY
    return _said(apart < interval, f"{apart:.2f} < {interval:.2f}"
                 if apart < interval else f"{apart:.2f} > {interval:.2f}", apart)  # fmt: skip


def _lowest(differences: Table, rival: str, starts: Iterable[str], tasks: int) -> list[Cell]:
    """Of each task the worst start by its mean, once all are there.

    Where the interval of a start lies below zero, the worst of those: it is what decides.
    """
    own = METHODS[rival].starts
    wanted = {(rival, start) for start in starts if not own or start in own}
    rows = [row[2:] for row in differences.rows if _of(row) in wanted]
    cells = []
    for column in range(tasks):
        there = [(ends, row[column].side) for row in rows if (ends := _interval(row[column]))]
        if len(there) < len(wanted):
            cells.append(EMPTY)
            continue
        below = [(ends, side) for ends, side in there if sum(ends) < 0]
        (mean, half), _ = min(below or there, key=lambda each: each[0])
        sure = any(side == "below" for _, side in below)
        cells.append(_said(not below, f"{signed(mean)} ± {half:.2f}", mean, sure=sure))
    return cells


def _interval(cell: Cell) -> tuple[float, float] | None:
    """The mean and half the width of its interval; None where nothing was run, or one seed."""
    mean, half = (cell.values.get(name) for name in ("difference", "half_width_95"))
    if not isinstance(mean, float) or not isinstance(half, float) or not math.isfinite(half):
        return None
    return mean, half


def _above(cell: Cell) -> Cell:
    ends = _interval(cell)
    return EMPTY if ends is None else _said(ends[0] > 0, signed(ends[0]), ends[0])
