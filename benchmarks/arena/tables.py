"""The tables of the arena: values, our preset less each rival, the cost, and how flat it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.arena.methods import METHODS, OURS, Method, MethodResult, Runs, entries
from benchmarks.arena.plan import STARTS, Arena, Good
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.significance import holm, p_value
from benchmarks.paper.tables.cells import (
    EMPTY,
    difference_cell,
    mean_cell,
    number_cell,
    rounded,
    row_of,
)
from dynhp_pyg.runs.intervals import mean_of

__all__ = ["ArenaResults", "cost_table", "difference_table", "flatness_table", "seconds_table"]
__all__ += ["summary_table", "value_table"]

SURE = 0.05
WIDE = {"30 times too low", "good", "30 times too high"}
"""A method that was run from these starts has a row in the table of how flat it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaResults:
    """The runs of an arena, and the exponents of its good rates."""

    arena: Arena
    good: Good
    runs: Runs

    def entries(self, method: Method, task: str, start: str) -> dict[int, MethodResult]:
        """The entries of a method by seed."""
        return entries(self.runs, method, task, good=self.good, start=start, seeds=self.arena.seeds)

    def rows(self) -> Iterator[tuple[str, str, Method]]:
        """Each method that has results, with each of its starts ("" where it needs none)."""
        for name, method in METHODS.items():
            for start in method.starts or ("",):
                if any(self.entries(method, task, start) for task in self.tasks):
                    yield name, start, method

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return [task.name for task in self.arena.tasks]


def value_table(results: ArenaResults) -> Table:
    """The mean test value of each method, by task."""

    def cell(method: Method, task: str, start: str) -> Cell:
        values = [entry.value for entry in results.entries(method, task, start).values()]
        return mean_cell(mean_of(values) if values else None, of=results.arena.seeds)

    return _by_task(
        results,
        cell,
        name="values",
        title="Test value at the best-validation checkpoint: mean ± 95 % interval over seeds",
        note="Higher is better. Points of accuracy, AUC or explained variance, -100 nats, or moves "
        "(at most 200). Sweeps are around the good rate, which nobody knows beforehand.",
    )


def cost_table(results: ArenaResults) -> Table:
    """What each method costs, in runs."""

    def cell(method: Method, task: str, start: str) -> Cell:
        costs = [entry.runs for entry in results.entries(method, task, start).values()]
        return number_cell(fmean(costs) if costs else None)

    return _by_task(
        results,
        cell,
        name="cost",
        title="Cost: all epochs that were trained, in runs of the task",
        note="Tries, trials, range tests and the preset's self-check included.",
    )


def seconds_table(results: ArenaResults) -> Table:
    """What each method costs, in seconds; not the same when it is run again."""

    def cell(method: Method, task: str, start: str) -> Cell:
        seconds = [entry.seconds for entry in results.entries(method, task, start).values()]
        return number_cell(fmean(seconds) if seconds else None, 1)

    return _by_task(results, cell, name="seconds", title="Cost in seconds of one core")


def difference_table(results: ArenaResults) -> Table:
    """Our preset less each rival from the same start, paired by seed, corrected by Holm."""
    differences: dict[tuple[str, str, str], list[float]] = {}
    ours = METHODS.get(OURS)
    for name, method in METHODS.items() if ours is not None else ():
        for start in STARTS:
            if name == OURS or (method.starts and start not in method.starts):
                continue
            for task in results.tasks:
                mine = results.entries(ours, task, start)  # type: ignore[arg-type]
                theirs = results.entries(method, task, start)
                seeds = sorted(mine.keys() & theirs.keys())
                if seeds:
                    differences[name, start, task] = [
                        mine[seed].value - theirs[seed].value for seed in seeds
                    ]
    testable = {key: p_value(each) for key, each in differences.items() if len(each) > 1}
    corrected = dict(zip(testable, holm(list(testable.values())), strict=True))

    def cell(key: tuple[str, str, str]) -> Cell:
        if key not in differences:
            return EMPTY
        plain = difference_cell(mean_of(differences[key]), of=results.arena.seeds)
        p = corrected.get(key)
        sure = p is not None and p < SURE
        text = plain.text + (" *" if sure else " °" if plain.side else "")
        return replace(
            plain, text=text, side=plain.side if sure else "", values={**plain.values, "p_holm": p}
        )

    pairs = dict.fromkeys((name, start) for name, start, _ in differences)
    return Table(
        name="differences",
        title=f"{OURS} less each rival from the same start, paired by seed",
        headings=("rival", "start", *results.tasks),
        rows=tuple(
            row_of(name, start, *(cell((name, start, task)) for task in results.tasks))
            for name, start in pairs
        ),
        note="Mean ± 95 % interval, not corrected; * and colour: below 0.05 after Holm's "
        f"correction for all {len(testable)} differences of this table; °: the interval leaves out "
        "zero, but this may be luck.",
    )


def flatness_table(results: ArenaResults) -> Table:
    """How far the means of a method from all starts lie apart."""
    rows = []
    for name, method in METHODS.items():
        if set(method.starts) >= WIDE:
            cells = [_flatness(results, method, task) for task in results.tasks]
            if any(cell is not EMPTY for cell in cells):
                rows.append(row_of(name, *cells))
    return Table(
        name="flatness",
        title="From the worst start to the best: how far the means lie apart",
        headings=("method", *results.tasks),
        rows=tuple(rows),
        note="Of the starts that it was run from. Below it: half of the 95 % interval of the "
        "method's mean from the good start, over seeds. Where the first number is smaller, the "
        "start does not matter.",
    )


def _flatness(results: ArenaResults, method: Method, task: str) -> Cell:
    each = {start: results.entries(method, task, start) for start in method.starts}
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in each.values())))
    if not seeds:
        return EMPTY
    means = {s: mean_of([by_seed[seed].value for seed in seeds]) for s, by_seed in each.items()}
    apart = max(m.mean for m in means.values()) - min(m.mean for m in means.values())
    half = means["good"].half_width
    cell = number_cell(apart)
    within = "–" if half is None else f"{half:.2f}"
    return replace(
        cell, second_line=f"± {within}", values={"apart": rounded(apart), "interval": rounded(half)}
    )


def summary_table(results: ArenaResults, differences: Table) -> Table:
    """Wins, ties and losses of our preset against each rival and start, after the correction."""
    rows = []
    for row in differences.rows:
        cells = [cell for cell in row[2:] if cell is not EMPTY]
        sides = [cell.side for cell in cells]
        above, below = sides.count("above"), sides.count("below")
        open_ = [cell.text.startswith("−") for cell in cells if cell.text.endswith("°")]
        level = len(cells) - above - below
        rows.append(row_of(row[0], row[1], above, level, below, open_.count(False), sum(open_)))
    return Table(
        name="summary",
        title=f"{OURS} against each rival: on how many tasks it is above, level, below",
        headings=("rival", "start", "above", "level", "below", "° above", "° below"),
        rows=tuple(rows),
        note="Above and below: sure after Holm's correction. Level says that nothing was seen, "
        "not that nothing is there. °: of the level ones, how many intervals leave out zero before "
        "the correction.",
    )


def _by_task(
    results: ArenaResults,
    cell: Callable[[Method, str, str], Cell],
    *,
    name: str,
    title: str,
    note: str = "",
) -> Table:
    return Table(
        name=name,
        title=title,
        headings=("method", "start", *results.tasks),
        rows=tuple(
            row_of(method_name, start or "any", *(cell(method, t, start) for t in results.tasks))
            for method_name, start, method in results.rows()
        ),
        note=note,
    )
