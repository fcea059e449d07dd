"""The report of a campaign: a page, Markdown, tables as CSV, figures as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from benchmarks.paper.document import Section, Table, document_files, paragraphs
from benchmarks.paper.figures import auc_figures, ratio_figures
from benchmarks.paper.findings import findings
from benchmarks.paper.preface import caveats, preface
from benchmarks.paper.protocol.parts import Part
from benchmarks.paper.results import Results, gather_results
from benchmarks.paper.tables.agreement import agreement_table, is_comparable
from benchmarks.paper.tables.costs import cost_table, seconds_table
from benchmarks.paper.tables.fair import (
    fair_means_table,
    fair_table,
    fresh_seeds_table,
    ratios_table,
    restarts_table,
)
from benchmarks.paper.tables.paired import paired_notes, paired_tables
from benchmarks.paper.tables.paper import criteria_table, means_table, paper_tables
from benchmarks.paper.tables.rates import (
    gains_table,
    likeness_table,
    restarted_paired_table,
    values_table,
)
from benchmarks.paper.tables.ratios import changes_table, fixed_table
from benchmarks.paper.tables.variants import recommended_table, variants_table
from dynhp.campaign.results import Finished

__all__ = ["report", "summary"]


def report(
    ended: Iterable[Finished],
    *,
    part: Part,
    runs: Sequence[Mapping[str, Any]] | None = None,
    command: str | None = None,
) -> dict[str, str]:
    """Give the files of the report by name, from whatever results there are.

    ``runs`` are those of the part, as `runs_of` gives them: results of others are left out, and
    those without a result are reported as missing. Without it the runs that ended are all.
    Equal results give equal files except for the seconds, which are in ``report.html``,
    ``report.md`` and ``seconds.csv`` only.

    >>> from benchmarks.paper.protocol.parts import runs_of
    >>> files = report([], part="quick", runs=runs_of("quick", protocol="paper", seeds=1))
    >>> sorted(files)[:3], "11 runs: 0 done" in files["report.md"]
    (['changes.csv', 'cost.csv', 'criteria_uniform.csv'], True)
    """
    results = _results(ended, runs)
    sections = [
        preface(results, part=part, command=command),
        Section(title="In short", points=findings(results, part=part)),
        *(make(results) for make in _SECTIONS[part]),
    ]
    title = _TITLES[part].format(results.shared.get("protocol"))
    return document_files(title, [each for each in sections if each.points or each.parts])


def summary(
    ended: Iterable[Finished], *, part: Part, runs: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """Say for a terminal what matters: the caveats, the main tables, the findings."""
    results = _results(ended, runs)
    tables = (each for each in _SECTIONS[part][0](results).parts if isinstance(each, Table))
    shown = [table.plain_text() for table in tables if table.name in _MAIN]
    sentences = "\n".join(findings(results, part=part))
    return "\n\n".join([*caveats(results), *shown, sentences]).rstrip()


def _results(ended: Iterable[Finished], runs: Sequence[Mapping[str, Any]] | None) -> Results:
    there = list(ended)
    return gather_results(there, [run.settings for run in there] if runs is None else runs)


def _paper(results: Results) -> Section:
    apart = (criteria_table(results, negatives) for negatives in results.samplers)
    return Section(title="The paper's tables", parts=(*paper_tables(results), *apart))


def _means(results: Results) -> Section:
    return Section(title="Means", parts=_for_each_sampler(results, means_table, criteria_table))


def _agreement(results: Results) -> Section:
    tables = (agreement_table(results),) if is_comparable(results) else ()
    return Section(title="Agreement with the paper", parts=tables)


def _against_epochs(results: Results) -> Section:
    shown = sorted(results.columns, key=lambda column: (column.graph, column.split) != _FIRST)
    drawn = (auc_figures(results, each, folded=each != shown[0]) for each in shown)
    return Section(title="AUC against relative epochs", parts=tuple(chain(*drawn)))


def _ratio(results: Results) -> Section:
    figures, table = ratio_figures(results), changes_table(results)
    return Section(title="The ratio during training", parts=(*figures, table))


def _fixed(results: Results) -> Section:
    tables = tuple(fixed_table(results, negatives) for negatives in results.samplers)
    return Section(title="How much the ratio matters", parts=tables)


def _paired(results: Results) -> Section:
    tables = paired_tables(results)
    return Section(title="Paired differences", text=paired_notes(results, tables), parts=tables)


def _cost(results: Results) -> Section:
    return Section(title="Cost", parts=(cost_table(results), seconds_table(results)))


def _variants(results: Results) -> Section:
    tables = (variants_table(results, column) for column in results.columns)
    return Section(title="Variants", parts=(*tables, recommended_table(results)))


def _rates(results: Results) -> Section:
    tables = (gains_table(results, negatives) for negatives in results.samplers)
    return Section(
        title="The published gain, and the learning rate",
        text=paragraphs("restarts.txt"),
        parts=(*tables, *([likeness_table(results)] if is_comparable(results) else [])),
    )


def _rate_values(results: Results) -> Section:
    makers = (values_table, restarted_paired_table)
    return Section(title="Values", parts=_for_each_sampler(results, *makers))


def _fair(results: Results) -> Section:
    return Section(
        title="The same restarts for all",
        text=paragraphs("restarts.txt"),
        parts=(
            *_for_each_sampler(results, restarts_table, fair_table),
            *filter(None, [fresh_seeds_table(results)]),
        ),
    )


def _fair_values(results: Results) -> Section:
    return Section(title="Values", parts=_for_each_sampler(results, fair_means_table, ratios_table))


def _for_each_sampler(
    results: Results, *makers: Callable[[Results, str], Table]
) -> tuple[Table, ...]:
    return tuple(make(results, negatives) for make in makers for negatives in results.samplers)


_FIRST = ("cora", "80/10/10")
_MAIN = {"table1_uniform_10_1", "table3_community_10_5", "means_uniform", "means_community"}
_MAIN |= {"recommended", "gains_uniform", "gains_community"}
_COMPARED = (_against_epochs, _ratio, _fixed, _paired, _cost)
_SECTIONS: dict[Part, Sequence[Callable[[Results], Section]]] = {
    "tables": (_paper, _agreement, *_COMPARED),
    "headline": (_means, _agreement, *_COMPARED),
    "quick": (_means, *_COMPARED),
    "variants": (_variants, _cost),
    "published": (_rates, _rate_values, _cost),
    "fair": (_fair, _fair_values, _cost),
}
_TITLES: dict[Part, str] = {
    "tables": "The AdaGrid paper, reproduced under protocol '{}'",
    "headline": "AdaGrid on 80/10/10 splits under protocol '{}'",
    "quick": "AdaGrid on Cora 80/10/10 under protocol '{}'",
    "variants": "Variants of AdaGrid under protocol '{}'",
    "published": "The AdaGrid paper, reproduced with the published code's learning rate",
    "fair": "AdaGrid and its rivals with the same restarts of the rate, under protocol '{}'",
}
