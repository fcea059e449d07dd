"""Journals whose files are cut, lost, full or written by others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, History
from dynhp.errors import CheckpointError, DamagedFile, SettingsError
from dynhp.records import RoundStarted
from dynhp.storage import run_with_checkpoints
from dynhp.storage.journal import Journal, history_from_journal, read_journal
from dynhp.testing import Quadratic
from tests.support.messages import raises, warns
from tests.support.resuming import adapter_of, journaled, mortal


def test_a_file_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    journaled(tmp_path / "journal", {}, 4)
    before = (tmp_path / "journal").read_bytes()
    with raises(CheckpointError):
        journaled(tmp_path / "journal", {}, 4)
    assert (tmp_path / "journal").read_bytes() == before


def test_what_a_kill_before_the_first_checkpoint_leaves_is_no_journal(tmp_path: Path) -> None:
    header = b'{"event":"journal","version":1}\n'
    for length in range(len(header) + 1):
        path = tmp_path / str(length)
        path.write_bytes(header[:length])
        assert history_from_journal(path) == History(())
        assert journaled(path, {}, 4) == history_from_journal(path)


@pytest.mark.parametrize(
    "content", [b"notes", b"{}", b'{"event":"journal","version":2}', b"\x00\xff"]
)
def test_a_file_without_a_line_that_is_no_journal_is_refused(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "notes").write_bytes(content)
    with raises(DamagedFile):
        read_journal(tmp_path / "notes")


def test_going_back_and_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", seconds=False)
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    position = journal.position()
    state = adapter.state_dict(), adapter.trainer.get_state()
    adapter.run(8)
    whole = (tmp_path / "journal").read_bytes()
    for torn in (b"", b'{"event":"tr'):
        (tmp_path / "journal").write_bytes(whole + torn)
        again = Journal(tmp_path / "journal", seconds=False)
        again.rewind(position)
        assert (tmp_path / "journal").stat().st_size == position["bytes"]
        other = adapter_of(mortal({}), {}, (again,))
        other.load_state_dict(state[0])
        other.trainer.set_state(state[1])
        other.run(8)
        assert (tmp_path / "journal").read_bytes() == whole


@pytest.mark.parametrize("content", [None, b"", b"short", b"x" * 10_000])
def test_another_journal_is_not_cut(content: bytes | None, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    adapter_of(mortal({}), {}, (journal,)).run(4)
    position = journal.position()
    (tmp_path / "journal").unlink()
    if content is not None:
        (tmp_path / "journal").write_bytes(content)
    for place in (position, {}, None, {"bytes": "3"}, {"bytes": -3, "sha256": ""}, {"bytes": 0}):
        with raises(CheckpointError):
            Journal(tmp_path / "journal").rewind(place)
    if content is not None:
        assert (tmp_path / "journal").read_bytes() == content


def test_somebody_else_writes_into_it(tmp_path: Path) -> None:
    adapter = adapter_of(mortal({}), {}, (Journal(tmp_path / "journal"),))
    adapter.run(4)
    with open(tmp_path / "journal", "ab") as file:
        file.write(b"hello")
    with raises(CheckpointError):
        adapter.run(8)


@pytest.mark.parametrize("left", [None, 0, 40])
def test_a_journal_that_is_removed_or_cut_in_mid_run(left: int | None, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, on_error="warn", seconds=False)
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    whole = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(whole[:left])
    with warns(RuntimeWarning):
        adapter.run(8)
    assert path.exists() == (left is not None)  # nothing is put in its place
    assert left is None or path.read_bytes() == whole[:left]
    assert journal.position() is None
    path.write_bytes(whole)  # and put back
    assert adapter.run(12) == history_from_journal(path)
    strict = Journal(path)
    strict.rewind(journal.position())
    path.unlink()
    with raises(CheckpointError):
        strict(RoundStarted(index=3, start=12, epochs=4))
    with raises(OSError):
        strict.position()


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    nowhere = tmp_path / "no folder" / "journal"
    adapter = adapter_of(mortal({}), {}, (Journal(nowhere),))
    with raises(CheckpointError):
        adapter.run(4)
    assert adapter.trainer.asked == []
    later = Journal(nowhere, on_error="warn")
    adapter = adapter_of(mortal({}), {}, (later,))
    with warns(RuntimeWarning) as caught:
        adapter.run(4)
    assert {each.filename for each in caught} == {__file__}
    with warns(RuntimeWarning):
        position = later.position()
    assert position is not None
    assert (position["bytes"], position["waiting"].count(b"\n")) == (0, 1 + 1 + 1 + 4 + 1)
    resumed = Journal(tmp_path / "resumed")  # in another process, where the folder is there
    resumed.rewind(position)
    resumed(RoundStarted(index=1, start=4, epochs=4))
    assert history_from_journal(tmp_path / "resumed") == adapter.history
    nowhere.parent.mkdir()
    history = adapter.run(8)
    assert history_from_journal(nowhere) == history


def test_half_a_line_on_a_full_disk_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal", on_error="warn")
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    before = (tmp_path / "journal").read_bytes()

    class FullFile:
        def __init__(self, *arguments: Any) -> None:
            self.file = real(*arguments)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def tell(self) -> int:
            return int(self.file.tell())

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            raise OSError("No space left on device")

    real = open
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", FullFile)
        with warns(RuntimeWarning):
            journal(RoundStarted(index=1, start=4, epochs=4))
    assert (tmp_path / "journal").read_bytes() == before
    history = adapter.run(8)
    assert history_from_journal(tmp_path / "journal") == history


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    with raises(SettingsError):
        Journal(tmp_path / "journal", on_error="ignore")  # type: ignore[arg-type]
    with raises(CheckpointError):
        read_journal(tmp_path / "journal")


def test_training_code_may_change_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wanders(Quadratic):
        calls = 0

        def train_k(self, k: int, hyperparameters: Any) -> None:
            self.calls += 1
            if self.calls == 15:
                os.chdir("below")
            super().train_k(k, hyperparameters)

    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)  # put back after the test
    adapter = DynamicGridAdapter(
        Wanders(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=2, try_for=1
    )
    history = run_with_checkpoints(adapter, 20, checkpoint="saved", journal="run.jsonl")
    assert history_from_journal(tmp_path / "run.jsonl") == history
    assert list((tmp_path / "below").iterdir()) == []
