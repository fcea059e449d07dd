"""The findings in a few sentences, each with the table that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dynhp_pyg.reproduction.agreement import TOLERANCE, agreement
from dynhp_pyg.reproduction.arms import COMPLETE, RANDOM, Arm, Column, adagrid
from dynhp_pyg.reproduction.cells import difference
from dynhp_pyg.reproduction.found import Found
from dynhp_pyg.reproduction.paired import RIVALS, paired, pooled, rival_of, sides
from dynhp_pyg.reproduction.plan import CRITERIA
from dynhp_pyg.reproduction.ratios import spread
from dynhp_pyg.reproduction.variants import ALONE

__all__ = ["in_short"]


_FEW = 4  # columns, which are told one by one


def in_short(found: Found, *, part: str) -> tuple[str, ...]:
    """Say what the tables show, as far as there are results."""
    sentences: list[Iterable[str]] = []
    if part == "tables" and found.about.get("protocol") == "paper":
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


def _over_columns(found: Found, arm: Arm, rival: Arm, name: str) -> Iterator[str]:
    apart = pooled(found, arm, rival, found.columns)
    if apart is not None:
        of, above, clear, worse = sides(found, arm, rival, found.columns)
        told = difference(apart, of=of, unit="column").text
        yield (
            f"{arm} − {str(rival).lower()}: {told} points over {of} columns; above zero in "
            f"{above}, the interval over seeds wholly above in {clear}, wholly below in {worse} "
            f"(paired_{name}.csv)."
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
    for column in found.columns:
        apart = [(arm, paired(found, arm, ALONE, column)) for arm in found.arms if arm != ALONE]
        there = [(arm, each) for arm, each in apart if each is not None]
        cells = [(arm, difference(each, of=found.seeds)) for arm, each in there]
        above = [f"{arm} ({cell.text})" for arm, cell in cells if cell.side == "above"]
        below = [f"{arm} ({cell.text})" for arm, cell in cells if cell.side == "below"]
        if there:
            yield (
                f"{column} negatives: of {len(there)} variants {len(above)} are clearly above "
                f"leaving everything alone{_listed(above)} and {len(below)} clearly below"
                f"{_listed(below)} (variants_{column.graph}.csv)."
            )


def _listed(names: list[str]) -> str:
    return f": {'; '.join(names)};" if names else ""
