"""The findings in a few sentences, each with the table that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dynhp_pyg.paper.arms import ALONE, COMPLETE, RANDOM, Arm, Column, adagrid
from dynhp_pyg.paper.differences import LUCK, RIVALS, paired, pooled, rival_of, sides
from dynhp_pyg.paper.protocol import CRITERIA
from dynhp_pyg.paper.results import Found
from dynhp_pyg.paper.tables.agreement import TOLERANCE, agreement, comparable
from dynhp_pyg.paper.tables.cells import difference
from dynhp_pyg.paper.tables.paired import pool_cell
from dynhp_pyg.paper.tables.ratios import spread

__all__ = ["in_short"]


_FEW = 4  # columns, which are told one by one


def in_short(found: Found, *, part: str) -> tuple[str, ...]:
    """Say what the tables show, as far as there are results."""
    sentences: list[Iterable[str]] = []
    if part in ("tables", "headline") and comparable(found):
        sentences.append(_agreement(found))
    if part == "variants":
        sentences.append(_variants(found))
    else:
        sentences += [_differences(found), _spread(found)]
    return tuple(sentence for group in sentences for sentence in group)


def _agreement(found: Found) -> Iterator[str]:
    for arm in (COMPLETE, RANDOM):
        counted = agreement(found, [arm.method])
        if counted.measured:
            beyond = f"; not in {'; '.join(counted.outside)}" if counted.outside else ""
            yield (
                f"{arm} lies within {TOLERANCE} points of the published value in {counted.within} "
                f"of {counted.measured} columns{beyond} (agreement.csv)."
            )


def _differences(found: Found) -> Iterator[str]:
    for criterion in CRITERIA:
        arm = adagrid((10, 1), criterion)
        rivals = {name: rival for name in RIVALS if (rival := rival_of(arm, name)) is not None}
        if len(found.columns) > _FEW:
            for name, rival in rivals.items():
                yield from _over_columns(found, arm, rival, name)
        else:
            for column in found.columns:
                yield from _in_column(found, arm, rivals, column)
    shown = _intervals(found)
    if shown and len(found.columns) <= _FEW:
        yield f"These are {shown} intervals. {_by_luck(shown)} (paired_*.csv)."


def _intervals(found: Found) -> int:
    """How many intervals the sentences column by column show."""
    arms = [adagrid((10, 1), criterion) for criterion in CRITERIA]
    each = (
        paired(found, arm, rival, column)
        for arm in arms
        for name in RIVALS
        if (rival := rival_of(arm, name)) is not None
        for column in found.columns
    )
    return sum(one is not None and one.half_width is not None for one in each)


def _over_columns(found: Found, arm: Arm, rival: Arm, name: str) -> Iterator[str]:
    pool = pooled(found, arm, rival, found.columns)
    if pool.by_seed is not None:
        of, above, clear, worse = sides(found, arm, rival, found.columns)
        cell = pool_cell(pool, of=found.seeds, columns=of)
        units = f" ({cell.small})" if cell.small else ""
        yield (
            f"{arm} − {str(rival).lower()}: {cell.text} points, averaged over {of} columns seed by "
            f"seed{units}; above zero in {above} of {of} columns, interval over seeds above zero "
            f"in {clear}, below zero in {worse} (paired_{name}.csv)."
        )


def _in_column(found: Found, arm: Arm, rivals: Mapping[str, Arm], column: Column) -> Iterator[str]:
    apart = {name: paired(found, arm, rival, column) for name, rival in rivals.items()}
    told = [
        f"against {str(rivals[name]).lower()} {difference(each, of=found.seeds).text}"
        for name, each in apart.items()
        if each is not None
    ]
    if told:
        source = f"paired_*_{column.negatives}.csv"
        yield f"{column} negatives, {arm}: {'; '.join(told)} points ({source})."


def _spread(found: Found) -> Iterator[str]:
    for negatives in dict.fromkeys(column.negatives for column in found.columns):
        columns = found.with_sampler(negatives)
        there = [each for column in columns if (each := spread(found, column)) is not None]
        if there:
            reach = " to ".join(dict.fromkeys(f"{each(there):.2f}" for each in (min, max)))
            yield (
                f"The means of the nine fixed ratios reach over {reach} points in {len(there)} of "
                f"{len(columns)} columns with {negatives} negatives (fixed_{negatives}.csv)."
            )


def _variants(found: Found) -> Iterator[str]:
    arms = [arm for arm in found.arms if arm != ALONE and arm.method != "placebo"]
    for column in found.columns:
        apart = [(arm, paired(found, arm, ALONE, column)) for arm in arms]
        there = [(arm, each) for arm, each in apart if each and each.half_width is not None]
        cells = [(arm, difference(each, of=found.seeds)) for arm, each in there]
        above = [f"{arm} ({cell.text})" for arm, cell in cells if cell.side == "above"]
        below = [f"{arm} ({cell.text})" for arm, cell in cells if cell.side == "below"]
        if there:
            yield (
                f"{column} negatives, variants less {str(ALONE).lower()}, placebos aside: of "
                f"{len(there)} intervals {_lie(above, 'above')}. {_lie(below, 'below')}. "
                f"{_by_luck(len(there))} (variants_{column.graph}.csv)."
            )


def _lie(names: list[str], where: str) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{len(names)} {verb} {where} zero" + (f": {'; '.join(names)}" if names else "")


def _by_luck(intervals: int) -> str:
    return f"By luck alone about {LUCK * intervals:.1f} of {intervals} would not hold zero"
