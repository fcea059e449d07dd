"""Paired differences: the same seed and column, one method less another."""

from __future__ import annotations

from collections.abc import Sequence

from dynhp_pyg.intervals import Mean
from dynhp_pyg.reproduction.arms import COMPLETE, RANDOM, Arm, Column, placebo
from dynhp_pyg.reproduction.cells import difference, side_of, words
from dynhp_pyg.reproduction.found import Found, mean
from dynhp_pyg.reproduction.plan import NEGATIVES
from dynhp_pyg.reproduction.table import Cell, Table

__all__ = ["HOW", "RIVALS", "paired", "paired_tables", "pooled", "rival_of", "sides"]

RIVALS = ("complete", "random", "placebo")

HOW = (
    "A difference is of two runs with the same seed in the same column, so the same split and the "
    "same initial weights. In a column it is averaged over the seeds, with Student's 95 % "
    "interval over them. Over columns each column counts as one number, its mean over the seeds, "
    "and the interval is Student's over these numbers: it tells how the difference varies from "
    "setting to setting. Columns share graphs and seeds, so they are not quite independent and "
    "the interval over columns may be too narrow. Bold: the interval does not hold zero.",
    "Many differences are looked at: of 12 intervals about 0.3 lie wholly above zero by luck "
    "alone, and as many below.",
)


def rival_of(arm: Arm, rival: str) -> Arm | None:
    """Whom a method is compared with; a placebo has the same adapt epochs and try epochs.

    >>> print(rival_of(Arm(method="adagrid", pair=(10, 1), criterion="gap"), "placebo"))
    Placebo 10/1
    """
    if rival == "placebo":
        return None if arm.pair is None else placebo(arm.pair)
    return {"complete": COMPLETE, "random": RANDOM}[rival]


def paired(found: Found, arm: Arm, rival: Arm, column: Column) -> Mean | None:
    """The mean difference over the seeds that both have."""
    ours, theirs = found.of(column, arm), found.of(column, rival)
    return mean(ours[seed].auc - theirs[seed].auc for seed in sorted(ours.keys() & theirs.keys()))


def pooled(found: Found, arm: Arm, rival: Arm, columns: Sequence[Column]) -> Mean | None:
    """The mean over columns, each of them one number: its mean difference over the seeds."""
    return mean(each.mean for each in _by_column(found, arm, rival, columns))


def sides(found: Found, arm: Arm, rival: Arm, columns: Sequence[Column]) -> tuple[int, ...]:
    """In how many columns: a difference, above zero, interval above zero, interval below it."""
    there = _by_column(found, arm, rival, columns)
    return (
        len(there),
        sum(each.mean > 0 for each in there),
        sum(side_of(each) == "above" for each in there),
        sum(side_of(each) == "below" for each in there),
    )


def paired_tables(found: Found) -> tuple[Table, ...]:
    """For each rival: over columns and, folded, column by column."""
    tables: list[Table] = []
    for rival in RIVALS:
        arms = [arm for arm in found.arms if arm.method == "adagrid"]
        pairs = [(arm, theirs) for arm in arms if (theirs := rival_of(arm, rival)) in found.arms]
        known = [(arm, theirs) for arm, theirs in pairs if theirs is not None]
        if known:
            tables += _tables(found, rival, known)
    return tuple(tables)


def _tables(found: Found, rival: str, pairs: Sequence[tuple[Arm, Arm]]) -> list[Table]:
    groups = [found.with_sampler(name) for name in NEGATIVES if found.with_sampler(name)]
    by_column = [_column_table(found, rival, pairs, group, len(found.columns)) for group in groups]
    return [_pooled_table(found, rival, pairs), *by_column] if len(found.columns) > 1 else by_column


def _pooled_table(found: Found, rival: str, pairs: Sequence[tuple[Arm, Arm]]) -> Table:
    groups = {"all columns": found.columns}
    groups |= {f"{name} only": found.with_sampler(name) for name in NEGATIVES}
    groups = {name: group for name, group in groups.items() if len(group) > 1}
    return Table(
        name=f"paired_{rival}",
        title=f"AdaGrid − {_NAMES[rival]}, over columns",
        heads=("method", *groups, "above zero", "interval above zero", "interval below zero"),
        rows=tuple(
            (
                words(str(arm)),
                *(
                    difference(pooled(found, arm, theirs, group), of=len(group), unit="column")
                    for group in groups.values()
                ),
                *_counts(sides(found, arm, theirs, found.columns)),
            )
            for arm, theirs in pairs
        ),
        note="Points of AUC; the last three are numbers of columns, by the intervals over seeds. "
        + (_PLACEBO if rival == "placebo" else ""),
    )


def _column_table(
    found: Found,
    rival: str,
    pairs: Sequence[tuple[Arm, Arm]],
    columns: Sequence[Column],
    of: int,
) -> Table:
    negatives = columns[0].negatives
    return Table(
        name=f"paired_{rival}_{negatives}",
        title=f"AdaGrid − {_NAMES[rival]}, column by column: {negatives} negatives",
        heads=("method", *(column.short for column in columns)),
        rows=tuple(
            (
                words(str(arm)),
                *(
                    difference(paired(found, arm, theirs, column), of=found.seeds)
                    for column in columns
                ),
            )
            for arm, theirs in pairs
        ),
        folded=of > 4,
    )


_NAMES = {"complete": "complete search", "random": "random search", "placebo": "placebo"}
_PLACEBO = "The placebo chooses its luckiest copy by validation; it is the rival of both criteria."


def _by_column(found: Found, arm: Arm, rival: Arm, columns: Sequence[Column]) -> list[Mean]:
    each = (paired(found, arm, rival, column) for column in columns)
    return [difference for difference in each if difference is not None]


def _counts(counted: tuple[int, ...]) -> list[Cell]:
    of, *numbers = counted
    return [Cell(text=f"{n} of {of}", values={"": n, "of": of}) for n in numbers]
