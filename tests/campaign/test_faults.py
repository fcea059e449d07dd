"""Runs that fail, workers that die, campaigns that are broken off: the rest goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynhp.campaign import product, run_campaign
from dynhp.campaign.results import CampaignResults
from dynhp.executors import Processes
from dynhp.executors.pool.workers import WorkerHandle
from tests.support.campaigning import Reaper, fated, noted, once, picky, scored, serial, slow
from tests.support.processes import is_alive, wait_until_gone
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
LOST = "WorkerLost: its worker was lost 2 times, last in epoch 1: "
WANTED = "which JSON cannot carry; make it a number, a string, a list or a mapping with names"
FAILED = {
    "raises": "ValueError: no luck",
    "rambles": "ValueError: " + 1988 * "#",
    "asserts": "AssertionError",
    "notes": "KeyError: 'missing'",
    "unruly": "Unruly: out of line",
    "mute": "RuntimeError: no words",
    "leaves": "SystemExit: 3",
    "nothing": "TypeError: a run must return a mapping of names to plain data, got None; return ",
    "number": "TypeError: a run must return a mapping of names to plain data, got 0.5; return ",
    "nan": f"TypeError: result['auc'] is nan, {WANTED}, and None if it is not finite",
    "infinite": f"TypeError: result['curve'][1]['deep'] is -inf, {WANTED}",
    "numpy": "TypeError: result['auc'] is ",
    "array": f"TypeError: result['curve'] is array([0, 1, 2]), {WANTED}",
    "numbered": "TypeError: result['by'] has the name 1; names must be strings",
    "nameless": "TypeError: result has the name 2; names must be strings",
    "set": f"TypeError: result['kinds'] is {{1}}, {WANTED}",
    "endless": "TypeError: result['number'] is 2143",
    "large": "ValueError: a result must take at most 33554432 bytes of JSON, got 33600012; write",
}
LOSING = {"exits": "it ended with exit code 4", "killed": "it was killed by SIGKILL"}


def check_failures(results: CampaignResults, losing: dict[str, str]) -> None:
    assert results[0].result == {"value": "none"}
    assert results[-1].result == {"value": "nothing special"}
    for run in results[1:-1]:
        fate = run.settings["fate"]
        assert run.result is None
        assert run.error is not None
        if fate in losing:
            assert run.error == LOST + losing[fate]
            assert run.details is None
        else:
            assert run.error.startswith(FAILED[fate])
            assert len(run.error) <= 2000
            if fate == "rambles":
                assert run.details == 99_999 * "#" + "\n"
            elif fate != "mute":
                assert run.details is not None
                assert run.error[:60] in run.details
    assert results.failed == results[1:-1]


def test_failed_runs_are_recorded_and_tried_again(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = product(fate=["none", *FAILED, *LOSING, "nothing special"])
    folder = tmp_path / "campaign"
    two = partial(Processes, workers=2, retries=1)
    check_failures(run_campaign(fated, runs, folder=folder, executor=two), LOSING)
    assert noted(notes) == sorted([run["fate"] for run in runs] + [*LOSING])
    notes.unlink()
    for line in (folder / "results.jsonl").read_text().splitlines()[1:]:
        assert ("details" in json.loads(line)) == ("error" in json.loads(line))
    monkeypatch.setenv("CAMPAIGN_FIXED", "yes")
    again = run_campaign(fated, runs, folder=folder, executor=serial)
    assert again.failed == ()
    assert [run.result for run in again[1:-1]] == [{"fate": "averted"}] * (len(runs) - 2)
    assert again[0].result == {"value": "none"}
    assert noted(notes) == sorted([*FAILED, *LOSING])
    assert "error" not in (folder / "results.csv").read_text().split("\n", 1)[1]


def test_failures_are_the_same_in_one_process(tmp_path: Path) -> None:
    runs = product(fate=["none", *FAILED, "nothing special"])
    check_failures(run_campaign(fated, runs, folder=tmp_path, executor=serial), {})


def test_a_run_that_loses_its_worker_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMPAIGN_GO", str(tmp_path / "marker"))
    results = run_campaign(once, [{"fate": "killed"}], folder=tmp_path, workers=1)
    assert (tmp_path / "marker").exists()
    assert results[0].result == {"value": "killed"}


def test_a_run_that_takes_too_long_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds_left(worker: WorkerHandle, limit: float | None) -> float | None:
        return -1.0 if worker.number == 1 and worker.epochs else None  # any may on a busy machine

    monkeypatch.setattr(WorkerHandle, "seconds_left", seconds_left)
    impatient = partial(Processes, workers=2, time_limit=3600.0, retries=0)
    results = run_campaign(
        fated, product(fate=["none", "hangs", "ok"]), folder=tmp_path, executor=impatient
    )
    assert [run.settings["fate"] for run in results.failed] == ["hangs"]
    assert str(results[1].error).endswith("it took longer than time_limit=3600.0 s")


def test_a_result_that_died_with_its_worker_has_failed(tmp_path: Path) -> None:
    runs = product(method=["grid"], seed=range(3))
    results = run_campaign(scored, runs, folder=tmp_path, executor=Reaper)
    assert results.failed == results[:1]
    assert str(results[0].error).startswith("there is no state to keep: WorkerLost: its worker was")
    assert [run.result for run in results[1:]] == [scored(**run) for run in runs[1:]]
    assert run_campaign(scored, runs, folder=tmp_path, executor=serial).failed == ()


@pytest.mark.parametrize("executor", [serial, partial(Processes, workers=1)])
def test_an_interrupt_in_a_run_ends_the_campaign(executor: Any, tmp_path: Path) -> None:
    runs = product(fate=["none", "interrupts", "ok"])
    with pytest.raises(KeyboardInterrupt):
        run_campaign(fated, runs, folder=tmp_path, executor=executor)
    written = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["settings"] for line in written[1:]] == [{"fate": "none"}]
    assert not (tmp_path / "results.csv").exists()


def test_what_progress_raises_ends_the_campaign_and_its_workers(tmp_path: Path) -> None:
    made: list[Processes] = []

    def two(make_trainer: Any) -> Processes:
        made.append(Processes(make_trainer, workers=2))
        return made[0]

    def look(progress: Any) -> None:
        if progress.done == 2:
            raise BrokenPipeError("the pipe is closed")

    with pytest.raises(BrokenPipeError, match="the pipe is closed"):  # not a fault of the folder
        run_campaign(picky, product(seed=range(9)), folder=tmp_path, executor=two, progress=look)
    assert made[0]._pooled._pool is None
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 3
    assert run_campaign(picky, product(seed=range(9)), folder=tmp_path, executor=serial)


# Broken off


BROKEN = """
import math, sys
from dynhp.campaign import product, run_campaign
from dynhp.executors.pool import workers
from tests.support.campaigning import slow

