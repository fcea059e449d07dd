"""The tables of paired differences, and how to read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dynhp_pyg.paper.arms import Arm, Column
from dynhp_pyg.paper.differences import LUCK, RIVALS, Pool, paired, pooled, rival_of, sides
from dynhp_pyg.paper.document import Cell, Plain, Table
from dynhp_pyg.paper.glossary import PLACEBO
from dynhp_pyg.paper.protocol import NEGATIVES
from dynhp_pyg.paper.results import Found
from dynhp_pyg.paper.tables.cells import DASH, difference, signed, words

__all__ = ["how", "paired_tables", "pool_cell"]

_BOLD = 6  # columns that a pool must have
_NAMES = {
    "complete": "AdaGrid − complete search",
    "random": "AdaGrid − random search",
    "placebo": "AdaGrid − placebo",
    "fixed": "Every method − fixed 0.5",
}
_SAME = (
    "A difference is of two runs with the same seed in the same column, so the same split and the "
    "same initial weights. In a column it is averaged over the seeds, with Student's 95 % interval "
    "over them. Bold: that interval does not hold zero."
)
_POOLED = (
    "Over columns the differences of a seed are first averaged over the columns, for the seeds "
    "that all these columns have; the interval is Student's over these averages, one number a "
    "seed. Columns without any result are left aside and their number is told. Bold as in a "
    "column, but never for fewer than 6 columns: too few settings carry it."
)
_UNITS = (
    "Columns as units, under it: each column counts as one number, its mean over the seeds, and "
    "the interval is Student's over these; it tells how the difference varies from setting to "
    "setting. Columns share graphs and seeds, so it may be too narrow and is never bold. It is "
    "given for all 12 columns of the paper and fewer than 5 seeds only."
)


def how(found: Found, tables: Iterable[Table]) -> tuple[str, ...]:
    """Say what the differences and intervals of these tables are, and how many are luck."""
    cells = [cell for table in tables for row in table.rows for cell in row]
    shown = [cell.values for cell in cells if cell.values.get("half_width_95") is not None]
    outside = sum(map(_excludes_zero, shown))
    units = any("columns_as_units" in cell.values for cell in cells)
    texts = [_SAME, *([_POOLED] if len(found.columns) > 1 else []), *([_UNITS] if units else [])]
    if shown:
        texts.append(
            f"Many differences are looked at: {len(shown)} intervals over seeds stand below, and "
            f"{outside} of them do not hold zero. Without any difference about "
            f"{LUCK * len(shown):.1f} of {len(shown)} (5 %) would not, by luck alone, half of them "
            "above and half below. They share runs, so such luck comes in clusters."
        )
    return tuple(texts)


def paired_tables(found: Found) -> tuple[Table, ...]:
    """For each rival: over columns and column by column, folded where these are many."""
    tables: list[Table] = []
    for rival in RIVALS:
        pairs = [
            (arm, theirs)
            for arm in found.arms
            if arm.method in _compared(rival)
            and (theirs := rival_of(arm, rival)) is not None
            and theirs in found.arms
        ]
        if pairs:
            tables += _tables(found, rival, pairs)
    return tuple(tables)


def pool_cell(pool: Pool, *, of: int, columns: int) -> Cell:
    """A difference over columns; under it how many there are, where some lack, and their interval.

    >>> pool_cell(Pool(by_seed=None, by_column=None, columns=2), of=3, columns=4).small
    '2 of 4 columns'
    """
    cell = difference(pool.by_seed, of=of)
    told = [f"{pool.columns} of {columns} columns"] if 0 < pool.columns < columns else []
    values = {**cell.values, "columns": pool.columns}
    if pool.by_column is not None and pool.by_column.half_width is not None:
        mean, half_width = pool.by_column.mean, pool.by_column.half_width
        told.append(f"columns as units {signed(mean)} ± {half_width:.2f}")
        values |= {
            "columns_as_units": round(mean, 6) + 0.0,
            "columns_as_units_half_width_95": round(half_width, 6),
        }
    side = cell.side if pool.columns >= _BOLD else ""
    return replace(cell, values=values, small="; ".join(told), side=side)


def _excludes_zero(values: Mapping[str, Plain]) -> bool:
    mean, half_width = values.get("difference"), values.get("half_width_95")
    return isinstance(mean, float) and isinstance(half_width, float) and abs(mean) > half_width


def _compared(rival: str) -> tuple[str, ...]:
    return ("adagrid", "complete", "random", "placebo") if rival == "fixed" else ("adagrid",)


def _tables(found: Found, rival: str, pairs: Sequence[tuple[Arm, Arm]]) -> list[Table]:
    groups = [found.with_sampler(name) for name in NEGATIVES if found.with_sampler(name)]
    by_column = [_column_table(found, rival, pairs, group) for group in groups]
    return [_pooled_table(found, rival, pairs), *by_column] if len(found.columns) > 1 else by_column


def _pooled_table(found: Found, rival: str, pairs: Sequence[tuple[Arm, Arm]]) -> Table:
    groups = {"all columns": found.columns}
    groups |= {f"{name} only": found.with_sampler(name) for name in NEGATIVES}
    groups = {name: group for name, group in groups.items() if len(group) > 1}
    return Table(
        name=f"paired_{rival}",
        title=f"{_NAMES[rival]}, over columns",
        heads=("method", *groups, "above zero", "interval above zero", "interval below zero"),
        rows=tuple(
            (
                words(str(arm)),
                *(
                    pool_cell(pooled(found, arm, theirs, group), of=found.seeds, columns=len(group))
                    for group in groups.values()
                ),
                *_counts(sides(found, arm, theirs, found.columns)),
            )
            for arm, theirs in pairs
        ),
        note="Points of AUC, averaged over the columns seed by seed; the last three are numbers of "
        "columns, by the intervals over seeds. " + _note(rival),
    )


def _column_table(
    found: Found, rival: str, pairs: Sequence[tuple[Arm, Arm]], columns: Sequence[Column]
) -> Table:
    negatives = columns[0].negatives
    return Table(
        name=f"paired_{rival}_{negatives}",
        title=f"{_NAMES[rival]}, column by column: {negatives} negatives",
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
        note=_note(rival),
        folded=len(found.columns) > 4,
    )


def _note(rival: str) -> str:
    return PLACEBO if rival == "placebo" else ""


def _counts(counted: tuple[int, ...]) -> list[Cell]:
    of, *numbers = counted
    told = (f"{number} of {of}" if of else DASH for number in numbers)
    values = ({"": number, "of": of} for number in numbers)
    return [Cell(text=text, values=each) for text, each in zip(told, values, strict=True)]
