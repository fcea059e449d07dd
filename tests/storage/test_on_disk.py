"""Snapshots on disk: each run has a folder of its own below the one that it was given."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter
from dynhp.errors import CheckpointError
from dynhp.snapshots import Snapshots
from dynhp.storage import on_disk
from dynhp.storage.on_disk import StatesOnDisk, _end
from dynhp.triggers import OnPlateau


class Owned:
    """A trainer whose state says whose it is; its loss is on a plateau from the sixth epoch on."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.loss = 3.0
        self.epochs = 0

    def get_state(self) -> dict[str, Any]:
        return {"owner": self.owner, "loss": self.loss, "epochs": self.epochs}

    def set_state(self, state: dict[str, Any]) -> None:
        self.owner, self.loss, self.epochs = state["owner"], state["loss"], state["epochs"]

    def train_k(self, k: int, hyperparameters: Any) -> None:
        for _ in range(k):
            self.epochs += 1
            falls = self.epochs < 6
            rate = hyperparameters["rate"]
            self.loss = self.loss * (1 - rate) if falls else self.loss + 0.1 / rate

    def metrics(self) -> dict[str, float]:
        return {"loss": self.loss}


def adapter(owner: str, folder: Path) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Owned(owner),
        {"rate": [0.1, 0.3]},
        minimize="loss",
        when=OnPlateau("loss", patience=3),
        try_for=1,
        start_from="before",
        max_rounds=2,
        snapshots=Snapshots(k=4, store=on_disk(folder)),
        record_every=1,
    )


def test_two_runs_that_are_given_one_folder_never_meet(tmp_path: Path) -> None:
    runs = [adapter("first", tmp_path), adapter("second", tmp_path)]
    for _ in zip(*(run.rounds(20) for run in runs), strict=True):
        pass
    assert [run.trainer.owner for run in runs] == ["first", "second"]  # type: ignore[attr-defined]
    assert all(any(round_.abandoned for round_ in run.history) for run in runs)
    alone = adapter("first", tmp_path / "alone")
    assert alone.run(20) == runs[0].history


def test_the_folder_of_a_run_goes_with_it(tmp_path: Path) -> None:
    store = StatesOnDisk(tmp_path)
    keys = [store.put({"epoch": epoch}) for epoch in range(3)]
    store.keep_only(keys[1:])
    files = sorted(path.name for path in store.folder.iterdir())
    assert files == ["lock", *keys[1:]]
    del store
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_has_left_is_removed_and_what_another_uses_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, sys; from pathlib import Path; from dynhp.storage.on_disk import StatesOnDisk\n"
        "store = StatesOnDisk(Path(sys.argv[1])); store.put({}); os._exit(9)"
    )
    paths = os.pathsep.join(map(str, sys.path))
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": paths}
    )
    [left] = tmp_path.iterdir()
    now = left.stat().st_mtime
    monkeypatch.setattr(time, "time", lambda: now)  # as the disk has it
    os.utime(left, (now - 3600, now - 3600))
    first, second = StatesOnDisk(tmp_path), StatesOnDisk(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([first.folder, second.folder])


def test_a_forked_process_leaves_the_files_alone(tmp_path: Path) -> None:
    store = StatesOnDisk(tmp_path)
    key = store.put({"epoch": 3})
    store._end.detach()  # as it is called in a process that was forked
    _end(store.folder, ExitStack(), os.getpid() + 1)
    assert store.get(key) == {"epoch": 3}


def test_a_forked_process_that_goes_on_has_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StatesOnDisk(tmp_path)
    before = store.put("before")
    forked = copy.copy(store)  # as a fork copies the memory of a process
    forked._names = set(store._names)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        key = forked.put("of the other")
        forked.keep_only([key])
    assert store.put("own") != key
    assert [store.get(before), forked.get(key)] == ["before", "of the other"]


def test_a_run_may_change_its_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = adapter("first", Path("ring"))
    rounds = run.rounds(20)
    next(rounds)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [next(rounds), *rounds][-1] == adapter("first", tmp_path / "alone").run(20)[-1]


def test_a_folder_that_cannot_be_made_or_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError):
        StatesOnDisk(tmp_path / "file")
    store = StatesOnDisk(tmp_path)
    key = store.put({})
    (store.folder / key).write_bytes(b"")
    with pytest.raises(CheckpointError):
        store.get(key)
    for path in list(store.folder.iterdir()):
        path.unlink()
    store.folder.rmdir()
    with pytest.raises(CheckpointError):
        store.put({})
