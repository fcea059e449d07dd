"""AdaGrid with the published code's learning rate, with the paper's, and the rate by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.paper.compared import (
    COMPLETE,
    MAIN_PAIR,
    RANDOM,
    RESTARTS,
    UNADAPTED,
    Column,
    ComparedMethod,
    placebo,
)
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.published import AUC, GAIN, Row
from benchmarks.paper.results import Results
from benchmarks.paper.tables.agreement import TOLERANCE, agreement, is_comparable
from benchmarks.paper.tables.cells import (
    DASH,
    auc_cell,
    column_table,
    compared_cell,
    difference_cell,
    paired_cell,
    row_of,
    signed,
)
from benchmarks.paper.tables.rows import gain, gain_of, methods_in_row, result_in_row
from dynhp_pyg.runs.intervals import Mean

__all__ = ["AS_PUBLISHED", "AS_WRITTEN", "FIXED_RESTARTED", "PLACEBO_RESTARTED", "RANDOM_NUMBERS"]
__all__ += [
    "gains_table",
    "likeness_table",
    "rates_findings",
    "restarted_paired_table",
    "values_table",
]

FIXED_RESTARTED = replace(UNADAPTED, rate_restarts=RESTARTS)
PLACEBO_RESTARTED = replace(placebo((10, 1)), rate_restarts=RESTARTS)

AS_PUBLISHED = "ours, the published code's rate"
AS_WRITTEN = "ours, the rate as the paper writes it"
_RESTARTS_ONLY = "ours, the same restarts, ratio fixed at 0.5"
_RESTARTS_AND_LUCK = "ours, the same restarts, placebo"

RANDOM_NUMBERS = (
    "Where AdaGrid's rate restarts its tries also draw random numbers of their own, as published; "
    "elsewhere the tries of a round share theirs."
)
"""What else differs between AdaGrid with and without restarts."""

_MakeCell = Callable[[Column], Cell]


def gains_table(results: Results, negatives: str) -> Table:
    """What AdaGrid gains over the better search: published, with its rate, without, rate alone."""
    pair = MAIN_PAIR[negatives]
    published: dict[str, _MakeCell] = {"published": _published_gain}
    rows: dict[str, _MakeCell] = {
        **(published if results.of_published_model else {}),
        AS_PUBLISHED: lambda column: _cell(results, gain(results, column, [pair], published=True)),
        AS_WRITTEN: lambda column: _cell(results, gain(results, column, [pair])),
        _RESTARTS_ONLY: lambda column: _cell(results, gain_of(results, column, [FIXED_RESTARTED])),
        _RESTARTS_AND_LUCK: lambda column: _cell(
            results, gain_of(results, column, [PLACEBO_RESTARTED])
        ),
    }
    return column_table(
        results.columns_with(negatives),
        rows,
        name=f"gains_{negatives}",
        title=f"Gain over the better search: {negatives} negatives, AdaGrid {pair[0]}/{pair[1]}",
        note="Points of AUC, of means over the seeds that all of them have. AdaGrid is the better "
        "of two criteria by test results, as published. The searches never restart their rate, "
        f"as published. {RANDOM_NUMBERS}",
    )


def values_table(results: Results, negatives: str) -> Table:
    """The searches and AdaGrid with either rate; under a value of the paper's, the published."""
    rows: dict[str, _MakeCell] = {
        str(method): partial(_row_cell, results, method.name, published=False)
        for method in (COMPLETE, RANDOM)
    }
    for pair in MAIN_PAIR.values():
        for published in (True, False):
            first = next(iter(methods_in_row(pair, published=published).values()))
            name = str(replace(first, criterion=None))
            rows[name] = partial(_row_cell, results, pair, published=published)
    for method in (FIXED_RESTARTED, PLACEBO_RESTARTED):
        rows[str(method)] = partial(auc_cell, results, method)
    return column_table(
        results.columns_with(negatives),
        rows,
        name=f"values_{negatives}",
        title=f"Test AUC: {negatives} negatives",
        note="@10: the learning rate restarts every 10 epochs. AdaGrid: the better of two "
        "criteria. Under a value: the published one and, in brackets, ours less it.",
    )


