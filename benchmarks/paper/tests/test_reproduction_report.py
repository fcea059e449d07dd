"""The report of the reproduction: made-up results with known means, whole, torn and failed."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import pytest

from benchmarks.paper.compared import PAIRS
from benchmarks.paper.protocol.parts import Part, runs_of
from benchmarks.paper.report import report, summary
from benchmarks.paper.tests.support import (
    CORA,
    Run,
    finished,
    line,
    results_of,
    table,
    variant_auc,
)
from dynhp.campaign.results import Finished
from dynhp.errors import SettingsError
from tests.support.messages import raises


def test_cells_show_ours_the_interval_the_published_value_and_the_difference() -> None:
    files = report(results_of("tables"), part="tables")
    assert "| 94.00 ± 1.24<br>paper 97.17 (−3.17) |" in line(files, "| Complete search |")
    row = table(files, "table1_uniform_10_1")["Complete search"]
    assert row[f"{CORA} published"] == "97.17"
    assert float(row[f"{CORA} ours"]) == pytest.approx(94.0)
    assert float(row[f"{CORA} half_width_95"]) == pytest.approx(1.242069, abs=1e-6)
    assert row[f"{CORA} seeds"] == "3"
    assert float(row[f"{CORA} difference"]) == pytest.approx(-3.17)


def test_every_table_of_the_paper_is_there_with_all_its_rows() -> None:
    files = report(results_of("tables"), part="tables")
    main = {"Complete search", "Random search", "Gain"}
    every = {f"AdaGrid {alpha}/{beta}" for alpha, beta in PAIRS}
    assert set(table(files, "table1_uniform_10_1")) == main | {"AdaGrid 10/1"}
    assert set(table(files, "table2_relative_epochs")) == main - {"Gain"} | every
    assert set(table(files, "table3_community_10_5")) == main | {"AdaGrid 10/5"}
    assert set(table(files, "table4_uniform_complete")) == main | every
    assert set(table(files, "table5_community_complete")) == main | every


def test_relative_epochs_are_measured() -> None:
    rows = table(report(results_of("tables"), part="tables"), "table2_relative_epochs")
    for row in rows.values():
        assert float(row["relative epochs ours"]) == float(row["relative epochs published"])


def test_adagrid_is_the_better_mean_of_two_criteria_and_both_stand_apart() -> None:
    files = report(results_of("tables"), part="tables")
    assert "| 94.50 ± 2.48<br>gap, paper 97.90 (−3.40) |" in line(files, "| AdaGrid 10/1 |")
    apart = table(files, "criteria_uniform")
    assert float(apart["AdaGrid 10/1 (validation)"][f"{CORA} mean"]) == pytest.approx(94.25)
    assert float(apart["AdaGrid 10/1 (gap)"][f"{CORA} mean"]) == pytest.approx(94.5)
    assert float(apart["Placebo 10/1"][f"{CORA} mean"]) == pytest.approx(94.0)
    assert "optimistic" in files["report.html"]


def test_the_gain_is_the_best_adagrid_less_the_better_search() -> None:
    row = table(report(results_of("tables"), part="tables"), "table4_uniform_complete")["Gain"]
    assert float(row[f"{CORA} ours"]) == pytest.approx(0.5)
    assert row[f"{CORA} published"] == "0.73"


def test_complete_search_chooses_by_validation_and_costs_nine_runs() -> None:
    files = report(results_of("quick", seeds=1), part="quick")  # by test AUC it would be 98.5
    row = table(files, "means_uniform")["Complete search"]
    assert float(row[f"{CORA} ours"]) == pytest.approx(93.5)
    assert row["relative epochs ours"] == "9.0"
    assert table(files, "cost")["Complete search"]["epochs in all"] == "4500"


def test_complete_search_takes_the_first_of_equals() -> None:
    files = report(results_of("quick", seeds=1, validate=lambda run: 90.0), part="quick")
    row = table(files, "means_uniform")["Complete search"]
    assert float(row[f"{CORA} ours"]) == pytest.approx(90.5)  # the ratio 0.1


def test_fixed_ratios_and_how_far_they_lie_apart() -> None:
    rows = table(report(results_of("headline"), part="headline"), "fixed_community")
    assert float(rows["0.7"][f"{CORA} mean"]) == pytest.approx(97.0)
    assert float(rows["highest − lowest"][f"{CORA} mean"]) == pytest.approx(8.0)


def test_agreement_counts_columns_and_names_those_outside() -> None:
    def near(run: Run) -> float:
        return 97.5 if run["negatives"] == "uniform" else 83.9

    files = report(results_of("tables", protocol="paper", measure=near), part="tables")
    row = table(files, "agreement")["Complete search"]
    assert (row["measured"], row["within"]) == ("12", "6")
    assert row["published inside our interval of"] == "12"
    assert row["published inside our interval"] == "0"  # without any spread
    outside = row["outside, ours − published"]
    assert outside == (
        "Cora 20/40/40, uniform (+2.65); Cora 50/25/25, uniform (+0.85); Cora 50/25/25, community "
        "(+0.92); CiteSeer 20/40/40, uniform (+1.66); CiteSeer 50/25/25, community (+1.68); "
        "CiteSeer 80/10/10, uniform (−0.96)"
    )
    assert f"not in {outside}" in files["report.md"]


def test_differences_are_paired_by_seed() -> None:
    files = report(results_of("headline"), part="headline")
    rows = table(files, "paired_complete_uniform")
    validation, gap = rows["AdaGrid 10/1 (validation)"], rows["AdaGrid 10/1 (gap)"]
    assert float(validation[f"{CORA} difference"]) == pytest.approx(0.25)
    assert float(validation[f"{CORA} half_width_95"]) == pytest.approx(0, abs=1e-9)
    assert float(gap[f"{CORA} difference"]) == pytest.approx(0.5)
    assert float(gap[f"{CORA} half_width_95"]) == pytest.approx(1.242069, abs=1e-6)
    assert "**+0.25 ± 0.00**" in files["report.md"]  # its interval does not hold zero
    assert "| +0.50 ± 1.24 |" in files["report.md"]


def test_the_placebo_is_the_rival_of_its_own_pair_of_epochs_only() -> None:
    files = report(results_of("tables"), part="tables")
    assert {name.split(" (")[0] for name in table(files, "paired_placebo")} == {
        "AdaGrid 10/1",
        "AdaGrid 10/5",
    }
    assert len(table(files, "paired_random")) == 18


def test_missing_runs_are_told_and_seeds_counted() -> None:
    def lost(run: Run) -> bool:
        if run["graph"] != "cora" or run["negatives"] != "uniform":
            return False
        return run["seed"] in {"random": (0, 1, 2), "fixed": (2,), "adagrid": (0,)}.get(
            run["method"], ()
        )

    runs = runs_of("headline", protocol="undirected", seeds=3)
    torn = [finished(run) for run in runs if not lost(run)]
    files = report(torn, part="headline", runs=runs)
    assert "INCOMPLETE, 156 runs: 142 done, 14 missing, 0 failed" in files["report.html"]
    first = table(files, "means_uniform")
    assert first["Complete search"][f"{CORA} seeds"] == "2"
    assert first["Random search"][f"{CORA} ours"] == ""
    assert "| Complete search | 93.75 ± 3.18 (2 seeds)<br>" in files["report.md"]
    assert "| Random search | –<br>paper 97.02 |" in files["report.md"]
    assert "Values are means over 3 seeds, or as many as the brackets tell," in files["report.md"]
    assert first["Gain"][f"{CORA} ours"] == ""  # random search has no seed
    assert files["missing.csv"].splitlines()[1:] == [
        f'"{CORA}, uniform",Random search,3',
        f'"{CORA}, uniform",AdaGrid 10/1 (validation),1',
        f'"{CORA}, uniform",AdaGrid 10/1 (gap),1',
        f'"{CORA}, uniform",Complete search,9',
    ]
    paired = table(files, "paired_complete_uniform")["AdaGrid 10/1 (validation)"]
    assert paired[f"{CORA} seeds"] == "1"  # seed 1 is the only one that both have
    assert paired[f"{CORA} half_width_95"] == ""


def test_failed_runs_are_told_with_their_errors() -> None:
    whole = results_of("quick")
    failed = replace(whole[0], result=None, error="ValueError: <b> & | *no*")
    files = report([failed, *whole[1:]], part="quick")
    assert "33 runs: 32 done, 0 missing, 1 failed" in files["report.md"]
    assert "ValueError: &lt;b&gt; &amp; | *no*" in files["report.html"]
    assert r"ValueError: \<b\> & \| \*no\*" in files["report.md"]
    ((_, row),) = table(files, "failed").items()
    assert row["error"] == "ValueError: <b> & | *no*"


def test_one_seed_has_no_interval_and_says_so() -> None:
    files = report(results_of("quick", seeds=1), part="quick")
    assert "One seed: there are no intervals" in files["report.html"]
    tables = files["report.md"].split("## Means")[1]
    assert "±" not in tables.split("## Paired")[0]
    assert "| Random search | 93.00<br>paper 97.02 (−4.02) |" in tables


@pytest.mark.parametrize("part", get_args(Part))
@pytest.mark.parametrize("protocol", ["paper", "undirected"])
def test_nothing_done_yet_gives_a_report_of_dashes(part: Part, protocol: str) -> None:
    runs = runs_of(part, protocol=protocol, seeds=2)
    files = report([], part=part, runs=runs)
    assert f"runs: 0 done, {len(runs)} missing, 0 failed" in files["report.md"]
    assert set(report(results_of(part, seeds=2, protocol=protocol), part=part)) >= {
        name for name in files if name.endswith(".csv") and name != "missing.csv"
    }


@pytest.mark.parametrize("part", get_args(Part))
def test_equal_results_give_equal_files_in_any_order_and_at_any_speed(part: Part) -> None:
    results = results_of(part)
    runs = [run.settings for run in results]
    files = report(results, part=part, runs=runs)
    assert report(list(reversed(results)), part=part, runs=runs) == files
    slower = [replace(run, seconds=7.0) for run in results]
    again = report(slower, part=part, runs=runs)
    differing = {name for name in files if files[name] != again[name]}
    assert differing == {"report.html", "report.md", "seconds.csv"}


def test_results_of_other_runs_are_left_aside() -> None:
    runs = runs_of("quick", protocol="undirected", seeds=1)
    others = results_of("headline", seeds=2)
    files = report(others, part="quick", runs=runs)
    assert files == report([run for run in others if run.settings in runs], part="quick", runs=runs)
    assert "All 11 runs are done" in files["report.md"]


def test_a_report_of_no_runs_is_refused() -> None:
    with raises(SettingsError):
        report([], part="quick")


@pytest.mark.parametrize("part", get_args(Part))
def test_the_page_stands_by_itself_and_is_well_formed(part: Part) -> None:
    files = report(results_of(part, protocol="paper"), part=part, command="make <&> reproduce")
    page = files["report.html"]
    assert not re.search(r"https?:|src=|<script|<link|@import|url\(", page)
    root = ElementTree.fromstring(page.removeprefix("<!doctype html>\n"))
    anchors = {each.get("id") for each in root.iter("h2")}
    assert {f"#{anchor}" for anchor in anchors} == {each.get("href") for each in root.iter("a")}
    for name, text in files.items():
        if name.endswith(".svg"):
            assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "make &lt;&amp;&gt; reproduce" in page


@pytest.mark.parametrize("part", get_args(Part))
def test_whatever_markdown_links_to_is_written_and_the_other_way_round(part: Part) -> None:
    files = report(results_of(part), part=part)
    linked = set(re.findall(r"\]\(([^)]+)\)", files["report.md"]))
    assert linked == set(files) - {"report.md", "report.html"}


@pytest.mark.parametrize("part", get_args(Part))
def test_every_csv_is_a_rectangle_with_names_of_its_own(part: Part) -> None:
    for name, text in report(results_of(part), part=part).items():
        if name.endswith(".csv"):
            names, *rows = csv.reader(io.StringIO(text))
            assert len(set(names)) == len(names)
            assert {len(row) for row in rows} == {len(names)}


def test_the_leak_is_told_with_its_share() -> None:
    leaky = report(results_of("quick", protocol="paper"), part="quick")
    clean = report(results_of("quick"), part="quick")
    assert "LEAK: protocol 'paper' leaks" in html.unescape(leaky["report.html"])
    assert "Test edges whose reverse passes messages: 90.0% (80/10/10)" in leaky["report.md"]
    assert "LEAK" not in clean["report.html"]


def test_totals_count_every_run_once() -> None:
    files = report(results_of("quick"), part="quick", command="make reproduce PART=quick")
    assert "| epochs trained | 17 700 |" in files["report.md"]  # 3 · (9 + 1 + 1.8) · 500
    assert "| computing | 1 min 6 s (66 s over all workers) |" in files["report.md"]
    assert "| command | make reproduce PART=quick |" in files["report.md"]
    seconds = table(files, "seconds")["Complete search"]
    assert seconds["cora, each"] == "18.0"
    assert seconds["cora, ms per epoch"] == "4.0"
    assert "By the clock" in files["report.md"]


def test_changes_of_the_ratio_are_counted() -> None:
    files = report(results_of("headline"), part="headline")
    row = table(files, "changes")["AdaGrid 10/1 (gap)"]
    # 0.3 0.3 0.9 again and again: 32 changes between the 50 rounds
    assert float(row["changed, %"]) == pytest.approx(100 * 32 / 49, abs=1e-6)
    assert "The ratio changed 32 times in 50 rounds" in files["report.md"]
    assert float(row["mean ratio, first half"]) == pytest.approx((17 * 0.3 + 8 * 0.9) / 25)


@pytest.mark.parametrize(("protocol", "pictures"), [("paper", 1), ("undirected", 2)])
def test_ours_and_theirs_share_a_picture_unless_far_apart(protocol: str, pictures: int) -> None:
    base = 97.0 if protocol == "paper" else 93.0
    results = results_of("quick", protocol=protocol, measure=lambda run: base + run["seed"] / 10)
    files = report(results, part="quick")
    drawn = [text for name, text in files.items() if name.startswith("auc_cora_80-10-10_uniform")]
    assert len(drawn) == pictures
    assert "Complete, published: 97.17" in "".join(drawn)
    assert f"Complete, ours: {base + 0.1:.2f} ± 0.25" in "".join(drawn)


def test_variants_are_compared_with_their_rivals() -> None:
    files = report(results_of("variants", measure=variant_auc), part="variants")
    rows = list(csv.DictReader(io.StringIO(files["variants_cora.csv"])))
    by_variant = {(row["method"], row["adapts"], row["schedule"]): row for row in rows}

    def less(method: str, adapts: str, rival: str) -> float | None:
        difference = by_variant[method, adapts, "cosine"][f"− {rival} difference"]
        return float(difference) if difference else None

    assert less("AdaGrid 10/1", "ratio", "fixed 0.5") == pytest.approx(0.5)
    assert less("AdaGrid 10/1", "ratio", "placebo") == pytest.approx(0.3)
    assert less("AdaGrid 10/1", "dropout", "placebo") == pytest.approx(0.3)  # weight decay's
    assert less("Neighbours 10/1", "ratio", "full grid") == pytest.approx(-0.5)
    assert less("Neighbours 10/1", "ratio", "placebo") is None  # which has more tries
    assert less("Neighbours 10/1", "ratio + dropout", "placebo") is None
    assert less("Fixed 0.5", "nothing", "fixed 0.5") is None
    constant = by_variant["Fixed 0.5", "nothing", "constant"]
    assert float(constant["− fixed 0.5 difference"]) == pytest.approx(-2.0)
    best = table(files, "recommended")["Cora 80/10/10, uniform"]
    assert float(best["− fixed, cosine difference"]) == pytest.approx(-3.0)
    assert float(best["− fixed, constant difference"]) == pytest.approx(-1.0)
    assert "Recommended of learning rate, constant schedule (−3.00 ± 0.00)" in files["report.md"]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("tables", "Table 3 of the paper: community negatives, AdaGrid 10/5"),
        ("headline", "AdaGrid 10/1 (gap): against complete search +0.50 ± 1.24"),
        ("quick", "Cora 80/10/10    94.00 ± 1.24"),
        ("variants", "− fixed, cosine"),
    ],
)
def test_the_summary_tells_what_matters(part: Part, sentence: str) -> None:
    results: Sequence[Finished] = results_of(part)
    text = summary(results, part=part)
    assert text.startswith("All ")
    assert sentence in text
