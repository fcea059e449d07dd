"""The report compares like with like: the same seeds, tries and models, and counts its luck."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.paper.protocol.parts import Part, runs_of
from benchmarks.paper.report import report, summary
from benchmarks.paper.tests.support import (
    CORA,
    SPREAD,
    Run,
    finished,
    results_of,
    table,
    variant_auc,
)
from dynhp import __version__


def torn(
    part: Part, lost: Callable[[Run], bool], *, protocol: str = "undirected", **made: Any
) -> dict[str, str]:
    """The report of a part of which some runs are missing."""
    runs = runs_of(part, protocol=protocol, seeds=made.pop("seeds", 3))
    return report([finished(run, **made) for run in runs if not lost(run)], part=part, runs=runs)


def adapts(run: Run) -> bool:
    return run["method"] == "adagrid" and run["criterion"] == "validation"


def opposed(run: Run) -> float:
    """AdaGrid gains 0.1 ± 0.5 by seed, the same in every column, and 0.02 more on CiteSeer."""
    gain = 0.1 + SPREAD[run["seed"] % 3] + (0.02 if run["graph"] == "citeseer" else 0.0)
    return 94 + (gain if adapts(run) else 0.0)


def test_pools_average_over_columns_first_and_have_seeds_as_units() -> None:
    files = report(results_of("headline", measure=opposed), part="headline")
    row = table(files, "paired_placebo")["AdaGrid 10/1 (validation)"]
    for pool, columns in {"all columns": "4", "uniform only": "2"}.items():
        assert float(row[f"{pool} difference"]) == pytest.approx(0.11)
        # Student with 2 degrees of freedom; over the four means it would be ± 0.02.
        assert float(row[f"{pool} half_width_95"]) == pytest.approx(1.242069, abs=1e-6)
        assert (row[f"{pool} seeds"], row[f"{pool} columns"]) == ("3", columns)
    assert "averaged over the columns, for the seeds that all" in files["report.md"]
    assert "columns as units" not in files["report.md"].lower()


def test_columns_are_units_beside_only_where_they_are_twelve_and_seeds_few() -> None:
    gains = {"20/40/40": -0.3, "50/25/25": 0.0, "80/10/10": 0.6}

    def measure(run: Run) -> float:
        return 94 + SPREAD[run["seed"] % 3] + (gains[run["split"]] if adapts(run) else 0.0)

    few = report(results_of("tables", measure=measure), part="tables")
    row = table(few, "paired_placebo")["AdaGrid 10/5 (validation)"]
    assert float(row["all columns difference"]) == pytest.approx(0.1)
    assert float(row["all columns half_width_95"]) == pytest.approx(0, abs=1e-6)
    # Twelve numbers, four of each; Student with 11 degrees of freedom: 2.2010 · 0.3908 / √12.
    units = float(row["all columns columns_as_units_half_width_95"])
    assert units == pytest.approx(0.24830, abs=1e-4)
    assert "uniform only columns_as_units" not in row  # six columns
    assert "columns as units +0.10 ± 0.25" in few["report.md"]
    assert [row[name] for name in ("above zero", "interval above zero", "interval below zero")] == [
        "4",
        "4",
        "4",
    ]
    many = report(results_of("tables", seeds=5, measure=measure), part="tables")
    assert "columns as units" not in many["report.md"].lower()


def test_small_pools_are_never_bold() -> None:
    def measure(run: Run) -> float:
        return 94 + SPREAD[run["seed"]] + (0.33 if adapts(run) else 0.0)

    small = report(results_of("headline", measure=measure), part="headline")["report.md"]
    pools = small.split("AdaGrid − placebo, over columns")[1].split("###")[0]
    assert "| +0.33 ± 0.00 | +0.33 ± 0.00 |" in pools
    assert "**" not in pools
    large = report(results_of("tables", measure=measure), part="tables")["report.md"]
    assert "**+0.33 ± 0.00**" in large.split("AdaGrid − placebo, over columns")[1].split("###")[0]


def test_pools_take_the_seeds_that_all_columns_have() -> None:
    def lost(run: Run) -> bool:
        return run["graph"] == "cora" and run["seed"] == 2 and run["negatives"] == "uniform"

    row = table(torn("headline", lost, measure=opposed), "paired_random")
    pool = row["AdaGrid 10/1 (validation)"]
    assert pool["all columns seeds"] == "2"
    assert float(pool["all columns difference"]) == pytest.approx(0.11 - 0.25)
    assert pool["community only seeds"] == "3"


def test_columns_without_results_are_left_out_of_a_pool_and_told() -> None:
    files = torn("headline", lambda run: run["graph"] == "cora" and run["method"] == "random")
    row = table(files, "paired_random")["AdaGrid 10/1 (gap)"]
    assert (row["all columns columns"], row["all columns seeds"]) == ("2", "3")
    assert "<br>2 of 4 columns" in files["report.md"]


def test_intervals_are_counted_and_so_is_their_luck() -> None:
    text = report(results_of("headline"), part="headline")["report.md"]
    # Two AdaGrids against three rivals, five methods against fixed 0.5: four columns, three pools
    assert "77 intervals over seeds stand below" in text
    assert "about 3.9 of 77 (5 %)" in text
    assert "These are 32 intervals. By luck alone about 1.6 of 32" in text
    assert "12 intervals" not in text
    alone = report(results_of("quick", seeds=1), part="quick")["report.md"]
    assert "intervals over seeds stand" not in alone


def test_every_method_is_compared_with_fixed_half() -> None:
    rows = table(report(results_of("headline"), part="headline"), "paired_fixed_uniform")
    assert {name: float(row[f"{CORA} difference"]) for name, row in rows.items()} == pytest.approx(
        {
            "Complete search": -1.0,
            "Random search": -1.5,
            "AdaGrid 10/1 (validation)": -0.75,
            "AdaGrid 10/1 (gap)": -0.5,
            "Placebo 10/1": -1.0,
        }
    )


@pytest.mark.parametrize("model", [{"layers": 3, "width": 128}, {"epochs": 100}])
@pytest.mark.parametrize("part", ["tables", "headline"])
def test_other_models_stand_beside_nothing_published(part: Part, model: dict[str, int]) -> None:
    runs = runs_of(part, protocol="paper", seeds=2, **model)
    files = report([finished(run) for run in runs], part=part)
    assert files["report.md"].count("The paper prints no table for") == 1
    assert "agreement.csv" not in files
    for name, text in files.items():
        unstyled = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert not re.search(r"published(?! values)|paper [+−\d]", unstyled), name


def test_the_papers_model_stands_beside_the_published() -> None:
    files = report(results_of("tables", protocol="paper"), part="tables")
    assert "prints no table" not in files["report.md"]
    assert "agreement.csv" in files


def test_agreement_is_of_the_papers_protocol_alone() -> None:
    files = report(results_of("tables"), part="tables")
    assert "agreement.csv" not in files
    assert "Agreement with the paper" not in files["report.html"]


def test_published_values_inside_our_intervals_are_counted() -> None:
    def measure(run: Run) -> float:  # 97.5 ± 1.24 holds four of the twelve
        return 97.5 + SPREAD[run["seed"]]

    files = report(results_of("tables", protocol="paper", measure=measure), part="tables")
    row = table(files, "agreement")["Complete search"]
    assert row["published inside our interval"] == "4"
    assert row["published inside our interval of"] == "12"


def test_a_criterion_does_not_win_by_seeds_that_the_other_lacks() -> None:
    def measure(run: Run) -> float:
        gap = run.get("criterion") == "gap"
        return 94 + 2 * run["seed"] + (-1 if gap else 0)

    def lost(run: Run) -> bool:  # gap has the lucky seed alone
        return adapts(run) and run["seed"] == 2

    files = torn("headline", lost, measure=measure)
    row = table(files, "means_uniform")
    assert float(row["AdaGrid 10/1"][f"{CORA} ours"]) == pytest.approx(95.0)  # validation, 2 seeds
    assert row["AdaGrid 10/1"][f"{CORA} seeds"] == "2"
    assert float(row["Gain"][f"{CORA} ours"]) == pytest.approx(0.0)  # of seeds 0 and 1
    assert row["Gain"][f"{CORA} seeds"] == "2"
    assert "| Gain | +0.00 (2 seeds) |" in files["report.md"]


def test_without_common_seeds_the_criterion_with_more_is_taken() -> None:
    def lost(run: Run) -> bool:
        gap = run["method"] == "adagrid" and run["criterion"] == "gap"
        return (adapts(run) and run["seed"] == 2) or (gap and run["seed"] != 2)

    def measure(run: Run) -> float:
        return 94.0 + run["seed"]

    row = table(torn("headline", lost, measure=measure), "means_uniform")["AdaGrid 10/1"]
    assert (float(row[f"{CORA} ours"]), row[f"{CORA} seeds"]) == (pytest.approx(94.5), "2")


def test_more_seeds_of_some_columns_are_shown_as_far_as_they_are_there() -> None:
    def lost(run: Run) -> bool:  # searches on community negatives have ten seeds, all else three
        long = run["negatives"] == "community" and run["method"] in ("fixed", "random")
        return run["seed"] >= 3 and not long

    files = torn("headline", lost, protocol="paper", seeds=10)
    community = table(files, "means_community")
    assert community["Complete search"][f"{CORA} seeds"] == "10"
    assert community["AdaGrid 10/1"][f"{CORA} seeds"] == "3"
    assert (float(community["Gain"][f"{CORA} ours"]), community["Gain"][f"{CORA} seeds"]) == (
        pytest.approx(0.5),
        "3",
    )
    pool = table(files, "paired_fixed")
    assert pool["Random search"]["all columns seeds"] == "3"
    assert pool["Random search"]["community only seeds"] == "10"
    assert table(files, "agreement")["Complete search"]["measured"] == "4"


def test_placebos_are_no_variants_and_luck_is_told() -> None:
    def measure(run: Run) -> float:
        only = run["method"] == "neighbors" and run.get("adapts") is None
        placebo = run["method"] == "placebo"
        return variant_auc(run) + (0.25 if only else 5.0 if placebo else 0.0)

    text = summary(results_of("variants", measure=measure), part="variants")
    assert (
        "Cora 80/10/10, uniform negatives, variants less fixed 0.5, placebos aside: of 16" in text
    )
    assert "Neighbours 10/1 (validation) (+0.25 ± 0.00)" in text
    assert "Placebo 10/1 (" not in text
    assert "By luck alone about 0.8 of 16 would not hold zero (variants_cora.csv)." in text
    assert "clearly" not in text
    assert "; (" not in text
    assert "2 are below zero: Recommended of learning rate" in text


def test_one_variant_is_and_several_are() -> None:
    def measure(run: Run) -> float:
        return 94 + SPREAD[run["seed"]] + (1.0 if run["method"] == "interpolation" else 0.0)

    text = summary(results_of("variants", measure=measure), part="variants")
    assert (
        "of 16 intervals 1 is above zero: Interpolation 10/1 (validation) (+1.00 ± 0.00). 0 are"
        in (text)
    )


@pytest.mark.parametrize("part", ["tables", "headline", "variants"])
def test_notes_tell_how_far_the_placebo_is_fair(part: Part) -> None:
    text = report(results_of(part), part=part)["report.md"]
    assert "draw random numbers of their own, while AdaGrid's tries share theirs" in text
    assert "chooses its luckiest copy by validation" in text


def test_a_stranger_finds_the_words_the_paper_and_the_version() -> None:
    files = report(results_of("quick"), part="quick")
    preface = files["report.md"].split("## In short")[0]
    for word in ("adapt epochs α", "try epochs β", "Validation and gap", "Complete search:"):
        assert word in preface
    for word in ("Random search:", "Placebo:", "Relative epochs:", "±: half of"):
        assert word in preface
    assert "Link Prediction Training Objective, 2022, arXiv:2203.16162" in preface
    assert f"| dynhp | {__version__}, which" in preface
    assert "Known deviations" not in preface


def test_the_papers_protocol_tells_where_we_deviate_from_the_authors_code() -> None:
    preface = report(results_of("quick", protocol="paper"), part="quick")["report.md"]
    assert "our tries of a round all start from the same random state" in preface
    assert "a losing try never supplies our reported checkpoint" in preface


def test_the_better_criterion_is_not_laid_at_the_papers_door() -> None:
    text = report(results_of("headline"), part="headline")["report.md"]
    assert "as in the paper" not in text
    assert "of which the paper says no more than that" in text
    assert "paired differences are mostly free of" in text


def test_ratio_figures_share_one_axis() -> None:
    files = report(results_of("headline"), part="headline")
    axes = [
        re.findall(r'<line .*?y1="([\d.]+)".*?>(0\.\d)</text>', files[f"ratio_{name}.svg"])
        for name in ("validation", "gap")
    ]
    assert axes[0] == axes[1]
    assert [name for _, name in axes[0]] == [f"0.{place}" for place in range(1, 10)]
