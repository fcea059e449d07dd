"""The tables of the paper: the published value beside ours, its interval and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dynhp_pyg.intervals import Mean
from dynhp_pyg.reproduction.arms import COMPLETE, RANDOM, Arm, Column, adagrid
from dynhp_pyg.reproduction.cells import DASH, compared, measured, number, signed, words
from dynhp_pyg.reproduction.found import Found, Outcome, mean
from dynhp_pyg.reproduction.plan import CRITERIA, PAIRS
from dynhp_pyg.reproduction.published import AUC, EPOCHS, GAIN, GAIN_OF_ALL, MAIN_PAIR, Row
from dynhp_pyg.reproduction.table import Cell, Table

__all__ = ["better", "criteria_table", "epochs_table", "ours", "pairs_in", "paper_tables"]
__all__ += ["table_of"]

Pair = tuple[int, int]

_BASELINES: Sequence[Row] = ("complete", "random")
_ONE = Column(graph="cora", split="80/10/10", negatives="uniform")  # of the paper's table of costs
_BETTER = (
    "Under each value: the published one and, in brackets, ours less it. AdaGrid is the better of "
    "the two criteria (val. or gap) by its mean test AUC, as in the paper. To choose by test "
    "results is optimistic: see the criteria apart."
)


def paper_tables(found: Found) -> tuple[Table, ...]:
    """Every table of the paper, in its order, as far as the campaign has its columns."""
    main = [
        table_of(
            found,
            negatives,
            pairs=[pair],
            gain=GAIN,
            name=f"table{place}_{negatives}_{pair[0]}_{pair[1]}",
            title=f"Table {place} of the paper: {negatives} negatives, {_label(pair)}",
        )
        for place, (negatives, pair) in zip((1, 3), MAIN_PAIR.items(), strict=True)
    ]
    complete = [
        table_of(
            found,
            negatives,
            pairs=PAIRS,
            gain=GAIN_OF_ALL,
            name=f"table{place}_{negatives}_complete",
            title=f"Table {place} of the paper: {negatives} negatives, every pair of epochs",
        )
        for place, negatives in zip((4, 5), MAIN_PAIR, strict=True)
    ]
    return (main[0], epochs_table(found), main[1], *complete)


def table_of(
    found: Found,
    negatives: str,
    *,
    pairs: Sequence[Pair],
    gain: Mapping[Column, float],
    name: str,
    title: str,
) -> Table:
    """Complete search, random search and AdaGrid with these pairs, and what AdaGrid gains."""
    columns = found.with_sampler(negatives)
    rows: Sequence[Row] = [*_BASELINES, *pairs]
    return Table(
        name=name,
        title=title,
        heads=("method", *(column.short for column in columns), "relative epochs"),
        rows=(
            *(
                (
                    words(_label(row)),
                    *(_auc_cell(found, column, row) for column in columns),
                    _epochs_cell(found, columns, row, beside=negatives == "uniform"),
                )
                for row in rows
            ),
            (
                words("Gain"),
                *(_gain_cell(found, column, pairs, gain.get(column)) for column in columns),
                Cell(text="", values={}),
            ),
        ),
        note=f"{_BETTER} Gain: the best AdaGrid of the table less the better of the two searches, "
        "of means over the same seeds, so it has no interval.",
    )


def epochs_table(found: Found) -> Table:
    """The paper's table of AUC and relative epochs, on one column, a row for each method."""
    return Table(
        name="table2_relative_epochs",
        title=f"Table 2 of the paper: AUC and relative epochs, {_ONE} negatives",
        heads=("method", "AUC", "relative epochs"),
        rows=tuple(
            (
                words(_label(row)),
                _auc_cell(found, _ONE, row),
                _epochs_cell(found, [_ONE], row, beside=True),
            )
            for row in EPOCHS
        ),
        note="Relative epochs: all epochs trained, against one plain run.",
    )


def criteria_table(found: Found, negatives: str) -> Table:
    """AdaGrid with each criterion by itself, and the placebos: nothing chosen by test results."""
    columns = found.with_sampler(negatives)
    arms = [arm for arm in found.arms if arm.method in ("adagrid", "placebo")]
    return Table(
        name=f"criteria_{negatives}",
        title=f"The criteria apart, and the placebos: {negatives} negatives",
        heads=("method", *(column.short for column in columns)),
        rows=tuple(
            (
                words(str(arm)),
                *(measured(found.mean(column, arm), of=found.seeds) for column in columns),
            )
            for arm in arms
        ),
        note="Placebo: as many tries as AdaGrid, all with one value; what it gains is the luck of "
        "the best copy.",
    )


def better(found: Found, column: Column, pair: Pair) -> tuple[str, Mean] | None:
    """The criterion with the higher mean AUC, the first of equals, and that mean."""
    means = {name: found.mean(column, adagrid(pair, name)) for name in CRITERIA}
    there = {name: each for name, each in means.items() if each is not None}
    if not there:
        return None
    best = max(there, key=lambda name: there[name].mean)
    return best, there[best]


def ours(found: Found, column: Column, row: Row) -> tuple[str, Mean | None]:
    """What stands in a row of the paper's tables, and the criterion where one was chosen."""
    if isinstance(row, str):
        return "", found.mean(column, Arm(method=row))
    return better(found, column, row) or ("", None)


def pairs_in(found: Found) -> list[Pair]:
    """The pairs of epochs that the campaign has AdaGrid with."""
    arms = [arm for arm in found.arms if arm.method == "adagrid"]
    return list(dict.fromkeys(arm.pair for arm in arms if arm.pair is not None))


def _auc_cell(found: Found, column: Column, row: Row) -> Cell:
    criterion, auc = ours(found, column, row)
    chosen = {"validation": "val."}.get(criterion, criterion)
    return compared(AUC[row].get(column), auc, of=found.seeds, small=chosen)


def _epochs_cell(found: Found, columns: Iterable[Column], row: Row, *, beside: bool) -> Cell:
    spent = mean(each.relative for column in columns for each in _outcomes(found, column, row))
    cell = number(None if spent is None else spent.mean)
    if not beside:
        return cell
    values = {"published": EPOCHS[row], "ours": cell.values[""]}
    return Cell(text=cell.text, values=values, small=f"paper {EPOCHS[row]:.2f}")


def _gain_cell(
    found: Found, column: Column, pairs: Sequence[Pair], published: float | None
) -> Cell:
    searches = [found.mean(column, arm) for arm in (COMPLETE, RANDOM)]
    adapted = [ours(found, column, pair)[1] for pair in pairs]
    seeds = {0 if each is None else each.count for each in (*searches, *adapted)}
    fair = len(seeds) == 1 and 0 not in seeds
    gain = _highest(adapted) - _highest(searches) if fair else None
    return Cell(
        text=DASH if gain is None else signed(gain),
        values={"published": published, "ours": None if gain is None else round(gain, 6) + 0.0},
        small="" if published is None else f"paper {signed(published)}",
    )


def _highest(means: Iterable[Mean | None]) -> float:
    return max(each.mean for each in means if each is not None)


def _outcomes(found: Found, column: Column, row: Row) -> list[Outcome]:
    arms = [Arm(method=row)] if isinstance(row, str) else [adagrid(row, c) for c in CRITERIA]
    return [each for arm in arms for each in found.of(column, arm).values()]


def _label(row: Row) -> str:
    return str(Arm(method=row)) if isinstance(row, str) else Arm(method="adagrid", pair=row).short
