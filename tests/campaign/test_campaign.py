"""Campaigns: the same results for any workers and any order, each written as it ends."""

from __future__ import annotations

import csv
import json
import math
import os
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from dynhp.campaign import CampaignResults, Finished, campaign_so_far, product, run_campaign
from dynhp.campaign.data import plain
from dynhp.errors import CheckpointError, SettingsError
from dynhp.executors import Processes, Serial
from dynhp.records import Candidate
from tests.support.campaigning import bulky, noted, picky, scored, serial, spoiling, waiting

RUNS = product(method=["grid", "random"], seed=range(3))


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "notes"
    monkeypatch.setenv("CAMPAIGN_NOTES", str(path))
    return path


def in_turn(function: Any, runs: Any, folder: Path, **more: Any) -> CampaignResults:
    return run_campaign(function, runs, folder=folder, executor=serial, **more)


def table(folder: Path) -> bytes:
    return (folder / "results.csv").read_bytes()


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


# The same whoever carries it out


@pytest.mark.parametrize(
    "how",
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
def test_the_same_results_and_the_same_bytes(how: Any, tmp_path: Path) -> None:
    expected = in_turn(scored, RUNS, tmp_path / "expected")
    found = run_campaign(scored, RUNS, folder=tmp_path / "found", **how)
    assert found == expected
    assert list(found) == [Finished(settings=run, result=scored(**run)) for run in RUNS]
    assert table(tmp_path / "found") == table(tmp_path / "expected") == found.csv().encode()
    assert not list((tmp_path / "found").glob("*.part"))


def test_each_result_is_written_as_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, folder = tmp_path / "go", tmp_path / "campaign"
    monkeypatch.setenv("CAMPAIGN_GO", str(go))

    def look(progress: Any) -> None:
        """Let the first run end when all others are on disk: else it waits in vain."""
        assert len(lines(folder)) == 1 + progress.done
        if progress.done == 3:
            go.touch()

    found = run_campaign(waiting, product(seed=range(4)), folder=folder, workers=2, progress=look)
    assert [run.result for run in found] == [{"released": released} for released in (1, 0, 0, 0)]
    assert [line["settings"]["seed"] for line in lines(folder)[1:]][-1] == 0
    assert [run.settings["seed"] for run in found] == [0, 1, 2, 3]


def test_long_runs_are_begun_first(tmp_path: Path) -> None:
    in_turn(scored, RUNS, tmp_path, cost=lambda run: 2.0 if run["seed"] == 1 else 1.0)
    begun = [tuple(line["settings"].values()) for line in lines(tmp_path)[1:]]
    assert begun[:3] == [("grid", 1), ("random", 1), ("grid", 0)]


def test_a_run_may_write_into_its_settings(tmp_path: Path) -> None:
    runs = [{"values": [1]}, {"values": [1, 2]}]
    found = in_turn(spoiling, runs, tmp_path)
    assert [run.result for run in found] == [{"count": 2}, {"count": 3}]
    assert [run.settings for run in found] == runs == [{"values": [1]}, {"values": [1, 2]}]


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
    found = in_turn(scored, RUNS[4:5], tmp_path / "campaign")
    assert [dict(run.settings) for run in found] == RUNS[4:5]
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


# What cannot work is told before anything is written


def local() -> Any:
    def inside(seed: int) -> dict[str, int]:
        return {"seed": seed}

    return inside


class Callable_:
    def __call__(self, seed: int) -> dict[str, int]:
        return {"seed": seed}

    def method(self, seed: int) -> dict[str, int]:
        return {"seed": seed}


@pytest.mark.parametrize(
    ("function", "runs", "more", "message"),
    [
        (scored, [{"seed": 1}, {"seed": 1}], {}, r"asked for once, got \{'seed': 1\} twice"),
        (scored, [{"seed": {1}}], {}, r"must be plain data: run\['seed'\] is \{1\}, which JSON"),
        (scored, [{"seed": [1, math.nan]}], {}, r"run\['seed'\]\[1\] is nan, which JSON cannot"),
        (scored, [{"seed": np.int64(1)}], {}, r"run\['seed'\] is .*1.*, which JSON cannot carry"),
        (dict, [{"by": {1: 2}}], {}, r"run\['by'\] has the name 1; names must be strings"),
        (dict, [{1: 2}], {}, "run has the name 1; names must be strings"),
        (scored, {"seed": 1}, {}, "must be a mapping of names to plain data, got 'seed'; runs are"),
        (scored, [[("seed", 1)]], {}, "must be a mapping of names to plain data, got"),
        (dict, [{"error": 1}], {}, "a setting cannot be called 'error'"),
        (scored, [{"sede": 1}], {}, r"settings \{'sede': 1\}: got an unexpected keyword .*'sede'"),
        (bulky, [{"size": 1}], {}, r"settings \{'size': 1\}: missing a required .*'seed'"),
        (scored, RUNS, {"workers": 2, "executor": serial}, "workers=2 beside executor=.*partial"),
        (scored, RUNS, {"executor": Serial()}, r"executor must be a function.*got Serial\(\)"),
        (scored, RUNS, {"workers": 0}, "workers must be a whole number of 1 or more, got 0"),
        (
            scored,
            RUNS,
            {"name": ""},
            "name must be a string that is not empty, got ''; leave it out",
        ),
        (scored, RUNS, {"name": scored}, "name must be a string that is not empty, got <function"),
        (lambda seed: {}, [{"seed": 1}], {"name": "mine"}, "a function that its name tells all"),
        (scored, RUNS, {"cost": lambda run: 0}, "cost must give a number above 0, got 0 for"),
        (scored, RUNS, {"cost": lambda run: math.nan}, r"above 0, got nan for \{'method': 'grid'"),
        (scored, RUNS, {"cost": lambda run: math.inf}, "above 0, got inf for"),
        (scored, RUNS, {"cost": lambda run: "long"}, "above 0, got 'long' for"),
        (lambda seed: {}, [{"seed": 1}], {}, "a function that its name tells all about"),
        (local(), [{"seed": 1}], {}, "one of a module, or functools.partial of one, got"),
        (Callable_(), [{"seed": 1}], {}, "a function that its name tells all about"),
        (Callable_().method, [{"seed": 1}], {}, "a function that its name tells all about"),
        (partial(bulky, size={3}), RUNS, {}, r"binds must be plain data.*\['size'\] is \{3\}"),
        (partial(bulky, size=3), [{"method": "grid"}], {}, "missing a required argument: 'seed'"),
    ],
)
def test_what_cannot_work(
    function: Any, runs: Any, more: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=message):
        run_campaign(function, runs, folder=tmp_path / "new", **more)
    assert not (tmp_path / "new").exists()


def test_axes_are_lists() -> None:
    assert product() == [{}]
    assert product(a=(1, 2), b=(x for x in "cd"))[2] == {"a": 2, "b": "c"}
    with pytest.raises(SettingsError, match=r"list of values, got a='grid'; .* is a=\['grid'\]"):
        product(a="grid")
    with pytest.raises(SettingsError, match=r"got seed=3; a single value is seed=\[3\]"):
        product(seed=3)  # type: ignore[arg-type]


def test_functions_are_told_apart_by_what_is_bound(tmp_path: Path) -> None:
    in_turn(partial(bulky, size=5), [{"seed": 1}], tmp_path)
    assert lines(tmp_path)[0]["function"] == 'tests.support.campaigning:bulky {"size":5}'
    assert len(in_turn(partial(bulky, size=5), [{"seed": 1}, {"seed": 2}], tmp_path)) == 2
    for other in (partial(bulky, size=6), bulky):
        with pytest.raises(RuntimeError, match="is not of this campaign"):
            in_turn(other, [{"seed": 1}], tmp_path)
    in_turn(partial(dict, [["a", 1]]), [{"seed": 1}], tmp_path / "places")
    assert lines(tmp_path / "places")[0]["function"] == 'builtins:dict {"*":[[["a",1]]]}'


def test_a_function_that_was_moved_goes_on_under_its_name(notes: Path, tmp_path: Path) -> None:
    """A ledger with another import path is read, continued under that name and keeps it."""
    folder = tmp_path / "campaign"
    folder.mkdir()
    header = b'{"event":"campaign","version":1,"function":"old.place:former"}\n'
    line = b'{"event":"run","settings":{"seed":0},"result":{"auc":0.5},"seconds":1.0}\n'
    (folder / "results.jsonl").write_bytes(header + line)
    for call in (
        in_turn,
        lambda function, runs, place: campaign_so_far(function, runs, folder=place),
    ):
        with pytest.raises(
            CheckpointError, match=r"begins with .*former.*as name= if the function"
        ):
            call(scored, [{"seed": 0}], folder)
    seen = campaign_so_far(scored, [{"seed": 0}], folder=folder, name="old.place:former")
    assert [run.result for run in seen] == [{"auc": 0.5}]
    results = in_turn(scored, product(seed=[0, 1]), folder, name="old.place:former")
    assert [run.result for run in results] == [{"auc": 0.5}, scored(seed=1)]
    assert (folder / "results.jsonl").read_bytes().startswith(header + line)
    assert len(noted(notes)) == 2  # seed 1, by the campaign and by this test


def test_what_is_bound_tells_functions_of_one_name_apart(tmp_path: Path) -> None:
    in_turn(partial(bulky, size=5), [{"seed": 1}], tmp_path, name="bulk")
    assert lines(tmp_path)[0]["function"] == 'bulk {"size":5}'
    with pytest.raises(CheckpointError, match="is not of this campaign"):
        in_turn(partial(bulky, size=6), [{"seed": 1}], tmp_path, name="bulk")


# Plain data


class Colour(str):
    __slots__ = ()


def test_plain_data_is_what_json_gives_back() -> None:
    told = {"a": [1, -0.5, True, None, "é\ud800"], "b": {"c": []}}
    assert json.loads(json.dumps(plain(told, "it"))) == told
    found = plain({Colour("red"): (np.float64(0.5), Colour("blue"), Candidate({"lr": 1}))}, "it")
    assert found == {"red": [0.5, "blue", {"lr": 1}]}
    assert [type(item) for item in (*found, *found["red"])] == [str, float, str, dict]
    assert type(plain(MappingProxyType({}), "it")) is dict


def test_towers_and_circles_are_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match=r"it\[0\]\[0\].* is \[\[\.\.\.\]\], which JSON cannot"):
        plain(circle, "it")
    tower: Any = 1
    for _ in range(100):
        tower = [tower]
    assert plain(tower, "it") == tower
    with pytest.raises(TypeError, match="which JSON cannot carry"):
        plain([tower], "it")


