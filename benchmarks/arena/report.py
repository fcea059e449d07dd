"""The report of an arena: one page, the same as Markdown, a CSV for each table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.arena.limits import limit_table
from benchmarks.arena.margins import read_margins
from benchmarks.arena.picture import all_tasks_figure, start_figures
from benchmarks.arena.plan import PILOTS, power_of_two
from benchmarks.arena.tables import (
    ArenaResults,
    cost_table,
    difference_table,
    flatness_table,
    seconds_table,
    summary_table,
    value_table,
)
from benchmarks.paper.document import Section, Table, document_files
from benchmarks.paper.tables.cells import row_of
from dynhp.storage.files import write_texts

__all__ = ["arena_files", "write_report"]


def arena_files(
    results: ArenaResults, *, missing: int, command: str, later: Sequence[str] = ()
) -> dict[str, str]:
    """The files of the report by name; all but ``seconds.csv`` are the same whenever it is run."""
    halves = sorted({task.half for task in results.arena.tasks})
    differences, flatness = difference_table(results), flatness_table(results)
    warnings = _warnings(halves, missing, later)
    sections = [
        Section(
            title="What was run",
            warnings=warnings,
            text=(
                f"Tasks for {' and '.join(halves)}, {results.arena.seeds} seeds. Made by: "
                f"{command}. How long it took is in seconds.csv.",
            ),
            parts=(_task_table(results),),
        ),
        Section(title="What must hold", parts=(limit_table(results, read_margins()),)),
        Section(
            title="Against each rival",
            parts=tuple(_filled(summary_table(results, differences), differences)),
        ),
        Section(title="Values", parts=tuple(_filled(value_table(results)))),
        Section(
            title="Does the start matter?",
            parts=(*all_tasks_figure(results), *start_figures(results), *_filled(flatness)),
        ),
        Section(title="Cost", parts=tuple(_filled(cost_table(results)))),
    ]
    files = document_files("The arena: who finds the learning rate", sections)
    return {**files, "seconds.csv": seconds_table(results).csv_text()}


def write_report(folder: Path, files: dict[str, str]) -> None:
    """Write all files, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder, files)


def _filled(*tables: Table) -> list[Table]:
    return [table for table in tables if table.rows]


def _warnings(halves: Sequence[str], missing: int, later: Sequence[str]) -> tuple[str, ...]:
    partial = (
        f"{missing} runs are missing: this is not the whole arena, and nothing in it is final."
    )
    development = (
        "Tasks for development: methods were chosen by looking at them. What holds is said by the "
        "tasks for confirmation alone."
    )
    absent = f"Nothing is known yet of {', '.join(later)}."
    said = {partial: bool(missing), absent: bool(later), development: "development" in halves}
    return tuple(text for text, is_so in said.items() if is_so)


def _task_table(results: ArenaResults) -> Table:
    return Table(
        name="tasks",
        title="Tasks",
        headings=("task", "for", "epochs", "steps in all", "good rate"),
        rows=tuple(
            row_of(
                task.name,
                task.half,
                task.epochs,
                task.epochs * task.steps,
                f"{power_of_two(results.good[task.name, PILOTS[0]]):g}",
            )
            for task in results.arena.tasks
        ),
        note="The good rate is the best constant of a pilot on other seeds, by validation.",
    )