if __name__ == "__main__":
    workers.SLOW = math.inf  # it says nothing about workers that start slowly
    run_campaign(slow, product(seed=range(4)), folder=sys.argv[1], workers=2)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_broken_off_nothing_is_left_behind_and_what_ended_is_kept(
    blow: signal.Signals, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script.py").write_text(BROKEN)
    folder = tmp_path / "campaign"
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that Ctrl-C hits the whole group, as at a terminal
    )
    wait_until(lambda: len(noted(notes)) == 4 or program.poll() is not None)
    assert program.poll() is None  # two are done, two hang
    workers = {int(line.split()[1]) for line in noted(notes)}
    assert all(map(is_alive, workers))
    (os.killpg if blow == signal.SIGINT else os.kill)(program.pid, blow)
    _, err = program.communicate()
    wait_until_gone(workers)
    assert program.returncode == -blow
    if blow == signal.SIGINT:
        assert err.strip().endswith("KeyboardInterrupt")
    else:
        assert err == ""
    assert len((folder / "results.jsonl").read_text().splitlines()) == 3
    assert not (folder / "results.csv").exists()  # it is for the whole list only
    notes.unlink()
    monkeypatch.setenv("CAMPAIGN_HURRY", "yes")
    results = run_campaign(slow, product(seed=range(4)), folder=folder, executor=serial)
    assert [run.result for run in results] == [{"half": seed / 2} for seed in range(4)]
    assert [line.split()[0] for line in noted(notes)] == ["2", "3"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_killed_for_real() -> None:
    """The short version of ``make torture-campaign``."""
    script = ROOT / "benchmarks" / "torture_campaign.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--kills", "10", "--runs", "30", "--seed=1"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tables of 30 runs are byte-identical to the undisturbed one; 10 kills" in done.stdout
