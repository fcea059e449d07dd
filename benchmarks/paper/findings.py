"""The findings in a few sentences, each with the table that it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.paper.compared import COMPLETE, CRITERIA, RANDOM, UNADAPTED, adagrid
from benchmarks.paper.differences import (
    LUCK,
    count_columns,
    paired_difference,
    pooled_difference,
    rivals_of,
)
from benchmarks.paper.results import Results
from benchmarks.paper.tables.agreement import TOLERANCE, agreement, is_comparable
from benchmarks.paper.tables.cells import difference_cell
from benchmarks.paper.tables.fair import fair_findings
from benchmarks.paper.tables.paired import pooled_cell
from benchmarks.paper.tables.rates import rates_findings
from benchmarks.paper.tables.ratios import spread

__all__ = ["findings"]

_FEW = 4  # columns, for which each has a sentence of its own


def findings(results: Results, *, part: str) -> tuple[str, ...]:
    """Say what the tables show, as far as there are results."""
    own = {"variants": _variants, "published": rates_findings, "fair": fair_findings}
    if part in own:
        return tuple(own[part](results))
    agreed = _agreement(results) if part != "quick" and is_comparable(results) else ()
    by_column = len(results.columns) <= _FEW
    differences = _in_each_column(results) if by_column else _over_columns(results)
    return (*agreed, *differences, *_spread(results))


def _agreement(results: Results) -> Iterator[str]:
    for method in (COMPLETE, RANDOM):
        counted = agreement(results, [method.name])
        if counted.measured:
            beyond = f"; not in {'; '.join(counted.outside)}" if counted.outside else ""
            yield (
                f"{method} lies within {TOLERANCE} points of the published value in "
                f"{counted.within} of {counted.measured} columns{beyond} (agreement.csv)."
            )


def _over_columns(results: Results) -> Iterator[str]:
    for method in (adagrid((10, 1), criterion) for criterion in CRITERIA):
        for name, rival in rivals_of(method).items():
            pooled = pooled_difference(results, method, rival, results.columns)
            if pooled.by_seed is not None:
                of, above, clear, worse = count_columns(results, method, rival)
                cell = pooled_cell(pooled, of=results.seeds, columns=of)
                units = f" ({cell.second_line})" if cell.second_line else ""
                yield (
                    f"{method} − {str(rival).lower()}: {cell.text} points, averaged over {of} "
                    f"columns seed by seed{units}; above zero in {above} of {of} columns, interval "
                    f"over seeds above zero in {clear}, below zero in {worse} (paired_{name}.csv)."
                )


def _in_each_column(results: Results) -> Iterator[str]:
    intervals = 0
    for method in (adagrid((10, 1), criterion) for criterion in CRITERIA):
        for column in results.columns:
            against = []
            for rival in rivals_of(method).values():
                difference = paired_difference(results, method, rival, column)
                if difference is not None:
                    intervals += difference.half_width is not None
                    cell = difference_cell(difference, of=results.seeds)
                    against.append(f"against {str(rival).lower()} {cell.text}")
            if against:
                source = f"paired_*_{column.negatives}.csv"
                yield f"{column} negatives, {method}: {'; '.join(against)} points ({source})."
    if intervals:
        yield f"These are {intervals} intervals. {_by_luck(intervals)} (paired_*.csv)."


def _spread(results: Results) -> Iterator[str]:
    for negatives in results.samplers:
        columns = results.columns_with(negatives)
        there = [each for column in columns if (each := spread(results, column)) is not None]
        if there:
            reach = " to ".join(dict.fromkeys(f"{each(there):.2f}" for each in (min, max)))
            yield (
                f"The means of the nine fixed ratios reach over {reach} points in {len(there)} of "
                f"{len(columns)} columns with {negatives} negatives (fixed_{negatives}.csv)."
            )


def _variants(results: Results) -> Iterator[str]:
    for column in results.columns:
        cells = {
            method: difference_cell(difference, of=results.seeds)
            for method in results.methods
            if method != UNADAPTED
            and method.name != "placebo"
            and (difference := paired_difference(results, method, UNADAPTED, column))
            and difference.half_width is not None
        }
        above, below = (
            [f"{method} ({cell.text})" for method, cell in cells.items() if cell.side == side]
            for side in ("above", "below")
        )
        if cells:
            yield (
                f"{column} negatives, variants less {str(UNADAPTED).lower()}, placebos aside: of "
                f"{len(cells)} intervals {_lie(above, 'above')}. {_lie(below, 'below')}. "
                f"{_by_luck(len(cells))} (variants_{column.graph}.csv)."
            )


def _lie(names: list[str], where: str) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{len(names)} {verb} {where} zero" + (f": {'; '.join(names)}" if names else "")


def _by_luck(intervals: int) -> str:
    return f"By luck alone about {LUCK * intervals:.1f} of {intervals} would not hold zero"
