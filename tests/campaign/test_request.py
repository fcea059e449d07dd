"""What a campaign is asked for: what cannot work is refused before anything is written."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp.campaign import campaign_so_far, product, run_campaign
from dynhp.campaign.results import CampaignResults
from dynhp.errors import CheckpointError, SettingsError
from dynhp.executors import Serial
from tests.support.campaigning import bulky, noted, scored, serial
from tests.support.messages import raises

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
    ("function", "runs", "more"),
    [
        (scored, [{"seed": 1}, {"seed": 1}], {}),
        (scored, [{"seed": {1}}], {}),
        (scored, [{"seed": [1, math.nan]}], {}),
        (scored, [{"seed": np.int64(1)}], {}),
        (dict, [{"by": {1: 2}}], {}),
        (dict, [{1: 2}], {}),
        (scored, {"seed": 1}, {}),
        (scored, [[("seed", 1)]], {}),
        (dict, [{"error": 1}], {}),
        (scored, [{"sede": 1}], {}),
        (bulky, [{"size": 1}], {}),
        (scored, RUNS, {"workers": 2, "executor": serial}),
        (scored, RUNS, {"executor": Serial()}),
        (scored, RUNS, {"workers": 0}),
        (scored, RUNS, {"name": ""}),
        (scored, RUNS, {"name": scored}),
        (lambda seed: {}, [{"seed": 1}], {"name": "mine"}),
        (scored, RUNS, {"cost": lambda run: 0}),
        (scored, RUNS, {"cost": lambda run: math.nan}),
        (scored, RUNS, {"cost": lambda run: math.inf}),
        (scored, RUNS, {"cost": lambda run: "long"}),
        (lambda seed: {}, [{"seed": 1}], {}),
        (local(), [{"seed": 1}], {}),
        (CallableThing(), [{"seed": 1}], {}),
        (CallableThing().method, [{"seed": 1}], {}),
        (partial(bulky, size={3}), RUNS, {}),
        (partial(bulky, size=3), [{"method": "grid"}], {}),
    ],
)
def test_what_cannot_work(function: Any, runs: Any, more: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        run_campaign(function, runs, folder=tmp_path / "new", **more)
    assert not (tmp_path / "new").exists()


def test_axes_are_lists() -> None:
    assert product() == [{}]
    assert product(a=(1, 2), b=(x for x in "cd"))[2] == {"a": 2, "b": "c"}
    with raises(SettingsError):
        product(a="grid")
    with raises(SettingsError):
        product(seed=3)  # type: ignore[arg-type]


def test_functions_are_told_apart_by_what_is_bound(tmp_path: Path) -> None:
    in_turn(partial(bulky, size=5), [{"seed": 1}], tmp_path)
    assert lines(tmp_path)[0]["function"] == 'tests.support.campaigning:bulky {"size":5}'
    assert len(in_turn(partial(bulky, size=5), [{"seed": 1}, {"seed": 2}], tmp_path)) == 2
    for other in (partial(bulky, size=6), bulky):
        with raises(RuntimeError):
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
        with raises(CheckpointError):
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
    with raises(CheckpointError):
        in_turn(partial(bulky, size=6), [{"seed": 1}], tmp_path, name="bulk")
