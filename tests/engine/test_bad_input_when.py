"""Bad input of when and from where: each call, and the words of its error."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, highest, lowest, phased, plateau, rescue
from dynhp.errors import CheckpointError, MetricError, SettingsError
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.storage import on_disk
from dynhp.storage.on_disk import StatesOnDisk
from dynhp.triggers import Every, OnPlateau, OnSpike, any_of
from tests.support.bad_input import Call, refuse
from tests.support.messages import raises
from tests.support.reference import Toy, bits

PLATEAU = OnPlateau("loss", patience=3)
ADAPTERS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"when": None}, SettingsError),
    ({"adapt_every": 4}, SettingsError),
    ({"when": "plateau"}, SettingsError),
    ({"when": OnPlateau}, SettingsError),
    ({"when": lambda: True}, SettingsError),
    ({"when": Every(3), "try_for": 4}, SettingsError),
    ({"when": any_of(PLATEAU, any_of(Every(4))), "try_for": 6}, SettingsError),
    ({"when": OnPlateau("los", patience=1)}, MetricError),
    ({"try_for": 0}, SettingsError),
    ({"start_from": "there"}, SettingsError),
    ({"start_from": "best"}, SettingsError),
    ({"start_from": "before"}, SettingsError),
    ({"max_rounds": -1}, SettingsError),
    ({"max_rounds": 1.5}, SettingsError),
    ({"max_rescues": -1}, SettingsError),
    ({"max_rescues": 2}, SettingsError),
    ({"record_every": 0}, SettingsError),
    ({"snapshots": 3}, SettingsError),
    (
        {
            "start_from": "best",
            "max_rounds": 1,
            "criterion": phased(lowest("loss"), lowest("norm")),
        },
        SettingsError,
    ),
    ({"criterion": highest("loss")}, SettingsError),
    ({"when": any_of(Every(2), OnSpike("loss", factor=2.0, better="higher"))}, SettingsError),
    (
        {"when": any_of(Every(2), any_of(OnPlateau("loss", patience=2, better="higher")))},
        SettingsError,
    ),
]


def make(trainer: Any, **changes: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {
        "space": {"lr": [0.01, 0.1]},
        "criterion": lowest("loss"),
        "when": PLATEAU,
        "try_for": 2,
    }
    return DynamicGridAdapter(trainer, **(given | changes))


@pytest.mark.parametrize(("changes", "error"), ADAPTERS)
def test_what_cannot_work_is_refused_before_anything_is_trained(
    changes: dict[str, Any], error: type[Exception]
) -> None:
    trainer = Toy()
    before = bits(trainer.get_state())
    with raises(error):
        make(trainer, **changes)
    assert bits(trainer.get_state()) == before
    assert trainer.trained == 0


CALLS: list[tuple[Call, type[Exception]]] = [
    (lambda: Snapshots(k=0), SettingsError),
    (lambda: Snapshots(every=0.5), SettingsError),  # type: ignore[arg-type]
    (lambda: Snapshots(store="disk"), SettingsError),  # type: ignore[arg-type]
    (lambda: on_disk(3), SettingsError),  # type: ignore[arg-type]
    (lambda: Ladder(0), SettingsError),
    (
        lambda: make(Toy(), space={"lr": [0.1], "kind": ["a", "b"]}, proposer=Ladder()),
        SettingsError,
    ),
    (lambda: plateau("", default=0.1), SettingsError),
    (lambda: plateau("lr", default=0.0), SettingsError),
    (lambda: plateau("lr", default=1.0, factor=1), SettingsError),
    (lambda: plateau("lr", default=1.0, factor=math.inf), SettingsError),
    (lambda: plateau("lr", default=1.0, steps=0), SettingsError),
    (lambda: plateau("lr", default=1.0, steps=999), SettingsError),
    (lambda: rescue("lr", default=1.0, factor=1e99), SettingsError),
    (lambda: plateau("lr", default=1.0, patience=0), SettingsError),
    (lambda: plateau("lr", default=1.0, loss=""), SettingsError),
    (lambda: plateau("lr", default=1, max_rounds=0), SettingsError),
    (lambda: rescue(3, default=0.1), SettingsError),  # type: ignore[arg-type]
    (lambda: rescue("lr", default=-1.0), SettingsError),
    (lambda: rescue("lr", default=1.0, factor=0.3), SettingsError),
    (lambda: rescue("lr", default=1.0, steps=-1), SettingsError),
    (lambda: rescue("lr", default=1.0, spike=1.0), SettingsError),
    (lambda: rescue("lr", default=1.0, window=0), SettingsError),
    (lambda: rescue("lr", default=1.0, down=0), SettingsError),
    (lambda: rescue("lr", default=1.0, try_for=0), SettingsError),
    (lambda: rescue("lr", default=1.0, max_rescues=0), SettingsError),
    (lambda: rescue("lr", default=1.0, lag=-1), SettingsError),
    (lambda: rescue("lr", default=1.0, every=0), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_bad_calls(call: Call, error: type[Exception]) -> None:
    refuse(call, error)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises(CheckpointError):
        on_disk(tmp_path / "file")()
    store = StatesOnDisk(tmp_path / "ring")
    key = store.put({"epoch": 3})
    (store.folder / key).write_bytes(b"broken")
    with raises(CheckpointError):
        store.get(key)
    with raises(CheckpointError):
        store.get("state-000009.zip")
    shutil.rmtree(store.folder)
    with raises(CheckpointError):
        store.put({"epoch": 4})


def test_stale_folders_are_removed_and_other_files_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("run-killed", "run-begun-just-now"):
        (tmp_path / folder).mkdir()
    for name in ("run-killed/state-000001.zip", "notes.txt"):
        (tmp_path / name).write_text("")
    now = (tmp_path / "run-begun-just-now").stat().st_mtime
    monkeypatch.setattr(time, "time", lambda: now)  # as the disk has it
    an_hour_ago = now - 3600
    os.utime(tmp_path / "run-killed", (an_hour_ago, an_hour_ago))
    store, other = StatesOnDisk(tmp_path), StatesOnDisk(tmp_path)
    first, second = store.put(1), store.put(2)
    store.keep_only([second])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "notes.txt",
        "run-begun-just-now",  # it has no lock yet
        store.folder.name,
        other.folder.name,
    }
    assert first != second
    assert second in {path.name for path in store.folder.iterdir()}
    assert first not in {path.name for path in store.folder.iterdir()}


def saved() -> Any:
    adapter = make(Toy(), start_from="best", max_rounds=1)
    adapter.run(6)
    state = adapter.state_dict()
    assert state["held"]
    return state


@pytest.mark.parametrize(
    "damage",
    [
        [{"epoch": -1, "score": None, "state": 0}],
        [{"epoch": 3, "score": None}],
        [{"score": None, "state": 0}],
        [3],
        {},
        3,
    ],
)
def test_held_states_that_are_damaged(damage: Any) -> None:
    adapter = make(Toy(), start_from="best", max_rounds=1)
    with raises(SettingsError):
        adapter.load_state_dict({**saved(), "held": damage})
    assert adapter.epoch == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"start_from": "before"},
        {"record_every": 3},
        {"when": OnPlateau("loss", patience=2)},
    ],
)
def test_other_settings_are_refused(changes: dict[str, Any]) -> None:
    adapter = make(Toy(), **({"start_from": "best", "max_rounds": 1} | changes))
    with raises(SettingsError):
        adapter.load_state_dict(saved())


@pytest.mark.parametrize("changes", [{"max_rounds": 2}, {"max_rescues": 1}])
def test_limits_of_rounds_and_rescues_may_change_on_resume(changes: dict[str, Any]) -> None:
    adapter = make(Toy(), **({"start_from": "best", "max_rounds": 1} | changes))
    adapter.load_state_dict(saved())
    assert adapter.epoch == 6


def test_what_is_the_default_is_not_written() -> None:
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.01, 0.1]}, criterion=lowest("loss"), when=Every(4), try_for=2
    )
    adapter.run(8)
    plain = adapter.state_dict()
    assert plain["held"] == []
    assert not {"when", "start_from", "max_rounds"} & plain["settings"].keys()
    assert plain["settings"]["adapt_every"] == "4"
    json.dumps(plain, allow_nan=False)
    new = {"because", "rescue", "abandoned", "failure", "stretch"}
    assert not any(new & round_.keys() for round_ in plain["history"])
