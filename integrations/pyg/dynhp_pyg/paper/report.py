"""The report of a campaign: a page, Markdown, tables as CSV, figures as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from dynhp.campaign import Finished
from dynhp_pyg.paper.chosen import pairs_in
from dynhp_pyg.paper.document import Figure, Section, Table, csv_text
from dynhp_pyg.paper.figures.auc import auc_figures
from dynhp_pyg.paper.findings import in_short
from dynhp_pyg.paper.markdown import markdown
from dynhp_pyg.paper.page import page, standalone
from dynhp_pyg.paper.preface import caveats, head
from dynhp_pyg.paper.protocol import NEGATIVES, Part
from dynhp_pyg.paper.results import Found, collect
from dynhp_pyg.paper.tables.agreement import agreement_table, comparable
from dynhp_pyg.paper.tables.costs import cost_table, seconds_table
from dynhp_pyg.paper.tables.paired import how, paired_tables
from dynhp_pyg.paper.tables.paper import criteria_table, paper_tables, table_of
from dynhp_pyg.paper.tables.ratios import changes_table, fixed_table, ratio_figures
from dynhp_pyg.paper.tables.variants import recommended_table, variants_table
from dynhp_pyg.paper.text import table_as_text

__all__ = ["report", "summary"]


def report(
    results: Iterable[Finished],
    *,
    part: Part,
    runs: Sequence[Mapping[str, Any]] | None = None,
    command: str | None = None,
) -> dict[str, str]:
    """Give the files of the report by name, from whatever results there are.

    ``runs`` are those of the part, as `runs_of` gives them: results of others are left aside and
    those without a result are told as missing. Without them the results are taken for all.
    Equal results give equal files but for the seconds, which are in ``report.html``,
    ``report.md`` and ``seconds.csv`` only.

    >>> from dynhp_pyg.paper.protocol import runs_of
    >>> files = report([], part="quick", runs=runs_of("quick", protocol="paper", seeds=1))
    >>> sorted(files)[:3], "11 runs: 0 done" in files["report.md"]
    (['changes.csv', 'cost.csv', 'criteria_uniform.csv'], True)
    """
    found = _found(results, runs)
    sections = [
        head(found, part=part, command=command),
        Section(title="In short", points=in_short(found, part=part)),
        *(make(found) for make in _SECTIONS[part]),
    ]
    title = _TITLES[part].format(found.about.get("protocol"))
    return _files(title, [each for each in sections if each.points or each.parts])


def summary(
    results: Iterable[Finished],
    *,
    part: Part,
    runs: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Tell in a terminal what matters: the caveats, the main tables, the findings."""
    found = _found(results, runs)
    main = _SECTIONS[part][0](found).parts
    tables = [each for each in main if isinstance(each, Table)]
    shown = [table for table in tables if table.name in _MAIN]
    return "\n\n".join(
        [*caveats(found), *map(table_as_text, shown), "\n".join(in_short(found, part=part))]
    ).rstrip()


def _found(results: Iterable[Finished], runs: Sequence[Mapping[str, Any]] | None) -> Found:
    there = list(results)
    return collect(there, [run.settings for run in there] if runs is None else runs)


def _paper(found: Found) -> Section:
    apart = (criteria_table(found, negatives) for negatives in _samplers(found))
    return Section(title="The paper's tables", parts=(*paper_tables(found), *apart))


def _means(found: Found) -> Section:
    beside = [
        table_of(
            found,
            negatives,
            pairs=pairs_in(found),
            gain={},
            name=f"means_{negatives}",
            title=f"Complete search, random search and AdaGrid: {negatives} negatives",
        )
        for negatives in _samplers(found)
    ]
    apart = (criteria_table(found, negatives) for negatives in _samplers(found))
    return Section(title="Means", parts=(*beside, *apart))


def _agreement(found: Found) -> Section:
    tables = (agreement_table(found),) if comparable(found) else ()
    return Section(title="Agreement with the paper", parts=tables)


def _against_epochs(found: Found) -> Section:
    shown = sorted(found.columns, key=lambda column: (column.graph, column.split) != _FIRST)
    drawn = (auc_figures(found, each, folded=each != shown[0]) for each in shown)
    return Section(title="AUC against relative epochs", parts=tuple(chain(*drawn)))


def _ratio(found: Found) -> Section:
    return Section(
        title="The ratio during training", parts=(*ratio_figures(found), changes_table(found))
    )


def _fixed(found: Found) -> Section:
    tables = tuple(fixed_table(found, negatives) for negatives in _samplers(found))
    return Section(title="How much the ratio matters", parts=tables)


def _paired(found: Found) -> Section:
    tables = paired_tables(found)
    return Section(title="Paired differences", text=how(found, tables), parts=tables)


def _cost(found: Found) -> Section:
    return Section(title="Cost", parts=(cost_table(found), seconds_table(found)))


def _variants(found: Found) -> Section:
    tables = tuple(variants_table(found, column) for column in found.columns)
    return Section(title="Variants", parts=(*tables, recommended_table(found)))


_FIRST = ("cora", "80/10/10")
_MAIN = {"table1_uniform_10_1", "table3_community_10_5", "means_uniform", "means_community"}
_MAIN |= {"recommended"}
_COMPARED = (_against_epochs, _ratio, _fixed, _paired, _cost)
_SECTIONS: dict[Part, Sequence[Callable[[Found], Section]]] = {
    "tables": (_paper, _agreement, *_COMPARED),
    "headline": (_means, _agreement, *_COMPARED),
    "quick": (_means, *_COMPARED),
    "variants": (_variants, _cost),
}
_TITLES: dict[Part, str] = {
    "tables": "The AdaGrid paper, reproduced under protocol '{}'",
    "headline": "AdaGrid on 80/10/10 splits under protocol '{}'",
    "quick": "AdaGrid on Cora 80/10/10 under protocol '{}'",
    "variants": "Variants of AdaGrid under protocol '{}'",
}


def _samplers(found: Found) -> list[str]:
    return [negatives for negatives in NEGATIVES if found.with_sampler(negatives)]


def _files(title: str, sections: Sequence[Section]) -> dict[str, str]:
    files = {"report.html": page(title, sections), "report.md": markdown(title, sections)}
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Figure):
            files[f"{part.name}.svg"] = standalone(part.svg)
        elif isinstance(part, Table) and part.name:
            files[f"{part.name}.csv"] = csv_text(part)
    return files