# The table


def run(result: Any, error: str | None = None, **settings: Any) -> Finished:
    return Finished(settings=settings, result=result, error=error)


def test_the_table() -> None:
    found = CampaignResults(
        (
            run({"auc": 0.1, "curve": [1]}, seed=0, adapts=["a", "b"]),
            run(None, 'ValueError: no, "no"\r\nat all\r', seed=1),
            run({"auc": None, "by": {}, "late": True}, seed=2, extra=1e-30),
        )
    )
    assert found.csv() == (
        "seed,adapts,extra,auc,late,error\n"
        '0,"[""a"", ""b""]",,0.1,,\n'
        '1,,,,,"ValueError: no, ""no""\r\nat all\r"\n'
        "2,,1e-30,,True,\n"
    )
    read = list(csv.DictReader(found.csv().splitlines(keepends=True)))
    assert [row["error"] for row in read] == ["", found[1].error, ""]
    assert found.failed == (found[1],)
    assert (found[1:], len(found)) == (found.runs[1:], 3)
    assert found.rows()[2] == {
        "seed": 2,
        "extra": 1e-30,
        "auc": None,
        "by": {},
        "late": True,
        "error": None,
    }


def test_results_that_are_called_like_settings() -> None:
    found = CampaignResults(
        (
            run({"schedule": [1, 2], "error": 0.25}, seed=0, schedule="constant"),
            run({"schedule": 3, "error": 0.5}, seed=1),
        )
    )
    assert found.rows()[1] == {"seed": 1, "result.schedule": 3, "result.error": 0.5, "error": None}
    assert found.csv() == (
        'seed,schedule,result.error,result.schedule,error\n0,constant,0.25,"[1, 2]",\n1,,0.5,3,\n'
    )


def test_texts_that_cannot_be_encoded_are_written_all_the_same(tmp_path: Path) -> None:
    in_turn(picky, [{"seed": 1, "name": "é\udcff"}], tmp_path)
    assert "é\\udcff" in (tmp_path / "results.csv").read_text(encoding="utf-8")


def test_times_are_told_but_not_compared(tmp_path: Path) -> None:
    found = in_turn(scored, RUNS[:1], tmp_path)[0]
    assert 0 < found.seconds < 60
    assert found == Finished(settings=found.settings, result=found.result, seconds=99.0)
    assert str(found.seconds) not in table(tmp_path).decode()


def test_the_default_is_a_worker_per_core_that_may_be_used(tmp_path: Path) -> None:
    from dynhp.campaign.runner import _cores

    assert 1 <= _cores() <= (os.cpu_count() or 1)
