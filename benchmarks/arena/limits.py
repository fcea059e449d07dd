"""What the preset must hold, and whether it does on each task, as far as it was run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev

from scipy.special import stdtr

from benchmarks.arena.methods import METHODS, OURS, MethodResult
from benchmarks.arena.plan import FAR, OFF_GRID, STARTS, good_of, power_of_two, start_rate
from benchmarks.arena.tables import ArenaResults
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.significance import holm, p_value
from benchmarks.paper.tables.cells import EMPTY, rounded, row_of, signed
from dynhp_pyg.runs.intervals import mean_of

__all__ = ["limit_table", "p_above"]

MOST_RUNS, MOST_FROM_GOOD = 1.4, 1.25
FAR_OFF = 10.0
"""How many times off a search may end before somebody should have said something."""
LEVEL = 0.025
"""Of one side: that at which an interval of 95 % ends."""

Entries = Mapping[int, MethodResult]


def p_above(differences: Sequence[float], floor: float) -> float:
    """How often luck alone gives a mean so far above the floor, by Student's t; of one side.

    >>> p_above([0.0, 0.0], -0.1), p_above([0.0, 0.0], 0.1), round(p_above([0.5, 1.5], 0.0), 3)
    (0.0, 1.0, 0.148)
    """
    mean = fmean(differences) - floor
    error = stdev(differences) / math.sqrt(len(differences))
    if error == 0:
        return float(mean <= 0)
    return float(stdtr(len(differences) - 1, -mean / error))


def limit_table(results: ArenaResults, margins: Mapping[str, float]) -> Table:
    """The limits by task: whether each holds, and the number by which that is said."""
    ours = METHODS[OURS]
    alone, sweep = METHODS["leave alone"], METHODS["best WSD of 6"]

    def our(task: str, start: str) -> Entries:
        return results.entries(ours, task, start)

    def left(task: str, start: str) -> Entries:
        return results.entries(alone, task, start)

    rows = [
        row_of("the margin δ: what twice the best rate costs", *_margins(results, margins)),
        row_of(
            f"each run costs at most {MOST_RUNS} runs, with its self-check, from all starts",
            *_costs(results, STARTS, MOST_RUNS, max),
        ),
        row_of(
            f"from the good start it costs at most {MOST_FROM_GOOD} runs on average",
            *_costs(results, ["good"], MOST_FROM_GOOD, fmean),
        ),
        row_of(
            "from each of ten wrong starts less than δ below the good start",
            *_not_below(results, margins, OFF_GRID, our, lambda task, _: our(task, "good")),
        ),
        row_of(
            "from a good rate less than δ below leaving it alone",
            *_not_below(results, margins, ["good"], our, left),
        ),
        row_of(
            "from 10 times too low above leaving it alone, for sure",
            *_above(results, "10 times too low", our, left),
        ),
        row_of(
            "from 10 times too high above leaving it alone, for sure",
            *_above(results, "10 times too high", our, left),
        ),
        row_of(
            "less than δ below the best of six runs with the same ending, from all starts",
            *_not_below(
                results, margins, STARTS, our, lambda task, _: results.entries(sweep, task, "")
            ),
        ),
        row_of(
            f"no search from up to 1000 times off ends more than {FAR_OFF:g} times off unsaid",
            *(_searches(results, task) for task in results.tasks),
        ),
        row_of(
            f"distinct among the runs from {len(STARTS)} starts, for information",
            *(_distinct(results, task) for task in results.tasks),
        ),
    ]
    return Table(
        name="limits",
        title="What must hold, and whether it does",
        headings=("limit", *results.tasks),
        rows=tuple(rows),
        note="Empty: not run. Differences are paired by seed: the mean, and the lower end of its "
        "95 % interval. Less than δ below: yes if the interval lies above −δ for sure, after "
        "Holm's correction over the tasks; the numbers are those of the start for which that is "
        "least sure. Runs from different starts that take the same rate are the same run, to the "
        "bit; how many are distinct is in the last row.",
    )


def _said(holds: bool, text: str, value: float | None) -> Cell:
    word = "yes" if holds else "no"
    return Cell(text=word, second_line=text, values={"": word, "by": rounded(value)})


def _margins(results: ArenaResults, margins: Mapping[str, float]) -> list[Cell]:
    known = [margins.get(task) for task in results.tasks]
    return [
        EMPTY if each is None else Cell(text=f"{each:.2f}", values={"": rounded(each)})
        for each in known
    ]


def _costs(
    results: ArenaResults,
    starts: Iterable[str],
    most: float,
    of: Callable[[list[float]], float],
) -> list[Cell]:
    cells = []
    for task in results.tasks:
        each = [results.entries(METHODS[OURS], task, start) for start in starts]
        if not all(each):
            cells.append(EMPTY)
            continue
        runs = of([entry.runs for entries in each for entry in entries.values()])
        cells.append(_said(round(runs, 6) <= most, f"{runs:.2f}", runs))
    return cells


def _differences(mine: Entries, theirs: Entries) -> list[float]:
    return [mine[seed].value - theirs[seed].value for seed in sorted(mine.keys() & theirs.keys())]


def _not_below(
    results: ArenaResults,
    margins: Mapping[str, float],
    starts: Iterable[str],
    mine: Callable[[str, str], Entries],
    theirs: Callable[[str, str], Entries],
) -> list[Cell]:
    """Of each task the start that is least surely above the margin."""
    worst: dict[str, tuple[float, list[float]]] = {}
    for start in starts:
        differences = {
            task: _differences(mine(task, start), theirs(task, start))
            for task in results.tasks
            if task in margins
        }
        testable = {task: each for task, each in differences.items() if len(each) > 1}
        p_values = [p_above(each, -margins[task]) for task, each in testable.items()]
        for (task, each), p in zip(testable.items(), holm(p_values), strict=True):
            if task not in worst or (p, -fmean(each)) > (worst[task][0], -fmean(worst[task][1])):
                worst[task] = (p, each)
    cells = []
    for task in results.tasks:
        if task not in worst:
            cells.append(EMPTY)
            continue
        p, each = worst[task]
        mean = mean_of(each)
        low = mean.mean - (mean.half_width or 0.0)
        text = f"{signed(mean.mean)}, above {signed(low)}"
        cells.append(_said(p < LEVEL, text, mean.mean))
    return cells


def _above(
    results: ArenaResults,
    start: str,
    mine: Callable[[str, str], Entries],
    theirs: Callable[[str, str], Entries],
) -> list[Cell]:
    differences = {
        task: _differences(mine(task, start), theirs(task, start)) for task in results.tasks
    }
    testable = {task: each for task, each in differences.items() if len(each) > 1}
    corrected = dict(
        zip(testable, holm([p_value(each) for each in testable.values()]), strict=True)
    )
    cells = []
    for task in results.tasks:
        if task not in testable:
            cells.append(EMPTY)
            continue
        mean = mean_of(testable[task])
        text = f"{signed(mean.mean)} ± {mean.half_width or 0.0:.2f}"
        cells.append(_said(mean.mean > 0 and corrected[task] < 2 * LEVEL, text, mean.mean))
    return cells


def _searches(results: ArenaResults, task: str) -> Cell:
    """How many searches ended far from the best rung of all without a hint."""
    good = results.good[task, "constant"]
    middle = power_of_two(good_of(results.good, task, "scan"))
    searched = far = unsaid = 0
    for seed in range(results.arena.seeds):
        scanned = results.runs.get((task, "scan", middle, seed))
        if scanned is None or scanned.result is None:
            continue
        for start in FAR:
            run = results.runs.get((task, "search", start_rate(good, start), seed))
            if run is None or run.result is None:
                continue
            searched += 1
            peak = run.result.get("peak")
            off = math.inf if peak is None else abs(math.log(peak / scanned.result["peak"]))
            if off > math.log(FAR_OFF) + 1e-3:
                far += 1
                unsaid += not run.result["warned"]
    if not searched:
        return EMPTY
    return _said(unsaid == 0, f"{unsaid} of {searched} ({far} far off)", unsaid)


def _distinct(results: ArenaResults, task: str) -> Cell:
    runs = [
        (seed, entry.value)
        for start in STARTS
        for seed, entry in results.entries(METHODS[OURS], task, start).items()
    ]
    if not runs:
        return EMPTY
    text = f"{len(set(runs))} of {len(runs)}"
    return Cell(text=text, values={"": text})
