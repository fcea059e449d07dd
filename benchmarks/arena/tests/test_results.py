"""What is committed: ledgers give the reports again, and the pages say what is in these."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from benchmarks.arena import program
from benchmarks.arena.advice import advice_files
from benchmarks.arena.limits import MOST_RUNS, check_share
from dynhp.campaign import CampaignResults
from dynhp.campaign.ledger import ledger_in

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results/arena"
PARTS = {
    "links-cora": ["--tasks", "links-cora", "--seeds", "3", "--arms", "dynhp", "constant", "wsd",
                   "plateau", "adagrid"],
    "confirmation": ["--half", "confirmation"],
}  # fmt: skip
LEDGERS = {"confirmation": "results.jsonl.gz"}


@pytest.mark.parametrize("name", PARTS)
def test_a_committed_ledger_gives_the_committed_report_to_the_last_byte(
    name: str, tmp_path: Path
) -> None:
    file_name = LEDGERS.get(name, f"{name}.jsonl.gz")
    ledger = gzip.decompress((RESULTS / file_name).read_bytes())
    (tmp_path / "results.jsonl").write_bytes(ledger)
    program.main([*PARTS[name], "--folder", str(tmp_path), "--report-only"])
    committed = {path.name: path.read_bytes() for path in (RESULTS / name).iterdir()}
    again = {path.name: path.read_bytes() for path in (tmp_path / "report").iterdir()}
    assert sorted(again) == sorted(committed)
    for file, data in committed.items():
        assert again[file] == data, file


def rows(path: Path) -> list[list[str]]:
    """The rows of all tables of a page."""
    lines = path.read_text("utf-8").replace("\\<", "<").replace("\\>", ">").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]


@pytest.mark.parametrize(("folder", "column"), [("links-cora", 1), ("confirmation", 2)])
def test_the_page_says_of_each_limit_what_its_report_says(folder: str, column: int) -> None:
    said = {row[0]: row[column] for row in rows(DOCS / "arena.md") if len(row) == 3}
    report = {row[0]: row[1] for row in rows(RESULTS / folder / "report.md") if len(row) == 2}
    limits = [row["limit"] for row in read(RESULTS / folder / "limits.csv")]
    known = {name: report[name].replace("<br>", ": ") for name in limits if name in report}
    assert len(known) >= 5
    for name, text in known.items():
        assert said[name].replace("**", "") == text, name
    unknown = set(limits) - set(known)
    assert all(said.get(name, "not run") == "not run" for name in unknown)


def test_what_pays_is_said_with_the_differences_of_the_report() -> None:
    """The figures of the README and of the page on one screen, from each start."""
    rows_of = read(RESULTS / "confirmation/differences.csv")
    alone = {row["start"]: row for row in rows_of if row["rival"] == "leave alone"}
    figures = [_signed(alone[start]) for start in ("good", "30 times too low", "30 times too high")]
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    short = (DOCS / "results-in-short.md").read_text("utf-8")
    assert f"{figures[0]}; {figures[1]}; {figures[2]}" in readme
    assert (
        f"{figures[1]} points from 30 times too low, {figures[2]} from 30 times too high" in short
    )
    seeds = {row["links-citeseer seeds"] for row in alone.values()}
    words = {"3": "three", "6": "six", "10": "ten"}
    assert len(seeds) == 1
    assert f"CiteSeer, {words[seeds.pop()]} seeds" in readme


def test_the_page_says_how_far_other_rivals_are() -> None:
    page = " ".join((DOCS / "arena.md").read_text("utf-8").split())
    for row in read(RESULTS / "confirmation/differences.csv"):
        names = {
            "Schedule-Free": "Schedule-Free at the good rate",
            "best Schedule-Free of 6": "the best of six",
            "Prodigy, cosine": "Prodigy",
            "one-cycle, range test": "one-cycle with a range test",
            "ReduceLROnPlateau": "ReduceLROnPlateau",
        }
        if row["start"] == "good" and row["rival"] in names:
            assert f"{names[row['rival']]} {_signed(row)}" in page


def _signed(row: dict[str, str]) -> str:
    mean, half = (float(row[f"links-citeseer {name}"]) for name in ("difference", "half_width_95"))
    return f"{mean:+.2f} ± {half:.2f}".replace("-", "−")


def test_the_page_has_the_table_of_what_runs_say() -> None:
    said = [row for row in rows(RESULTS / "advice/report.md") if len(row) == 7]
    assert len(said) == 8
    assert all(row in rows(DOCS / "arena.md") for row in said)
    page = " ".join((DOCS / "arena.md").read_text("utf-8").split())
    shrinkage, images = ({row[0]: row[-1] for row in said}[name].strip("*")
                         for name in ("shrinkage", "learning rate, images"))  # fmt: skip
    assert f"adapting it lost {shrinkage[1:]} points" in page
    assert f"*cost* {images[1:].split(' ')[0]} points" in page


def test_the_ledger_of_advice_gives_its_report_again(tmp_path: Path) -> None:
    ledger = tmp_path / "results.jsonl"
    ledger.write_bytes(gzip.decompress((RESULTS / "advice.jsonl.gz").read_bytes()))
    files = advice_files(CampaignResults(ledger_in(ledger)))
    committed = {path.name: path.read_text("utf-8") for path in (RESULTS / "advice").iterdir()}
    assert files == committed


def test_the_page_on_rates_says_what_the_search_cost() -> None:
    costs = [
        float(row["links-cora"])
        for row in read(RESULTS / "links-cora/cost.csv")
        if row["method"] == "dynhp's preset"
    ]
    assert len(costs) == 5
    check = check_share(100)
    text = " ".join((DOCS / "learning-rate.md").read_text("utf-8").split())
    assert f"took {min(costs) - 1:.2f} to {max(costs) - 1:.2f} runs without the check" in text
    assert f"cost {min(costs) + check:.2f} to {max(costs) + check:.2f} with it" in text
    assert f"carries out the first of them twice more, {check:.2f} runs" in text
    assert (max(costs) + check > MOST_RUNS) == (f"above the {MOST_RUNS} that" in text)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
