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
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_a_committed_ledger_gives_the_committed_report_to_the_last_byte(
    name: str, tmp_path: Path
) -> None:
    ledger = gzip.decompress((RESULTS / f"{name}.jsonl.gz").read_bytes())
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


def test_the_page_says_of_each_limit_what_its_report_says() -> None:
    page = {row[0]: row[1].replace("**", "") for row in rows(DOCS / "arena.md") if len(row) == 2}
    report = {row[0]: row[-1] for row in rows(RESULTS / "links-cora/report.md") if len(row) == 2}
    limits = [row["limit"] for row in read(RESULTS / "links-cora/limits.csv")]
    known = {name: report[name].replace("<br>", ": ") for name in limits if name in report}
    assert len(known) >= 5
    for name, said in known.items():
        assert page[name] == said, name
    assert not set(limits) - set(known) & set(page), "what was not run is in one row"


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
