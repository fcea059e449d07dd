"""An arena of toy size: the same bytes with one worker or two, resumed or not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena import program
from benchmarks.arena.margins import margins_of, read_margins, write_margins
from benchmarks.arena.methods import METHODS, OUR_ARM, OURS, MethodResult, entries, gather
from benchmarks.arena.picture import all_tasks_figure, start_figures
from benchmarks.arena.plan import (
    START_ARMS,
    STARTS,
    SWEEPS,
    power_of_two,
    read_arena,
    runs_of,
    start_rate,
)
from benchmarks.arena.tables import ArenaResults, difference_table, flatness_table, summary_table
from benchmarks.paper.significance import p_value
from dynhp.campaign.results import Finished

HERE = Path(__file__).parent
ARMS = ["preset-schedule", "constant", "wsd", "tpe", "scan"]


def report(folder: Path, *arguments: str) -> dict[str, bytes]:
    program.main(
        ["--file", str(HERE / "toy.toml"), "--folder", str(folder), "--arms", *ARMS, *arguments]
    )
    files = {path.name: path.read_bytes() for path in (folder / "report").iterdir()}
    assert len(files.pop("seconds.csv")) > 100
    return files


@pytest.mark.slow
def test_one_worker_or_two_or_a_second_call_give_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = report(tmp_path / "one", "--workers", "1", "--tasks", "links-cora")
    first = report(tmp_path / "two", "--workers", "2", "--tasks", "links-cora", "--seeds", "1")
    two = report(tmp_path / "two", "--workers", "2", "--tasks", "links-cora")
    assert one == two != first
    assert {"report.html", "report.md", "values.csv", "differences.csv", "cost.csv"} <= set(one)
    assert (tmp_path / "one/results.csv").read_bytes() == (
        tmp_path / "two/results.csv"
    ).read_bytes()
    assert "CPU hours" in capsys.readouterr().out
    again = report(tmp_path / "two", "--report-only", "--tasks", "links-cora")
    assert again == two


def test_a_plan_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["--file", str(HERE / "toy.toml"), "--folder", str(tmp_path / "none"), "--plan"])
    assert "of the pilot are missing" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_no_run_is_asked_for_twice_and_sweeps_share_the_starts() -> None:
    arena = read_arena(HERE / "toy.toml")
    good = {
        ("links-cora", "constant"): -6,
        ("links-cora", "schedule-free"): -5,
        ("boosting-diabetes", "constant"): -2,
    }
    runs = runs_of(arena, good)
    keys = [tuple(run.values()) for run in runs]
    assert len(keys) == len(set(keys))
    constants = {run["rate"] for run in runs if run["arm"] == "constant" and run["task"][0] == "l"}
    others = len(START_ARMS["constant"]) - 1  # the good start is one of the sweep
    assert len(constants) == 6 + others, "the sweep, and the starts that are none of it"
    assert {power_of_two(-9), power_of_two(-6), power_of_two(-4)} <= constants
    assert not any(run["arm"] == "prodigy" and run["task"][0] == "b" for run in runs)
    free = {run["rate"] for run in runs if run["arm"] == "schedule-free"}
    assert {power_of_two(shift - 5) for shift in SWEEPS["schedule-free"]} <= free, "its own rates"


def test_no_two_starts_lie_on_one_ladder_but_those_a_hundred_times_apart() -> None:
    """Half powers of ten are rungs: from two starts that far apart a search may be the same."""
    places = {start: 2 * math.log10(times) for start, times in STARTS.items()}
    on_the_rungs = {start for start, place in places.items() if abs(place - round(place)) < 0.05}
    assert on_the_rungs == {f"{n} times too {way}" for n in (10, 30) for way in ("low", "high")} | {
        "good"
    }


def test_arms_begin_at_some_starts_alone() -> None:
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=["links-cora"], seeds=1)
    good = {("links-cora", "constant"): -6, ("links-cora", "schedule-free"): -5}
    runs = runs_of(arena, good, ["preset-schedule", "wsd"], ["good"])
    rates = [run["rate"] for run in runs if run["arm"] == "preset-schedule"]
    assert rates == [power_of_two(-6)]
    assert sum(run["arm"] == "wsd" for run in runs) == 7, "sweeps are whole"


def test_a_margin_is_what_twice_the_best_rate_costs(tmp_path: Path) -> None:
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=["links-cora"], seeds=2)
    good = {("links-cora", "constant"): -6}
    values = {-8: 1.0, -7: 5.0, -6: 9.0, -5: 8.5, -4: 6.0, -3: 2.0, -2: 0.0}
    runs = [
        made("links-cora", "wsd", power_of_two(exponent), seed, value + seed)
        for exponent, value in values.items()
        for seed in range(2)
    ]
    assert margins_of(arena, good, gather(runs)) == {"links-cora": 0.5}
    assert margins_of(arena, good, gather(runs[:-1])) == {}, "one seed is missing"
    file = tmp_path / "margins.json"
    write_margins({"links-cora": 0.5}, file)
    write_margins({"another": 2.0}, file)
    assert read_margins(file) == {"links-cora": 0.5, "another": 2.0}
    with pytest.raises(SystemExit, match="its margin"):
        write_margins({"links-cora": 0.7}, file)


def made(task: str, arm: str, rate: float, seed: int, value: float, runs: float = 1.0) -> Finished:
    result = {"value": value, "val": value, "runs": runs, "rungs": [value, value]}
    settings = {"task": task, "arm": arm, "rate": rate, "seed": seed}
    return Finished(settings=settings, result=result, seconds=2.0)


def test_a_sweep_is_the_best_by_validation_and_costs_all_of_it() -> None:
    rates = [power_of_two(-6 + shift) for shift in SWEEPS["constant"]]
    runs = gather(made("links-cora", "constant", rate, 0, i) for i, rate in enumerate(rates))
    best = METHODS["best constant of 6"]
    halved = METHODS["successive halving of 6"]
    read: dict[str, Any] = {"good": {("links-cora", "constant"): -6}, "start": "", "seeds": 2}
    assert entries(runs, best, "links-cora", **read) == {0: MethodResult(5.0, 6.0, 12.0)}
    assert entries(runs, halved, "links-cora", **read) == {0: MethodResult(5.0, 2.5, 5.0)}
    missing = {key: run for key, run in runs.items() if key[2] != rates[0]}
    assert entries(missing, best, "links-cora", **read) == {}


@pytest.fixture
def results() -> ArenaResults:
    """Ours is ahead by about one of a constant from the good start, and level elsewhere."""
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=["links-cora"], seeds=6)
    runs = []
    for start in STARTS:
        for seed in range(6):
            rate, ahead = start_rate(-6, start), 1.0 if start == "good" else 0.0
            wobble = 0.01 * (-1) ** seed * (seed + 1)
            runs.append(made("links-cora", "constant", rate, seed, 5.0 + seed))
            runs.append(made("links-cora", OUR_ARM, rate, seed, 5.0 + seed + ahead + wobble, 1.3))
    return ArenaResults(arena=arena, good={("links-cora", "constant"): -6}, runs=gather(runs))


def test_differences_are_paired_and_corrected(results: ArenaResults) -> None:
    table = difference_table(results)
    sides = {(row[0].text, row[1].text): row[2] for row in table.rows}
    sure = sides["leave alone", "good"]
    assert sure.side == "above"
    assert sure.text.endswith(" *")
    assert sides["leave alone", "10 times too low"].side == ""
    wobbles = [1.0 + 0.01 * (-1) ** seed * (seed + 1) for seed in range(6)]
    starts = len(START_ARMS["constant"])
    assert len(table.rows) == starts, "only the constants have results to compare with"
    assert sure.values["p_holm"] == pytest.approx(p_value(wobbles) * starts, rel=1e-4)
    counts = {tuple(cell.text for cell in row) for row in summary_table(results, table).rows}
    assert ("leave alone", "good", "1", "0", "0", "0", "0") in counts
    assert ("leave alone", "10 times too high", "0", "1", "0", "0", "0") in counts


def test_flatness_is_the_distance_of_the_means(results: ArenaResults) -> None:
    rows = {row[0].text: row[1] for row in flatness_table(results).rows}
    assert rows["leave alone"].values["apart"] == 0
    assert rows[OURS].values["apart"] == pytest.approx(1.0)
    assert rows[OURS].second_line.startswith("± 1.9")


def test_a_picture_has_a_line_for_each_method_and_a_point_for_each_start(
    results: ArenaResults,
) -> None:
    [figure] = start_figures(results)
    assert figure.name == "starts_links-cora"
    lines = [part.split('"')[0] for part in figure.svg.split('points="')[1:]]
    flat, ours = (
        next(line.split() for line in lines if len(line.split()) == points)
        for points in (len(START_ARMS["constant"]), len(STARTS))
    )
    assert len({point.split(",")[1] for point in flat}) == 1, "constants are level"
    heights = [float(point.split(",")[1]) for point in ours]
    assert heights.index(min(heights)) == list(STARTS).index("good"), "higher is further up"
    nothing = ArenaResults(arena=results.arena, good=results.good, runs={})
    assert start_figures(nothing) == ()


def test_one_picture_has_a_panel_for_each_task(results: ArenaResults) -> None:
    assert all_tasks_figure(results) == (), "one task has a picture of its own"
    both = read_arena(HERE / "toy.toml").only(half=None, tasks=None, seeds=6)
    also = {("boosting-diabetes", *key[1:]): run for key, run in results.runs.items()}
    two = ArenaResults(
        arena=both, good={(task.name, "constant"): -6 for task in both.tasks},
        runs={**results.runs, **also},
    )  # fmt: skip
    [figure] = all_tasks_figure(two)
    lines = [part.split('"')[0].split() for part in figure.svg.split('points="')[1:]]
    ours = [line for line in lines if len(line) == len(STARTS)]
    left, right = ([float(point.split(",")[0]) for point in line] for line in ours)
    assert len(left) == len(right) == len(STARTS)
    assert max(left) < min(right), "panels do not overlap"
    for name in ("links-cora", "boosting-diabetes", OURS.replace("'", "&#x27;"), "leave alone"):
        assert f">{name}</text>" in figure.svg
