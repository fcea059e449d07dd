"""Every method with the same restarts of the learning rate: what is left of AdaGrid's gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.paper.compared import (
    COMPLETE,
    RESTARTS,
    UNADAPTED,
    Column,
    ComparedMethod,
    fixed,
)
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.results import Results, mean_or_none
from benchmarks.paper.tables.cells import (
    DASH,
    column_table,
    difference_cell,
    mean_cell,
    paired_cell,
    row_of,
    signed,
)
from benchmarks.paper.tables.rates import FIXED_RESTARTED, RANDOM_NUMBERS
from benchmarks.paper.tables.tested import (
    ADAGRIDS,
    BEST_FIXED,
    RIVALS,
    Key,
    TestedDifference,
    tested_differences,
)
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["fair_findings", "fair_means_table", "fair_table", "fresh_seeds_table"]
__all__ += ["ratios_table", "restarts_table"]


def restarts_table(results: Results, negatives: str) -> Table:
    """Every method less complete search as it is usual: a rate that falls and never restarts."""
    methods = [each for each in results.methods if each not in (COMPLETE, *_searched_ratios())]
    return column_table(
        results.columns_with(negatives),
        {str(method): partial(_paired, results, method, COMPLETE) for method in methods},
        name=f"restarts_{negatives}",
        title=f"Less complete search without restarts: {negatives} negatives",
        note="Points of AUC, paired by seed. @10: the learning rate restarts every 10 epochs. "
        f"Bold: the interval does not hold zero. {RANDOM_NUMBERS}",
    )


def fair_table(results: Results, negatives: str) -> Table:
    """AdaGrid with restarts less each rival that has the same restarts, or a rate that stays."""
    tested = tested_differences(results)
    rows = {
        f"{method} − {rival}": partial(_tested_cell, results, tested, method, rival)
        for method in ADAGRIDS
        for rival in (*RIVALS, BEST_FIXED)
        if method in results.methods
    }
    return column_table(
        results.columns_with(negatives),
        rows,
        name=f"fair_{negatives}",
        title=f"AdaGrid less its rivals, all with the same restarts: {negatives} negatives",
        first="difference",
        note="Points of AUC, paired by seed; p by Student's t, corrected by Holm for all "
        f"{len(tested)} differences of this report's tables of this kind. Bold: p < 0.05. The best "
        "fixed ratio is the one of nine with the highest mean test AUC in the column, which "
        "flatters it; complete search chooses by validation, seed by seed.",
    )


def fresh_seeds_table(results: Results) -> Table | None:
    """The column with more seeds, by the seeds that all columns have and by the others.

    A first measurement made it a column to look at. Its seeds may be among the first ones here,
    which then flatter what is looked for.
    """
    first = min(results.seeds_in.values())
    more = [column for column, seeds in results.seeds_in.items() if seeds > first]
    if not more:
        return None
    (column,) = more
    groups = {
        "all seeds": range(results.seeds_in[column]),
        f"seeds 0 to {first - 1}": range(first),
        f"seeds {first} and on": range(first, results.seeds_in[column]),
    }
    tested = tested_differences(results)
    return Table(
        name="fresh_seeds",
        title=f"AdaGrid less its rivals, {column} negatives: the seeds apart",
        headings=("difference", *groups),
        rows=tuple(
            row_of(
                f"{method} − {name}",
                *(_over(tested[method, name, where], each) for each in groups.values()),
            )
            for method, name, where in tested
            if where == column
        ),
        note="Points of AUC, paired by seed, not corrected for their number. A first measurement, "
        "whose seeds may be among the first ones here, made this a column to look at.",
    )


def fair_means_table(results: Results, negatives: str) -> Table:
    """The mean AUC of every method."""
    return column_table(
        results.columns_with(negatives),
        {
            str(method): partial(_mean, results, method)
            for method in results.methods
            if method not in _searched_ratios()
        },
        name=f"means_{negatives}",
        title=f"Test AUC: {negatives} negatives",
        note=_seeds_note(results, results.columns_with(negatives)),
    )


def ratios_table(results: Results, negatives: str) -> Table:
    """The nine fixed ratios with restarts: how much the ratio matters where the rate stays high."""
    return column_table(
        results.columns_with(negatives),
        {
            f"{ratio:g}": partial(_mean, results, fixed(ratio, rate_restarts=RESTARTS))
            for ratio in RATIOS
        },
        name=f"fixed_{negatives}",
        title=f"Fixed ratios @10: {negatives} negatives",
        first="ratio",
        folded=True,
    )


def fair_findings(results: Results) -> Iterator[str]:
    """Say what the tables show: the rate alone, and what AdaGrid adds to it."""
    for column in results.columns:
        alone = _paired(results, FIXED_RESTARTED, COMPLETE, column)
        adapted = _paired(results, ADAGRIDS[0], COMPLETE, column)
        if alone.text != DASH and adapted.text != DASH:
            yield (
                f"{column} negatives, less complete search without restarts: a fixed ratio of 0.5 "
                f"with restarts {alone.text}; {ADAGRIDS[0]} {adapted.text} points "
                f"(restarts_{column.negatives}.csv)."
            )
    tested = tested_differences(results)
    sure = [
        f"{method} − {rival}, {column} ({signed(each.difference.mean)}, {_p(each.corrected)})"
        for (method, rival, column), each in tested.items()
        if each.side
    ]
    if tested:
        yield (
            f"Of {len(tested)} differences between AdaGrid and rivals with the same restarts, or a "
            f"constant rate, {len(sure)} are not zero after Holm's correction"
            f"{': ' + '; '.join(sure) if sure else ''} (fair_*.csv)."
        )


def _searched_ratios() -> Sequence[ComparedMethod]:
    """All fixed ratios but 0.5: they are part of the two complete searches."""
    return [
        fixed(ratio, rate_restarts=restarts)
        for ratio in RATIOS
        for restarts in (None, RESTARTS)
        if ratio != UNADAPTED.ratio
    ]


def _seeds_note(results: Results, columns: Sequence[Column]) -> str:
    return "; ".join(f"{each.graph_and_split}: {results.seeds_in[each]} seeds" for each in columns)


def _paired(
    results: Results, method: ComparedMethod, rival: ComparedMethod, column: Column
) -> Cell:
    return paired_cell(results, method, rival, column, of=results.seeds_in[column])


def _mean(results: Results, method: ComparedMethod, column: Column) -> Cell:
    return mean_cell(results.mean(column, method), of=results.seeds_in[column])


def _tested_cell(
    results: Results,
    tested: Mapping[Key, TestedDifference],
    method: ComparedMethod,
    rival: str,
    column: Column,
) -> Cell:
    each, of = tested.get((method, rival, column)), results.seeds_in[column]
    if each is None:
        return difference_cell(None, of=of)
    cell = difference_cell(each.difference, of=of)
    corrected = None if each.corrected is None else f"{each.corrected:.3g}"
    values = {**cell.values, "p_holm": corrected}
    return replace(cell, values=values, second_line=_p(each.corrected), side=each.side)


def _over(tested: TestedDifference, seeds: range) -> Cell:
    there = [value for seed, value in tested.by_seed.items() if seed in seeds]
    return difference_cell(mean_or_none(there), of=len(seeds))


def _p(corrected: float | None) -> str:
    if corrected is None:
        return ""
    return "p < 0.001" if corrected < 0.001 else f"p = {corrected:.3f}"
