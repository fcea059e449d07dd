"""An arena of toy size: the same bytes with one worker or two, resumed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.arena import program
from benchmarks.arena.methods import METHODS, OURS, MethodResult, entries, gather
from benchmarks.arena.picture import all_tasks_figure, start_figures
from benchmarks.arena.plan import STARTS, half_power, read_arena, runs_of, start_rate
from benchmarks.arena.tables import ArenaResults, difference_table, flatness_table, summary_table
from benchmarks.paper.significance import p_value
from dynhp.campaign.results import Finished

HERE = Path(__file__).parent
ARMS = ["dynhp", "constant", "wsd", "tpe"]


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
    one = report(tmp_path / "one", "--workers", "1", "--tasks", "boosting-diabetes")
    first = report(
        tmp_path / "two", "--workers", "2", "--tasks", "boosting-diabetes", "--seeds", "1"
    )
    two = report(tmp_path / "two", "--workers", "2", "--tasks", "boosting-diabetes")
    assert one == two != first
    assert {"report.html", "report.md", "values.csv", "differences.csv", "cost.csv"} <= set(one)
    assert (tmp_path / "one/results.csv").read_bytes() == (
        tmp_path / "two/results.csv"
    ).read_bytes()
    assert "CPU hours" in capsys.readouterr().out
    again = report(tmp_path / "two", "--report-only", "--tasks", "boosting-diabetes")
    assert again == two


def test_a_plan_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["--file", str(HERE / "toy.toml"), "--folder", str(tmp_path / "none"), "--plan"])
    assert "6 of 6 runs of the pilot are missing" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_no_run_is_asked_for_twice_and_sweeps_share_the_starts() -> None:
    arena = read_arena(HERE / "toy.toml")
    good = {"links-cora": -4, "boosting-diabetes": -2}
    runs = runs_of(arena, good)
    keys = [tuple(run.values()) for run in runs]
    assert len(keys) == len(set(keys))
    constants = {run["rate"] for run in runs if run["arm"] == "constant" and run["task"][0] == "l"}
    assert len(constants) == 7, "five of the sweep, and two starts that are none of them"
    assert {half_power(-6), half_power(-4), half_power(-2)} <= constants
    assert not any(run["arm"] == "prodigy" and run["task"][0] == "b" for run in runs)


def made(task: str, arm: str, rate: float, seed: int, value: float, runs: float = 1.0) -> Finished:
    result = {"value": value, "val": value, "runs": runs, "rungs": [value, value]}
    settings = {"task": task, "arm": arm, "rate": rate, "seed": seed}
    return Finished(settings=settings, result=result, seconds=2.0)


def test_a_sweep_is_the_best_by_validation_and_costs_all_of_it() -> None:
    rates = [half_power(-4 + shift) for shift in range(-2, 3)]
    runs = gather(made("links-cora", "constant", rate, 0, i) for i, rate in enumerate(rates))
    best = METHODS["best constant of 5"]
    halved = METHODS["successive halving of 5"]
    read = {"good": -4, "start": "good", "seeds": 2}
    assert entries(runs, best, "links-cora", **read) == {0: MethodResult(4.0, 5.0, 10.0)}  # type: ignore[arg-type]
    assert entries(runs, halved, "links-cora", **read) == {0: MethodResult(4.0, 2.25, 4.5)}  # type: ignore[arg-type]
    missing = {key: run for key, run in runs.items() if key[2] != rates[0]}
    assert entries(missing, best, "links-cora", **read) == {}  # type: ignore[arg-type]


@pytest.fixture
def results() -> ArenaResults:
    """Ours is ahead by about one of a constant from the good start, and level elsewhere."""
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=["links-cora"], seeds=6)
    runs = []
    for start in STARTS:
        for seed in range(6):
            rate, ahead = start_rate(-4, start), 1.0 if start == "good" else 0.0
            wobble = 0.01 * (-1) ** seed * (seed + 1)
            runs.append(made("links-cora", "constant", rate, seed, 5.0 + seed))
            runs.append(made("links-cora", "dynhp", rate, seed, 5.0 + seed + ahead + wobble, 1.3))
    return ArenaResults(arena=arena, good={"links-cora": -4}, runs=gather(runs))


def test_differences_are_paired_and_corrected(results: ArenaResults) -> None:
    table = difference_table(results)
    sides = {(row[0].text, row[1].text): row[2] for row in table.rows}
    sure = sides["leave alone", "good"]
    assert sure.side == "above"
    assert sure.text.endswith(" *")
    assert sides["leave alone", "10 times too low"].side == ""
    wobbles = [1.0 + 0.01 * (-1) ** seed * (seed + 1) for seed in range(6)]
    assert len(table.rows) == len(STARTS), "only the constants have results to compare with"
    assert sure.values["p_holm"] == pytest.approx(p_value(wobbles) * len(STARTS), rel=1e-4)
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
    five = [line.split() for line in lines if len(line.split()) == len(STARTS)]
    flat, ours = five
    assert len({point.split(",")[1] for point in flat}) == 1, "constants are level"
    heights = [float(point.split(",")[1]) for point in ours]
    assert heights[list(STARTS).index("good")] < min(heights[:2]), "higher is further up"
    nothing = ArenaResults(arena=results.arena, good=results.good, runs={})
    assert start_figures(nothing) == ()


def test_one_picture_has_a_panel_for_each_task(results: ArenaResults) -> None:
    assert all_tasks_figure(results) == (), "one task has a picture of its own"
    both = read_arena(HERE / "toy.toml").only(half=None, tasks=None, seeds=6)
    also = {("boosting-diabetes", *key[1:]): run for key, run in results.runs.items()}
    two = ArenaResults(
        arena=both, good=dict.fromkeys(["links-cora", "boosting-diabetes"], -4),
        runs={**results.runs, **also},
    )  # fmt: skip
    [figure] = all_tasks_figure(two)
    lines = [part.split('"')[0].split() for part in figure.svg.split('points="')[1:]]
    left, right = ([float(point.split(",")[0]) for point in line] for line in lines[-3::2])
    assert len(left) == len(right) == len(STARTS)
    assert max(left) < min(right), "panels do not overlap"
    for name in ("links-cora", "boosting-diabetes", OURS.replace("'", "&#x27;"), "leave alone"):
        assert f">{name}</text>" in figure.svg
