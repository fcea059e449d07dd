"""The golden runs of this version are the same each time, and differences are noticed."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "benchmarks" / "golden"
RUNS = [
    "rounds/neighbours, racing, 13 by 4, 2, independent",
    "rescues/spike, 20 rescues, ladder, before, either",
    "interrupts/best, epochs 7",
    "kills/race, epoch 10",
    "left-loops/tail, break in pass 19",
    "killed-loops/rescued, killed in (9,)",
]


def loaded(name: str) -> Any:
    """A module of the program."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", GOLDEN / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


compare = loaded("compare")


def carried_out(folder: Path) -> dict[str, Any]:
    """The records of some runs, from a process of its own."""
    out = folder / "out.jsonl"
    kinds = dict.fromkeys(name.partition("/")[0] for name in RUNS)
    command = [sys.executable, str(GOLDEN / "worker.py"), *kinds, "--tree", str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "--out", str(out), "--names", *RUNS], env=environment, check=True)
    lines = map(json.loads, out.read_text("utf-8").splitlines())
    return {line["name"]: line["record"] for line in lines}


def test_a_golden_run_leaves_the_same_record_each_time(tmp_path: Path) -> None:
    first, second = (carried_out(tmp_path) for _ in range(2))
    assert list(first) == RUNS
    for name in RUNS:
        comparison = compare.compared(name, first[name], second[name])
        assert comparison == compare.Comparison(name=name), comparison.first
        assert first[name]["history"]
    assert any(round_["rescue"] for round_ in first[RUNS[1]]["history"])
    assert first[RUNS[2]]["left"][0] == "KeyboardInterrupt"


RECORD: dict[str, Any] = {
    "history": [{"epochs": 4, "tries": [{"score": "-0.5"}]}],
    "globals": "abc",
    "message": "try another",
    "calls": {"get_state": 4, "set_state": 3},
}


@pytest.mark.parametrize(
    ("changed", "sections", "first"),
    [
        ({"history": [{"epochs": 5, "tries": []}]}, ("history",), "history[0].epochs: 4 -> 5"),
        ({"history": []}, ("history",), "history: 1 entries -> 0"),
        ({"globals": "def"}, ("globals",), "globals: abc -> def"),
        ({"more": 1}, ("more",), "more: None -> 1"),
        ({"message": "try again", "calls": {"get_state": 2}}, (), ""),
        ({"broken": "Traceback"}, ("broken",), "Traceback"),
    ],
)
def test_a_difference_is_found(
    changed: dict[str, Any], sections: tuple[str, ...], first: str
) -> None:
    comparison = compare.compared("kills/one", RECORD, {**RECORD, **changed})
    assert (comparison.sections, comparison.first) == (sections, first)


def test_calls_may_become_fewer_and_not_more() -> None:
    fewer = compare.compared("a/b", RECORD, {**RECORD, "calls": {"get_state": 3, "set_state": 3}})
    more = compare.compared("a/b", RECORD, {**RECORD, "calls": {"get_state": 5, "set_state": 2}})
    assert fewer.fell
    assert not fewer.rose
    assert more.rose == "get_state 4 -> 5"
    assert compare.unexpected([fewer, more], []) == [more]


def test_a_run_that_is_missing_or_broken_in_both_is_no_equal_run() -> None:
    assert compare.compared("a/b", RECORD, None).sections == ("run",)
    broken = {"broken": "Traceback"}
    assert compare.compared("a/b", broken, broken).sections == ("broken",)


def test_only_what_is_listed_may_differ_and_what_is_listed_must() -> None:
    comparisons = [
        compare.Comparison(name="kills/a", sections=("globals",)),
        compare.Comparison(name="kills/b", sections=("globals", "state")),
        compare.Comparison(name="kills/c [0]"),
        compare.Comparison(name="rounds/a", sections=("globals",)),
    ]
    listed = compare.Expected(runs="kills/*", sections=("globals",), reason="it was wrong")
    idle = compare.Expected(runs="kills/c [0]", reason="it was wrong")
    other = compare.Expected(runs="loops/c", reason="of a kind that was not run")
    expected = [listed, idle, other]
    assert compare.unexpected(comparisons, expected) == [comparisons[1], comparisons[3]]
    assert compare.without_difference(comparisons, expected) == [idle]
    last = compare.table(comparisons, [comparisons[1], comparisons[3]]).splitlines()[-1]
    assert last.split() == ["all", "4", "1", "1", "2", "0", "0"]


def test_what_is_listed_can_be_read() -> None:
    assert all(each.reason for each in compare.read_expected(GOLDEN / "expected.toml"))
    assert doctest.testmod(compare).failed == 0


def test_a_dry_run_may_give_its_reason_in_other_words_and_nothing_else() -> None:
    before = {"history": [{"chosen": 0, "reason": "won by 0.1"}, {"chosen": 1, "reason": "best"}]}
    now = {"history": [{"chosen": 0, "reason": compare.DRY_RUN}, {"chosen": 1, "reason": "best"}]}
    assert compare.compared("a/b", before, now).sections == ()
    kept = {"history": [{"chosen": 2, "reason": compare.DRY_RUN}, {"chosen": 1, "reason": "best"}]}
    assert compare.compared("a/b", before, kept).first == "history[0].chosen: 0 -> 2"
    fewer = {"history": now["history"][:1]}
    assert compare.compared("a/b", before, fewer).first == "history: 2 entries -> 1"
    assert compare.compared("a/b", fewer, before).first.startswith("history[0].reason")
