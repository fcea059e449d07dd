"""What must hold is judged by the worst start, and results can be carried out again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.again import carried_out_again, spread_out
from benchmarks.arena.limits import check_share, limit_table
from benchmarks.arena.methods import gather
from benchmarks.arena.plan import STARTS, half_power, read_arena, start_rate
from benchmarks.arena.runs.arms import arena_run
from benchmarks.arena.tables import ArenaResults, difference_table, flatness_table
from dynhp.campaign.results import Finished

HERE = Path(__file__).parent
GOOD = -4


def said(
    ours: dict[str, float],
    *,
    rival: float = 5.0,
    cost: float = 1.2,
    bought: int = len(STARTS),
    unsteady: str = "",
) -> dict[str, str]:
    """The table of limits where our preset has these values by start, and constants another.

    From the start that is ``unsteady`` seeds are 100 times as far apart.
    """
    arena = read_arena(HERE / "toy.toml").only(half=None, tasks=["links-cora"], seeds=6)
    runs = []
    for seed in range(6):
        wobble = 0.01 * (-1) ** seed * (seed + 1)
        for start in STARTS:
            value = ours[start] + wobble * (100 if start == unsteady else 1)
            runs.append(made("dynhp", start_rate(GOOD, start), seed, value, cost))
        rates = {half_power(GOOD + shift) for shift in range(-2, 3)}
        rates |= {start_rate(GOOD, start) for start in STARTS}
        runs += [made("constant", rate, seed, rival + seed, 1.0) for rate in rates]
        for start in list(STARTS)[:bought]:
            runs.append(made("tpe", start_rate(GOOD, start), seed, rival, 1.4))
    results = ArenaResults(arena=arena, good={"links-cora": GOOD}, runs=gather(runs))
    table = limit_table(results, difference_table(results), flatness_table(results))
    return {row[0].text: f"{row[1].text} {row[1].second_line}".strip() for row in table.rows}


def made(arm: str, rate: float, seed: int, value: float, runs: float) -> Finished:
    result = {"value": value, "val": value, "runs": runs, "rungs": [value, value]}
    settings = {"task": "links-cora", "arm": arm, "rate": rate, "seed": seed}
    return Finished(settings=settings, result=result, seconds=2.0)


def row(table: dict[str, str], beginning: str) -> str:
    [text] = [text for name, text in table.items() if name.startswith(beginning)]
    return text


def test_all_holds_where_nothing_is_lower() -> None:
    table = said(dict.fromkeys(STARTS, 20.0))
    assert row(table, "not below leaving a good rate alone").startswith("yes +12.49")
    assert row(table, "not below the best constant of 5").startswith("yes +12.49")
    assert row(table, "not below Optuna").startswith("yes +14.99")
    assert row(table, "above Optuna") == "yes +14.99"
    assert row(table, "from the worst start").startswith("yes 0.00 <")


def test_one_bad_start_is_enough_to_break_a_limit() -> None:
    table = said({**dict.fromkeys(STARTS, 20.0), "30 times too low": 2.0})
    assert row(table, "not below leaving a good rate alone").startswith("yes")
    assert row(table, "not below the best constant of 5").startswith("no, sure −5.5")
    assert row(table, "not below Optuna").startswith("no, sure −3.0")
    assert row(table, "above Optuna") == "yes +14.99", "from the good start"
    assert row(table, "from the worst start").startswith("no 18.00 >")


def test_the_worst_start_is_that_of_the_lowest_mean() -> None:
    """Although the interval of another one ends lower."""
    start = "30 times too low"
    table = said({**dict.fromkeys(STARTS, 6.0), start: 5.6}, unsteady=start)
    assert row(table, "not below Optuna").startswith("yes +0.10 ± 4")
    lower = said({**dict.fromkeys(STARTS, 4.9), start: 4.0}, unsteady=start)
    assert row(lower, "not below Optuna").startswith("no, sure −0.1"), "what decides is shown"


def test_the_cost_is_that_with_the_self_check() -> None:
    assert check_share(100) == pytest.approx(0.1)
    assert check_share(10) == pytest.approx(0.6), "a try has three epochs at least"
    assert row(said(dict.fromkeys(STARTS, 5.0)), "costs at most") == "no 1.80 at most"
    assert row(said(dict.fromkeys(STARTS, 5.0), cost=0.8), "costs at most") == "yes 1.40 at most"


def test_what_was_not_run_is_empty() -> None:
    table = said(dict.fromkeys(STARTS, 5.0))
    assert row(table, "not below Ray Tune: PBT") == row(table, "above Ray Tune: PB2") == ""
    assert row(table, "not below the best cosine") == ""
    assert row(said(dict.fromkeys(STARTS, 5.0), bought=4), "not below Optuna") == "", (
        "one is missing"
    )


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
