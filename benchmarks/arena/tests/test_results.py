"""What is committed: ledgers give the reports again, and the pages say what is in these."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from benchmarks.arena import program
from benchmarks.arena.advice import advice_files
from benchmarks.arena.ledger import kept_runs
from benchmarks.arena.margins import margins_of, read_margins
from benchmarks.arena.methods import OURS, gather
from benchmarks.arena.page import readme_rows, with_tables
from benchmarks.arena.picture import NAMES
from benchmarks.arena.plan import STARTS, good_rates, pilot_runs, read_arena
from dynhp.campaign.ledger import ledger_in
from dynhp.campaign.results import CampaignResults

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results/arena"
PARTS = {
    "small": ["--tasks", "links-cora", "regression-mlp", "cartpole", "--seeds", "3", "--arms",
              "preset-schedule", "constant", "wsd", "plateau", "adagrid"],
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


CONFIRMED = RESULTS / "confirmation"


def test_the_page_has_the_tables_of_the_report() -> None:
    page = (DOCS / "should-i-use-this.md").read_text("utf-8")
    assert with_tables(page, CONFIRMED) == page
    limits = [row for row in rows(DOCS / "should-i-use-this.md") if row[0].startswith("each run")]
    assert len(limits) == 1
    assert len(limits[0]) == 1 + len(NAMES), "all tasks for confirmation"


def test_the_readme_says_what_the_report_says() -> None:
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    for row in readme_rows(CONFIRMED):
        assert row in readme
    low, high = costs(CONFIRMED)
    assert f"It costs {low:.2f} to {high:.2f} runs" in " ".join(readme.split())


def test_the_page_on_rates_says_what_the_search_cost() -> None:
    low, high = costs(CONFIRMED)
    text = " ".join((DOCS / "learning-rate.md").read_text("utf-8").split())
    assert f"cost {low:.2f} to {high:.2f} runs" in text


def test_the_screen_of_results_counts_the_limits() -> None:
    words = [row[name] for row in read(CONFIRMED / "limits.csv") for name in NAMES]
    yes, no = (words.count(word) for word in ("yes", "no"))
    text = " ".join((DOCS / "results-in-short.md").read_text("utf-8").split())
    assert (
        f'Of the {yes + no} entries of its table of limits {yes} are "yes" and {no} "no".' in text
    )


def test_the_page_counts_what_may_be_a_loss() -> None:
    ends = [
        float(row[f"{task} difference"]) + float(row[f"{task} half_width_95"])
        for row in read(CONFIRMED / "differences.csv")
        for task in NAMES
        if row[f"{task} half_width_95"]
    ]
    page = " ".join((DOCS / "should-i-use-this.md").read_text("utf-8").split())
    below = sum(end < 0 for end in ends)
    assert f"of {len(ends)} differences {below} have an interval that lies below zero" in page
    assert f"luck alone would give {len(ends) * 0.025:.0f} if" in page


def test_the_margins_are_those_of_the_runs() -> None:
    runs = committed_runs(RESULTS / LEDGERS["confirmation"])
    arena = read_arena(Path(program.HERE) / "tasks.toml").only(
        half="confirmation", tasks=None, seeds=None
    )
    values: dict[tuple[str, str, float], list[float]] = {}
    wanted = {json.dumps(run, sort_keys=True) for run in pilot_runs(arena)}
    for run in runs:
        if run.result is not None and json.dumps(dict(run.settings), sort_keys=True) in wanted:
            key = tuple(run.settings[name] for name in ("task", "arm", "rate"))
            values.setdefault(key, []).append(run.result["val"])  # type: ignore[arg-type]
    margins = margins_of(arena, good_rates(arena, values), gather(runs))
    assert margins == read_margins()


def costs(folder: Path) -> tuple[float, float]:
    """The least and the most that the preset costs on a task from a start, on average."""
    paid = [row for row in read(folder / "cost.csv") if row["method"] == OURS]
    each = [float(value) for row in paid for name, value in row.items() if name in NAMES]
    assert len(each) == len(STARTS) * len(NAMES)
    return min(each), max(each)


def test_the_page_has_the_table_of_what_runs_say() -> None:
    said = [row for row in rows(RESULTS / "advice/report.md") if len(row) == 7]
    assert len(said) == 8
    assert all(row in rows(DOCS / "arena.md") for row in said)
    page = " ".join((DOCS / "arena.md").read_text("utf-8").split())
    shrinkage, images = ({row[0]: row[-1] for row in said}[name].strip("*")
                         for name in ("shrinkage", "learning rate, images"))  # fmt: skip
    assert f"adapting it lost {shrinkage[1:]} points" in page
    assert f"*cost* {images[1:].split(' ')[0]} points" in page
    adapt = " ".join((DOCS / "what-to-adapt.md").read_text("utf-8").split())
    gained = {row[0]: row[-1].strip("*") for row in said}
    assert f"cost {gained['learning rate, images'][1:]} points on images" in adapt
    none = [gained[name] for name in ("dropout", "label smoothing", "edge message ratio")]
    assert f"{none[0]}, {none[1]} and {none[2]}: nothing" in adapt
    assert f"{gained['shrinkage']} points" in adapt


def test_the_ledger_of_advice_gives_its_report_again(tmp_path: Path) -> None:
    ledger = tmp_path / "results.jsonl"
    ledger.write_bytes(gzip.decompress((RESULTS / "advice.jsonl.gz").read_bytes()))
    files = advice_files(CampaignResults(ledger_in(ledger)))
    committed = {path.name: path.read_text("utf-8") for path in (RESULTS / "advice").iterdir()}
    assert files == committed


def committed_runs(path: Path) -> CampaignResults:
    """The runs of a committed ledger."""
    return CampaignResults(tuple(kept_runs(path).values()))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
