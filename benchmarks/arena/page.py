"""The tables of the page "Should I use this?", from the files of a report, as Markdown.

``python -m benchmarks.arena.page`` writes them into the page; for others, give it the folder of a
report and a page.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path

from benchmarks.arena.methods import OURS
from benchmarks.arena.picture import NAMES
from benchmarks.arena.tables import SURE

__all__ = ["TABLES", "far_rows", "limit_rows", "near_rows", "readme_rows", "with_tables"]

README_STARTS = ("good", "30 times too low", "30 times too high")
CONFIRMED, PAGE = "docs/results/arena/confirmation", "docs/should-i-use-this.md"
Row = Mapping[str, str]


def near_rows(folder: Path) -> list[str]:
    """Our preset less each rival from the good rate, and what that rival costs."""
    rows = [row for row in _read(folder / "differences.csv") if row["start"] == "good"]
    return list(_table(["less", *_tasks(rows), "it costs"], _lines(folder, rows, with_start=False)))


def far_rows(folder: Path) -> list[str]:
    """The same from the worst starts that each rival was run from, where starts matter to it."""
    rows = _read(folder / "differences.csv")
    values = _read(folder / "values.csv")
    starts: dict[str, list[str]] = defaultdict(list)
    for row in values:
        starts[row["method"]].append(row["start"])
    far = [
        row
        for row in rows
        if len(starts[row["rival"]]) > 1
        and row["start"] in (starts[row["rival"]][0], starts[row["rival"]][-1])
    ]
    return list(_table(["less", "from", *_tasks(far)], _lines(folder, far, with_start=True)))


def limit_rows(folder: Path) -> list[str]:
    """What must hold, as the report says it."""
    lines = (folder / "report.md").read_text("utf-8").splitlines()
    from_table = dropwhile(lambda line: not line.startswith("| limit |"), lines)
    table = list(takewhile(lambda line: line.startswith("|"), from_table))
    heading = table[0]
    for task, name in NAMES.items():
        heading = heading.replace(f" {task} ", f" {name} ")
    return [heading, *(line.replace("<br>", ": ") for line in table[1:])]


def _lines(folder: Path, rows: Sequence[Row], *, with_start: bool) -> Iterator[list[str]]:
    cost = {(row["method"], row["start"]): row for row in _read(folder / "cost.csv")}
    for row in rows:
        tasks = [task for task in NAMES if f"{task} difference" in row]
        cells = [_cell(row, task) for task in tasks]
        if with_start:
            yield [row["rival"], row["start"], *cells]
            continue
        paid = cost.get((row["rival"], "good")) or cost[row["rival"], "any"]
        each = [float(paid[task]) for task in tasks if paid[task]]
        low, high = f"{min(each):.2f}", f"{max(each):.2f}"
        yield [row["rival"], *cells, low if low == high else f"{low} to {high}"]


def _cell(row: Row, task: str) -> str:
    if not row[f"{task} difference"]:
        return ""
    mean, half = (float(row[f"{task} {name}"]) for name in ("difference", "half_width_95"))
    text = f"{mean:+.2f} ± {half:.2f}".replace("-", "−")
    p = row[f"{task} p_holm"]
    if p and float(p) < SURE:
        return f"**{text}**"
    return f"{text} °" if abs(mean) > half else text


def _tasks(rows: Sequence[Row]) -> list[str]:
    return [name for task, name in NAMES.items() if f"{task} difference" in rows[0]]


def _table(heading: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield f"|{'---|' * len(heading)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def readme_rows(folder: Path) -> list[str]:
    """The rows of README.md: our preset less leaving the rate alone, and less its ending alone."""
    differences = _read(folder / "differences.csv")
    costs = [
        float(row[task])
        for row in _read(folder / "cost.csv")
        for task in NAMES
        if row["method"] == OURS and row.get(task)
    ]
    paid = f"{min(costs):.2f} to {max(costs):.2f}"
    lines = []
    for adapted, rival, called in (
        ("learning rate before the run, with its ending", "leave alone", "leaving it alone"),
        ("the same", "WSD alone", "the ending alone"),
    ):
        rows = {row["start"]: row for row in differences if row["rival"] == rival}
        texts = []
        for start in README_STARTS:
            means = {
                task: float(text)
                for task in NAMES
                if (text := rows[start].get(f"{task} difference"))
            }
            ends = (min(means, key=means.__getitem__), max(means, key=means.__getitem__))
            texts.append(" to ".join(_cell(rows[start], task).strip("* °") for task in ends))
        lines.append(
            f"| {adapted}, `recommended(...)`, {len(NAMES)} tasks | {called}, where it is good; "
            f"30 times too low; 30 times too high | {'; '.join(texts)} points | {paid} |"
        )
    return lines


def with_tables(page: str, folder: Path) -> str:
    """A page with its tables as they are now, each between two comments that name it."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        after = rest.split(end)[1]
        page = "\n".join([before + begin, *make(folder), end + after])
    return page


TABLES = {"limits": limit_rows, "from the good rate": near_rows, "from bad rates": far_rows}


if __name__ == "__main__":
    where, written = map(Path, sys.argv[1:] or (CONFIRMED, PAGE))
    written.write_text(with_tables(written.read_text("utf-8"), where), "utf-8")
