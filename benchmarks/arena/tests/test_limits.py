"""What must hold is judged by the worst start, and results can be carried out again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.arena.again import carried_out_again, spread_out
from benchmarks.arena.limits import limit_table
from benchmarks.arena.methods import OUR_ARM, OUR_SWEEP, gather
from benchmarks.arena.plan import (
    FAR,
    OFF_GRID,
    STARTS,
    power_of_two,
    read_arena,
    start_rate,
    sweep_rates,
)
from benchmarks.arena.runs.arms import arena_run
from benchmarks.arena.tables import ArenaResults
from dynhp.campaign.results import Finished

HERE = Path(__file__).parent
TASK = "links-cora"
GOOD = {(TASK, "constant"): -6}
MARGIN = {TASK: 1.0}
LEVEL = dict.fromkeys(STARTS, 5.0)


def said(
    ours: dict[str, float] = LEVEL,
    *,
    rival: float = 5.0,
    sweep: float = 5.0,
    cost: Callable[[str, int], float] = lambda start, seed: 1.2,
    margins: Mapping[str, float] = MARGIN,
    peak: Callable[[str], float | None] = lambda start: 0.1,
    warned: bool = False,
) -> dict[str, str]:
    """The table of limits where our preset has these values by start, and others these.

    All values wobble a little from seed to seed.
    """
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=[TASK], seeds=6)
    runs = []
    for seed in range(6):
        wobble = 0.01 * (-1) ** seed * (seed + 1)
        for start in STARTS:
            rate = start_rate(-6, start)
            runs.append(made(OUR_ARM, rate, seed, ours[start] + wobble, cost(start, seed)))
            runs.append(made("constant", rate, seed, rival, 1.0))
        for rate in sweep_rates(-6, OUR_SWEEP):
            runs.append(made(OUR_SWEEP, rate, seed, sweep, 1.0))
        runs.append(found("scan", power_of_two(-6), seed, 0.1, warned=False))
        for start in FAR:
            runs.append(found("search", start_rate(-6, start), seed, peak(start), warned=warned))
    results = ArenaResults(arena=arena, good=GOOD, runs=gather(runs))
    table = limit_table(results, margins)
    return {row[0].text: f"{row[1].text} {row[1].second_line}".strip() for row in table.rows}


def made(arm: str, rate: float, seed: int, value: float, runs: float) -> Finished:
    result = {"value": value, "val": value, "runs": runs, "rungs": [value, value]}
    settings = {"task": TASK, "arm": arm, "rate": rate, "seed": seed}
    return Finished(settings=settings, result=result, seconds=2.0)


def found(arm: str, rate: float, seed: int, peak: float | None, *, warned: bool) -> Finished:
    """A search that ended at this peak, or without one because all its tries failed."""
    result = {"warned": warned} if peak is None else {"peak": peak, "warned": warned}
    settings = {"task": TASK, "arm": arm, "rate": rate, "seed": seed}
    return Finished(settings=settings, result=result)


def row(table: dict[str, str], beginning: str) -> str:
    [text] = [text for name, text in table.items() if name.startswith(beginning)]
    return text


FLAT = "from each of ten wrong starts"
ALONE = "from a good rate less than δ below leaving it alone"
SWEPT = "less than δ below the best of six"
LOW = "from 10 times too low above leaving it alone"
FAR_OFF = "no search from up to 1000 times off"


def test_all_holds_where_nothing_is_lower() -> None:
    table = said(dict.fromkeys(STARTS, 20.0))
    assert row(table, FLAT).startswith("yes +0.00")
    for limit in (ALONE, SWEPT, LOW, "from 10 times too high"):
        assert row(table, limit).startswith("yes +14.99")
    assert row(table, FAR_OFF) == "yes 0 of 36 (0 far off)"
    assert row(table, "the margin") == "1.00"
    assert row(table, "distinct") == "6 of 66"


def test_one_bad_start_is_enough_to_break_a_limit() -> None:
    for start in OFF_GRID:
        table = said({**dict.fromkeys(STARTS, 20.0), start: 4.0})
        assert row(table, FLAT).startswith("no −16.00")
        assert row(table, SWEPT).startswith("no −1.0")
        assert row(table, ALONE).startswith("yes +14.99")


def test_within_the_margin_is_not_below() -> None:
    slightly = {**LEVEL, "17.8 times too high": 4.5}
    assert row(said(slightly), FLAT).startswith("yes −0.50")
    assert row(said(slightly, margins={TASK: 0.3}), FLAT).startswith("no −0.50")
    assert row(said(slightly), SWEPT).startswith("yes −0.5")


def test_level_is_not_above() -> None:
    assert row(said(), LOW).startswith("no ")
    assert row(said(rival=4.0), LOW).startswith("yes +1.0")
    assert row(said(rival=6.5), ALONE).startswith("no −1.5")


def test_the_dearest_run_of_all_decides() -> None:
    def dear(start: str, seed: int) -> float:
        return 1.41 if (start, seed) == ("30 times too high", 5) else 1.2

    assert row(said(cost=dear), "each run costs at most") == "no 1.41"
    assert row(said(cost=dear), "from the good start it costs") == "yes 1.20"
    assert row(said(cost=lambda start, seed: 1.3), "from the good start it costs") == "no 1.30"


def test_a_search_that_ends_far_off_must_have_said_so() -> None:
    def far(start: str) -> float:
        return 3.2 if start == "1000 times too high" else 0.0101

    assert row(said(peak=far), FAR_OFF) == "no 6 of 36 (6 far off)"
    assert row(said(peak=far, warned=True), FAR_OFF) == "yes 0 of 36 (6 far off)"
    assert row(said(peak=lambda start: None), FAR_OFF) == "no 36 of 36 (36 far off)"


def test_what_was_not_run_is_empty() -> None:
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=[TASK], seeds=6)
    table = limit_table(ArenaResults(arena=arena, good=GOOD, runs={}), {})
    assert {f"{row[1].text}{row[1].second_line}" for row in table.rows} == {""}


def test_a_run_that_comes_to_something_else_is_named() -> None:
    settings: dict[str, Any] = {"task": "boosting-diabetes", "arm": "constant", "rate": 0.1,
                                "seed": 0, "epochs": 4, "steps": 1}  # fmt: skip
    run = Finished(settings=settings, result=arena_run(**settings))
    assert carried_out_again([run]) == []
    [line] = carried_out_again([Finished(settings=settings, result={"value": 1.0})])
    assert "'seed': 0" in line
    assert "{'value': 1.0} and then {'value': " in line


def test_every_arm_has_its_turn_among_those_to_carry_out_again() -> None:
    """Also where tasks and arms follow each other regularly, as in the arena."""
    runs = [
        Finished(settings={"task": task, "arm": arm, "seed": seed}, result={})
        for task in "abcde"
        for arm in ("constant", "dynhp", "pbt")
        for seed in range(10)
    ]
    failed = Finished(settings={"arm": "pbt", "seed": 99}, result=None, error="no")
    assert len({run.settings["arm"] for run in spread_out(runs, 5)}) == 3, "not all of one place"
    drawn = spread_out([failed, *runs], 15)
    assert Counter(run.settings["arm"] for run in drawn) == {"constant": 5, "dynhp": 5, "pbt": 5}
    assert len({run.settings["task"] for run in drawn}) > 3
    assert drawn == spread_out([failed, *runs], 15), "the same each time"
    everyone = spread_out([failed, *runs], 999)
    assert len(everyone) == len(runs)
    assert all(run in runs for run in everyone)
    assert spread_out([], 3) == []
