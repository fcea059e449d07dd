"""Checkpoints on disks that are full, read-only or gone: what was saved before stays intact."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynhp.storage.files
from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import CheckpointError
from dynhp.storage.checkpoint import checkpoints, run_with_checkpoints
from dynhp.storage.journal import history_from_journal
from dynhp.testing import NoisyQuadratic
from tests.support.disks import ROOT, mounted, readonly, remount
from tests.support.messages import raises, warns
from tests.support.resuming import adapter_of, fresh, fresh_history, mortal, saved_in


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    place = tmp_path / "file" / "saved"
    adapter = fresh()
    with raises(CheckpointError):
        run_with_checkpoints(adapter, 4, checkpoint=place)
    assert adapter.trainer.asked == []
    with warns(RuntimeWarning) as caught:
        history = run_with_checkpoints(adapter, 8, checkpoint=place, on_checkpoint_error="warn")
    assert len(caught) > 2
    assert {each.filename for each in caught} == {__file__}  # where the run was started
    assert history == fresh().run(8)


def test_a_disk_that_becomes_read_only() -> None:
    with mounted("size=1m") as folder:
        run_with_checkpoints(fresh(), 8, checkpoint=folder)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        remount(folder, "ro")
        assert readonly(folder)
        with raises(CheckpointError):
            run_with_checkpoints(fresh(), 12, checkpoint=folder)
        with warns(RuntimeWarning):
            history = run_with_checkpoints(
                fresh(), 12, checkpoint=folder, on_checkpoint_error="warn"
            )
        assert history == fresh_history(8, 12)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


class Growing(NoisyQuadratic):
    """A trainer whose state grows until no disk can hold it."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "ballast": np.zeros(self.steps * 10_000)}


def growing() -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Growing(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )


def test_a_full_disk() -> None:
    with mounted("size=1m") as folder:
        adapter = growing()
        with raises(CheckpointError):
            run_with_checkpoints(adapter, 20, checkpoint=folder, journal=folder / "journal")
        reached = adapter.epoch
        assert 0 < reached < 20
        assert adapter.trainer.get_state()["steps"] == reached  # back at the round's start
        assert not list(folder.glob("*.part"))
        with contextlib.suppress(ZeroDivisionError), checkpoints(folder, growing()) as resumed:
            assert resumed.epoch in (reached, reached - 2)  # what was saved before is intact
            raise ZeroDivisionError  # so that nothing is saved now
        again = growing()
        with warns(RuntimeWarning):
            history = run_with_checkpoints(
                again,
                20,
                checkpoint=folder,
                journal=folder / "journal",
                on_checkpoint_error="warn",
            )
        assert history == growing().run(20)
        assert history_from_journal(folder / "journal") == history


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
from tests.storage.test_bad_disks import growing
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.errors import CheckpointError
try:
    run_with_checkpoints(growing(), 20, checkpoint=sys.argv[1])
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes work on Linux")
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large" in done.stdout
    assert "Anything saved earlier is intact" in done.stdout
    assert not list(tmp_path.glob("*.part"))
    assert run_with_checkpoints(growing(), 20, checkpoint=tmp_path) == growing().run(20)


@pytest.mark.usefixtures("_fast_disk")
@pytest.mark.parametrize("when", [0, 2])
def test_a_folder_that_is_removed_in_mid_run(when: int, tmp_path: Path) -> None:
    folder = tmp_path / "saved"

    def sweep(event: Any) -> None:
        if getattr(event, "index", None) == when and not hasattr(event, "tries"):
            shutil.rmtree(folder)

    adapter = adapter_of(mortal({}), {}, (sweep,))
    with raises(CheckpointError):
        run_with_checkpoints(adapter, 20, checkpoint=folder)
    assert adapter.epoch == 4 * when
    adapter = adapter_of(mortal({}), {}, (sweep,))
    with warns(RuntimeWarning):
        history = run_with_checkpoints(adapter, 20, checkpoint=folder, on_checkpoint_error="warn")
    assert history == fresh().run(20)
    assert not folder.exists()  # it may be a disk that was taken out: nothing is put in its place


@pytest.mark.usefixtures("_fast_disk")
def test_a_first_checkpoint_that_fails_leaves_no_tries_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dynhp.storage.files.write_atomically

    def no_checkpoints(path: Path, write: Any, *, durable: bool) -> Any:
        if durable:
            raise OSError("no")
        return real(path, write, durable=durable)

    monkeypatch.setattr("dynhp.storage.folder.write_atomically", no_checkpoints)
    with warns(RuntimeWarning):
        run_with_checkpoints(fresh(), 4, checkpoint=tmp_path, on_checkpoint_error="warn")
    assert {path.name for path in tmp_path.iterdir()} == {"history-00000001.jsonl", "lock"}


@pytest.mark.usefixtures("_fast_disk")
def test_a_run_goes_on_and_is_saved_when_its_journal_is_lost(tmp_path: Path) -> None:
    folder, journal = tmp_path / "saved", tmp_path / "journal"

    def sweep(event: Any) -> None:
        if getattr(event, "index", None) == 1 and hasattr(event, "tries"):
            journal.unlink()

    settings: Any = {"checkpoint": folder, "journal": journal}
    adapter = adapter_of(mortal({}), {}, (sweep,))
    with warns(RuntimeWarning):
        run_with_checkpoints(adapter, 16, on_checkpoint_error="warn", **settings)
    assert saved_in(folder)[-1] == "checkpoint-00000004.zip"
    assert not journal.exists()
    longer = run_with_checkpoints(fresh(), 20, **settings)  # with a journal of its own
    assert longer == fresh_history(16, 20)
    assert history_from_journal(journal).rounds == longer.rounds[4:]
    shutil.rmtree(folder)
    journal.unlink()
    adapter = adapter_of(mortal({}), {}, (sweep,))
    with raises(CheckpointError):
        run_with_checkpoints(adapter, 16, **settings)