def restarted_paired_table(results: Results, negatives: str) -> Table:
    """Every method less complete search without restarts, paired by seed."""
    methods = [each for each in results.methods if each.name in ("random", "adagrid", "placebo")]
    return column_table(
        results.columns_with(negatives),
        {
            str(method): partial(_against_complete, results, method)
            for method in [*methods, FIXED_RESTARTED]
        },
        name=f"paired_complete_{negatives}",
        title=f"Less complete search, column by column: {negatives} negatives",
        folded=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """In how many columns a row of ours is like the published one: near it, and of its sign."""

    near: int
    signs: int
    columns: int
    others: tuple[str, ...]


def likeness_table(results: Results) -> Table:
    """How near AdaGrid with either rate comes to the published values."""
    rows = []
    for name, chosen in _groups(results).items():
        for published, rate in ((True, AS_PUBLISHED), (False, AS_WRITTEN)):
            like = _likeness(results, chosen, published=published)
            rows.append(
                row_of(
                    name,
                    rate,
                    _share(like.near, like.columns),
                    _share(like.signs, like.columns),
                    "; ".join(like.others) or DASH,
                )
            )
    return Table(
        name="likeness",
        title=f"Within {TOLERANCE} points of the published value, and of its sign",
        headings=("method", "rate", "within", "sign of the gain over complete search", "outside"),
        rows=tuple(rows),
        note="The sign is that of AdaGrid less complete search, of published values and of our "
        "means over seeds. Outside: ours less the published value.",
    )


def rates_findings(results: Results) -> Iterator[str]:
    """Say what the tables show, where there is something published to compare with."""
    if not is_comparable(results):
        return
    for name, chosen in _groups(results).items():
        for published, rate in ((True, AS_PUBLISHED), (False, AS_WRITTEN)):
            like = _likeness(results, chosen, published=published)
            if like.columns:
                yield (
                    f"{name}, {rate}: within {TOLERANCE} points of the published value in "
                    f"{like.near} of {like.columns} columns, and above or below complete search "
                    f"as published in {like.signs} (likeness.csv)."
                )


_Chosen = Sequence[tuple[Column, Row]]


def _groups(results: Results) -> dict[str, _Chosen]:
    first, second = MAIN_PAIR.values()
    return {
        "AdaGrid 10/1 uniform, 10/5 community": [
            (column, MAIN_PAIR[column.negatives]) for column in results.columns
        ],
        "AdaGrid 10/1": [(column, first) for column in results.columns],
        "AdaGrid 10/5": [(column, second) for column in results.columns],
    }


def _likeness(results: Results, chosen: _Chosen, *, published: bool) -> Likeness:
    near = signs = columns = 0
    others: list[str] = []
    for column, row in chosen:
        ours = result_in_row(results, column, row, published=published)[1]
        complete = results.mean(column, COMPLETE)
        if ours is None or complete is None or column not in AUC[row]:
            continue
        columns += 1
        counted = agreement(results, [row], columns=[column], published=published)
        near += counted.within
        others += counted.outside
        gained = AUC[row][column] - AUC["complete"][column]
        signs += (ours.mean - complete.mean > 0) == (gained > 0)
    return Likeness(near=near, signs=signs, columns=columns, others=tuple(others))


def _share(count: int, of: int) -> Cell:
    return Cell(text=f"{count} of {of}" if of else DASH, values={"": count, "of": of})


def _published_gain(column: Column) -> Cell:
    return Cell(text=signed(GAIN[column]), values={"difference": GAIN[column], "seeds": 3})


def _cell(results: Results, difference: Mean | None) -> Cell:
    return difference_cell(difference, of=results.seeds)


def _against_complete(results: Results, method: ComparedMethod, column: Column) -> Cell:
    return paired_cell(results, method, COMPLETE, column)


def _row_cell(results: Results, row: Row, column: Column, *, published: bool) -> Cell:
    criterion, auc = result_in_row(results, column, row, published=published)
    published_auc = AUC[row].get(column) if results.of_published_model else None
    return compared_cell(published_auc, auc, of=results.seeds, criterion=criterion)
