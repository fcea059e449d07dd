"""Campaigns: the same results for any workers and any order, each written as it ends."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynhp.campaign import product, run_campaign
from dynhp.campaign.results import CampaignResults, Finished
from dynhp.executors import Processes
from tests.support.campaigning import noted, picky, rescued, scored, serial, spoiling, waiting

RUNS = product(method=["grid", "random"], seed=range(3))


def in_turn(function: Any, runs: Any, folder: Path, **more: Any) -> CampaignResults:
    return run_campaign(function, runs, folder=folder, executor=serial, **more)


def table(folder: Path) -> bytes:
    return (folder / "results.csv").read_bytes()


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


# The same with any executor


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 1},
        {"workers": 2},
        {"workers": 2, "cost": lambda run: 1 + run["seed"]},
        {"executor": partial(Processes, workers=2, retries=0)},
        {"executor": serial, "cost": lambda run: 1 / (1 + run["seed"])},
        {},
    ],
    ids=["one worker", "two workers", "long ones first", "an executor", "short ones last", "cores"],
)
def test_the_same_results_and_the_same_bytes(settings: Any, tmp_path: Path) -> None:
    expected = in_turn(scored, RUNS, tmp_path / "expected")
    results = run_campaign(scored, RUNS, folder=tmp_path / "results", **settings)
    assert results == expected
    assert list(results) == [Finished(settings=run, result=scored(**run)) for run in RUNS]
    assert table(tmp_path / "results") == table(tmp_path / "expected") == results.csv().encode()
    assert not list((tmp_path / "results").glob("*.part"))


def test_runs_with_triggers_and_rescues_are_the_same_with_any_workers(tmp_path: Path) -> None:
    runs = product(trigger=["plateau", "spike", "moments"], seed=range(2))
    expected = in_turn(rescued, runs, tmp_path / "expected")
    assert not expected.failed
    assert any(each.result["abandoned"] for each in expected if isinstance(each, Finished))
    assert run_campaign(rescued, runs, folder=tmp_path / "results", workers=2) == expected
    assert table(tmp_path / "results") == table(tmp_path / "expected")


def test_each_result_is_written_as_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, folder = tmp_path / "go", tmp_path / "campaign"
    monkeypatch.setenv("CAMPAIGN_GO", str(go))

    def look(progress: Any) -> None:
        """Let the first run end when all others are on disk: otherwise it waits in vain."""
        assert len(lines(folder)) == 1 + progress.done
        if progress.done == 3:
            go.touch()

    results = run_campaign(waiting, product(seed=range(4)), folder=folder, workers=2, progress=look)
    assert [run.result for run in results] == [{"released": released} for released in (1, 0, 0, 0)]
    assert [line["settings"]["seed"] for line in lines(folder)[1:]][-1] == 0
    assert [run.settings["seed"] for run in results] == [0, 1, 2, 3]


def test_long_runs_are_begun_first(tmp_path: Path) -> None:
    in_turn(scored, RUNS, tmp_path, cost=lambda run: 2.0 if run["seed"] == 1 else 1.0)
    begun = [tuple(line["settings"].values()) for line in lines(tmp_path)[1:]]
    assert begun[:3] == [("grid", 1), ("random", 1), ("grid", 0)]


def test_a_run_may_write_into_its_settings(tmp_path: Path) -> None:
    runs = [{"values": [1]}, {"values": [1, 2]}]
    results = in_turn(spoiling, runs, tmp_path)
    assert [run.result for run in results] == [{"count": 2}, {"count": 3}]
    assert [run.settings for run in results] == runs == [{"values": [1]}, {"values": [1, 2]}]


# Going on


def test_what_is_there_is_not_carried_out_again(notes: Path, tmp_path: Path) -> None:
    first = in_turn(scored, RUNS, tmp_path / "campaign")
    assert len(noted(notes)) == 6
    before = (tmp_path / "campaign" / "results.jsonl").read_bytes()
    assert run_campaign(scored, RUNS, folder=tmp_path / "campaign", workers=2) == first
    assert len(noted(notes)) == 6
    assert (tmp_path / "campaign" / "results.jsonl").read_bytes() == before


def test_more_seeds_carry_out_what_is_new(notes: Path, tmp_path: Path) -> None:
    in_turn(scored, RUNS, tmp_path / "campaign")
    notes.unlink()
    more = product(method=["grid", "random"], seed=range(5))
    in_turn(scored, more, tmp_path / "campaign")
    assert noted(notes) == ["grid 3", "grid 4", "random 3", "random 4"]
    in_turn(scored, more, tmp_path / "at once")
    assert table(tmp_path / "campaign") == table(tmp_path / "at once")


def test_what_is_no_longer_wanted_is_kept_but_not_shown(notes: Path, tmp_path: Path) -> None:
    in_turn(scored, RUNS, tmp_path / "campaign")
    results = in_turn(scored, RUNS[4:5], tmp_path / "campaign")
    assert [dict(run.settings) for run in results] == RUNS[4:5]
    assert len(table(tmp_path / "campaign").splitlines()) == 2
    assert len(lines(tmp_path / "campaign")) == 7
    in_turn(scored, RUNS, tmp_path / "campaign")
    assert len(noted(notes)) == 6


def test_settings_are_the_same_in_any_order_of_names(notes: Path, tmp_path: Path) -> None:
    in_turn(scored, RUNS, tmp_path / "campaign")
    turned = [dict(reversed(run.items())) for run in reversed(RUNS)]
    in_turn(scored, turned, tmp_path / "campaign")
    assert len(noted(notes)) == 6
    in_turn(scored, turned, tmp_path / "at once")
    assert table(tmp_path / "campaign") == table(tmp_path / "at once")
    assert table(tmp_path / "campaign").startswith(b"seed,method,auc")


def test_a_campaign_of_nothing(tmp_path: Path) -> None:
    assert list(in_turn(scored, [], tmp_path)) == []
    assert table(tmp_path) == b"error\n"


def test_texts_that_cannot_be_encoded_are_written_all_the_same(tmp_path: Path) -> None:
    in_turn(picky, [{"seed": 1, "name": "é\udcff"}], tmp_path)
    assert "é\\udcff" in (tmp_path / "results.csv").read_text(encoding="utf-8")


@pytest.mark.usefixtures("ticking")
def test_times_are_told_but_not_compared(tmp_path: Path) -> None:
    run = in_turn(scored, RUNS[:1], tmp_path)[0]
    assert run.seconds == 1.0
    assert run == Finished(settings=run.settings, result=run.result, seconds=99.0)
    assert str(run.seconds) not in table(tmp_path).decode()


def test_the_default_is_a_worker_per_core_that_may_be_used(tmp_path: Path) -> None:
    from dynhp.campaign.runner import _cores

    assert 1 <= _cores() <= (os.cpu_count() or 1)
