"""What a campaign is asked for: what cannot work is refused before anything is written."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp.campaign import CampaignResults, campaign_so_far, product, run_campaign
from dynhp.errors import CheckpointError, SettingsError
from dynhp.executors import Serial
from tests.support.campaigning import bulky, noted, scored, serial

RUNS = product(method=["grid", "random"], seed=range(3))


def in_turn(function: Any, runs: Any, folder: Path, **more: Any) -> CampaignResults:
    return run_campaign(function, runs, folder=folder, executor=serial, **more)


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def local() -> Any:
    def inside(seed: int) -> dict[str, int]:
        return {"seed": seed}

    return inside


class CallableThing:
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
        (
            scored,
            RUNS,
            {"workers": 2, "executor": serial},
            "workers=2 together with executor=.*partial",
        ),
        (scored, RUNS, {"executor": Serial()}, r"executor must be a function.*got Serial\(\)"),
        (scored, RUNS, {"workers": 0}, "workers must be a whole number of 1 or more, got 0"),
        (
            scored,
            RUNS,
            {"name": ""},
            "name must be a non-empty string, got ''",
        ),
        (scored, RUNS, {"name": scored}, "name must be a non-empty string, got <function"),
        (
            lambda seed: {},
            [{"seed": 1}],
            {"name": "mine"},
            "a function that its import path describes",
        ),
        (scored, RUNS, {"cost": lambda run: 0}, "cost must give a number above 0, got 0 for"),
        (scored, RUNS, {"cost": lambda run: math.nan}, r"above 0, got nan for \{'method': 'grid'"),
        (scored, RUNS, {"cost": lambda run: math.inf}, "above 0, got inf for"),
        (scored, RUNS, {"cost": lambda run: "long"}, "above 0, got 'long' for"),
        (lambda seed: {}, [{"seed": 1}], {}, "a function that its import path describes fully"),
        (local(), [{"seed": 1}], {}, "one of a module, or functools.partial of one, got"),
        (CallableThing(), [{"seed": 1}], {}, "a function that its import path describes fully"),
        (
            CallableThing().method,
            [{"seed": 1}],
            {},
            "a function that its import path describes fully",
        ),
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
