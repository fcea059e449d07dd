"""The rounds of a run, in a file beside the checkpoints: written once, and never lost."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import CheckpointError, DamagedFile
from dynhp.records.plain import round_to_plain
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.codecs import decode
from dynhp.storage.folder import CheckpointFolder
from dynhp.storage.lines import AppendedFile
from tests.support.killing import Killed
from tests.support.messages import raises
from tests.support.resuming import adapter_of, fresh, fresh_history, mortal, saved_in

pytestmark = pytest.mark.usefixtures("_fast_disk")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("history-*"))


class Still:
    """A trainer that costs nothing, for runs of many rounds."""

    def get_state(self) -> int:
        return 0

    def set_state(self, state: int) -> None:
        pass

    def train_k(self, k: int, hyperparameters: Any) -> None:
        pass

    def metrics(self) -> dict[str, float]:
        return {"loss": 0.5}


def still() -> DynamicGridAdapter:
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    settings["check"] = "off"  # it would say that nobody uses the value
    return DynamicGridAdapter(Still(), {"lr": [1, 2, 3]}, **settings)


@pytest.mark.many
def test_what_is_written_for_a_round_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, encoded = [0], [0]
    real_write, real_plain = AppendedFile.write, round_to_plain

    def write(file: AppendedFile) -> None:
        written[-1] += sum(map(len, file.waiting))
        real_write(file)

    def plain(round_: Any) -> Any:
        encoded[-1] += 1
        return real_plain(round_)

    adapter = still()
    adapter.run(1000)  # 500 rounds
    with checkpoints(tmp_path, adapter):
        monkeypatch.setattr(AppendedFile, "write", write)
        monkeypatch.setattr("dynhp.storage.folder.round_to_plain", plain)
        monkeypatch.setattr("dynhp.records.plain.round_to_plain", plain)
        for index, _ in enumerate(adapter.rounds(1600)):
            written.append(0)
            encoded.append(0)
            if index:
                newest = max(tmp_path.glob("checkpoint-*.zip"))
                written[-1] += newest.stat().st_size
    assert max(written[2:]) < 200_000  # all rounds together take far more
    assert sum(encoded[2:]) == len(encoded[2:])
    whole = resume(tmp_path, still())
    assert whole == adapter.history
    assert files_in(tmp_path) == ["history-00000001.jsonl"]


def test_what_a_checkpoint_says_of_its_rounds(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 8, checkpoint=tmp_path)
    file = tmp_path / "history-00000001.jsonl"
    content = decode((tmp_path / "checkpoint-00000002.zip").read_bytes())
    assert content["history"].keys() == {"file", "bytes", "sha256"}
    assert content["history"]["bytes"] == file.stat().st_size
    assert len(file.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_checkpoint_whose_first_rounds_are_damaged_is_not_used(
    damage: str, tmp_path: Path
) -> None:
    run_with_checkpoints(fresh(), 12, checkpoint=tmp_path)
    file = tmp_path / "history-00000001.jsonl"
    first, second, third = file.read_bytes().splitlines(keepends=True)
    changed = third.replace(b'"chosen":', b'"chosen": ')
    file.write_bytes(first + second + (changed if damage == "changed" else third[:9]))
    assert run_with_checkpoints(fresh(), 16, checkpoint=tmp_path) == fresh_history(12, 16)
    assert (tmp_path / "checkpoint-00000003.damaged").exists()
    assert saved_in(tmp_path) == ["checkpoint-00000003.zip", "checkpoint-00000004.zip"]
    assert resume(tmp_path, fresh()) == fresh_history(12, 16)


def test_where_the_first_rounds_are_all_damaged_nothing_is_started_anew(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 12, checkpoint=tmp_path)
    (tmp_path / "history-00000001.jsonl").write_bytes(b"gone")
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 16, checkpoint=tmp_path)


def test_a_file_that_is_not_there_can_be_put_back(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 12, checkpoint=tmp_path / "saved")
    shutil.move(tmp_path / "saved" / "history-00000001.jsonl", tmp_path / "aside")
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 16, checkpoint=tmp_path / "saved")
    shutil.move(tmp_path / "aside", tmp_path / "saved" / "history-00000001.jsonl")
    assert run_with_checkpoints(fresh(), 16, checkpoint=tmp_path / "saved") == fresh_history(12, 16)


@pytest.mark.parametrize("what", ["removed", "cut", "written into"])
def test_a_file_that_is_spoilt_in_mid_run_is_written_anew(what: str, tmp_path: Path) -> None:
    def spoil(event: Any) -> None:
        if getattr(event, "index", None) == 3 and not hasattr(event, "tries"):
            file = tmp_path / "history-00000001.jsonl"
            data = file.read_bytes()
            file.write_bytes({"cut": data[:50], "written into": data + b"hello"}.get(what, b""))
            if what == "removed":
                file.unlink()

    history = run_with_checkpoints(adapter_of(mortal({}), {}, (spoil,)), 24, checkpoint=tmp_path)
    assert resume(tmp_path, fresh()) == history == fresh_history(24)
    last = 1 if what == "removed" else 2  # the other one is of no use to any checkpoint, and gone
    assert files_in(tmp_path) == [f"history-{last:08}.jsonl"]


def test_another_history_gets_another_file(tmp_path: Path) -> None:
    other = fresh()
    other.run(4)
    early = other.state_dict(), other.trainer.get_state()
    with checkpoints(tmp_path, fresh(), keep=3) as adapter:
        adapter.run(12)
        adapter.load_state_dict(early[0])  # by hand, in mid-run
        adapter.trainer.set_state(early[1])
        adapter.run(8)
        assert files_in(tmp_path) == ["history-00000001.jsonl", "history-00000002.jsonl"]
        adapter.run(16)
    assert saved_in(tmp_path)[-1] == "checkpoint-00000004.zip"
    assert resume(tmp_path, fresh()).epochs == 16
    assert files_in(tmp_path) == ["history-00000002.jsonl"]


@pytest.mark.parametrize(
    "saved",
    [
        3,
        None,
        {},
        {"file": "history-00000001.jsonl"},
        {"file": "../../secret", "bytes": 1, "sha256": ""},
        {"file": "lock", "bytes": 1, "sha256": ""},
        {"file": "history-00000001.jsonl", "bytes": "1", "sha256": ""},
        {"file": "history-00000001.jsonl", "bytes": -1, "sha256": ""},
        {"file": "history-00000001.jsonl", "bytes": 1, "sha256": ""},
    ],
)
def test_references_that_nobody_wrote(saved: Any, tmp_path: Path) -> None:
    (tmp_path / "history-00000001.jsonl").write_bytes(b"{}\n")
    with pytest.raises(DamagedFile):
        CheckpointFolder(tmp_path).read_rounds(saved)


@pytest.mark.parametrize("after", ["writing", "syncing"])
def test_ctrl_c_while_rounds_are_written(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"writing": "write", "syncing": "sync"}[after]
    real, calls = getattr(AppendedFile, name), 0

    def stopped(file: AppendedFile) -> None:
        nonlocal calls
        real(file)
        calls += 1
        if calls == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(AppendedFile, name, stopped)
    with checkpoints(tmp_path, fresh()) as adapter:
        with pytest.raises(KeyboardInterrupt):
            adapter.run(20)
        assert adapter.run(20) == fresh_history(20)
    assert resume(tmp_path, fresh()) == fresh_history(20)
    lines = (tmp_path / "history-00000001.jsonl").read_bytes().splitlines()
    assert len(lines) == 5


def test_half_of_a_write_is_not_taken_for_rounds(tmp_path: Path) -> None:
    file = AppendedFile(tmp_path / "file")
    file.wait_with([b"one\n"])
    file.write()
    position = file.position()
    (tmp_path / "file").write_bytes(b"one\ntw")
    again = AppendedFile(tmp_path / "file")
    assert again.take_up(position) == b"one\n"
    assert (tmp_path / "file").read_bytes() == b"one\ntw"  # nothing is changed by looking
    again.wait_with([b"two\n", b"three\n"])
    again.write()
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\nthree\n"
    assert again.lines == 3


def test_a_run_without_rounds_is_saved_too(tmp_path: Path) -> None:
    with pytest.raises(Killed), checkpoints(tmp_path, fresh()):
        raise Killed
    assert saved_in(tmp_path) == []
    with checkpoints(tmp_path, fresh()):
        pass
    assert (tmp_path / "history-00000001.jsonl").read_bytes() == b""
    assert run_with_checkpoints(fresh(), 4, checkpoint=tmp_path) == fresh_history(4)
