"""Runs that go on where something cannot be saved: the rest is, and a resume works."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import CheckpointError, CodecError
from dynhp.storage.checkpoint import resume, run_with_checkpoints
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.storage.lines import AppendedFile
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises, warns
from tests.support.resuming import (
    adapter_of,
    fresh,
    fresh_history,
    mortal,
    saved_in,
    without_times,
)

pytestmark = pytest.mark.usefixtures("_fast_disk")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files that cannot be written, as on another disk that is full or read-only."""
    unwritable: set[Path] = set()

    def guarded(real: Any) -> Any:
        def write(file: AppendedFile) -> None:
            if file.path in unwritable:
                raise OSError(30, "Read-only file system")
            real(file)

        return write

    for name in ("write", "cut"):
        monkeypatch.setattr(AppendedFile, name, guarded(getattr(AppendedFile, name)))
    return unwritable


def spoiling(disk: set[Path], path: Path, index: int) -> DynamicGridAdapter:
    """An adapter whose journal cannot be written any more from the start of a round on."""

    def spoil(event: Any) -> None:
        if getattr(event, "index", None) == index and not hasattr(event, "tries"):
            disk.add(path)

    return adapter_of(mortal({}), {}, (spoil,))


@pytest.mark.parametrize("index", [0, 2])
def test_an_unwritable_journal_keeps_no_checkpoint_from_being_saved(
    index: int, disk: set[Path], tmp_path: Path
) -> None:
    folder, path = tmp_path / "saved", tmp_path / "journal"
    settings: Any = {"checkpoint": folder, "journal": path, "on_checkpoint_error": "warn"}
    with warns(RuntimeWarning):
        history = run_with_checkpoints(spoiling(disk, path, index), 24, **settings)
    assert saved_in(folder) == ["checkpoint-00000005.zip", "checkpoint-00000006.zip"]
    assert not list(folder.glob("try-*"))
    assert not path.exists() or len(history_from_journal(path)) < 6

    with warns(RuntimeWarning):  # still not
        longer = run_with_checkpoints(fresh(), 28, **settings)
    assert longer == fresh_history(24, 28)
    disk.clear()
    for warn in (settings, {**settings, "on_checkpoint_error": "stop"}):
        longest = run_with_checkpoints(fresh(), 32, **warn)
    assert longest.rounds[:6] == history.rounds
    assert without_times(history_from_journal(path)) == without_times(longest)  # no line is lost


def test_a_journal_with_a_torn_end_is_cut_when_it_can_be(disk: set[Path], tmp_path: Path) -> None:
    path = tmp_path / "journal"
    settings: Any = {"checkpoint": tmp_path / "saved", "journal": path}
    run_with_checkpoints(fresh(), 8, **settings)
    with open(path, "ab") as file:
        file.write(b'{"event":"round_st')
    disk.add(path)
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 12, **settings)
    with warns(RuntimeWarning):
        run_with_checkpoints(fresh(), 12, on_checkpoint_error="warn", **settings)
    disk.clear()
    assert run_with_checkpoints(fresh(), 16, **settings) == fresh_history(8, 12, 16)
    assert history_from_journal(path) == fresh_history(8, 12, 16)


def test_a_journal_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    settings: Any = {"checkpoint": tmp_path / "saved", "journal": tmp_path / "journal"}
    run_with_checkpoints(fresh(), 4, **settings)
    (tmp_path / "journal").unlink()
    (tmp_path / "journal").mkdir()
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 8, **settings)


class FullOutput:
    """An output of somebody's own, which cannot be written."""

    def __call__(self, event: Any) -> None:
        pass

    def position(self) -> Any:
        raise OSError("No space left on device")

    def rewind(self, position: Any) -> None:
        raise AssertionError("there was no position")


def test_an_output_that_fails_is_left_out(tmp_path: Path) -> None:
    def run(epochs: int, on_error: Any) -> Any:
        adapter = adapter_of(mortal({}), {}, (FullOutput(),))
        return run_with_checkpoints(
            adapter, epochs, checkpoint=tmp_path, on_checkpoint_error=on_error
        )

    with raises(CheckpointError):
        run(8, "stop")
    with warns(RuntimeWarning) as caught:
        run(8, "warn")
    lost = [each for each in caught if each.category is RuntimeWarning]  # and not a hint
    assert {each.filename for each in lost} == {__file__}
    assert saved_in(tmp_path)[-1] == "checkpoint-00000002.zip"
    with warns(RuntimeWarning):
        assert run(12, "warn") == fresh_history(8, 12)


class Curve:
    """A trainer that keeps a curve in a plain list, a number for every batch."""

    def __init__(self, entry: Any = float, batches: int = 40_000) -> None:
        self.x, self.curve, self.entry, self.batches = 1.0, [], entry, batches  # type: ignore[var-annotated]

    def get_state(self) -> dict[str, Any]:
        return {"x": self.x, "curve": list(self.curve)}

    def set_state(self, state: dict[str, Any]) -> None:
        self.x, self.curve = state["x"], list(state["curve"])

    def train_k(self, k: int, hyperparameters: Any) -> None:
        chance = random.Random(len(self.curve))
        for _ in range(k):
            self.x *= 1 - hyperparameters["lr"]
            self.curve += [self.entry(chance.random()) for _ in range(self.batches)]

    def metrics(self) -> dict[str, float]:
        return {"loss": self.x}


def on_a_curve(**more: Any) -> DynamicGridAdapter:
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    return DynamicGridAdapter(Curve(**more), {"lr": [0.01, 0.1]}, **settings)


def test_a_list_of_numbers_may_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.storage.codecs.state_file.MOST_STATE", 100_000)
    adapter = on_a_curve(batches=4000)
    run_with_checkpoints(adapter, 12, checkpoint=tmp_path)
    again = on_a_curve(batches=4000)
    assert resume(tmp_path, again) == adapter.history
    assert again.trainer.get_state() == adapter.trainer.get_state()


def test_a_state_that_cannot_be_saved_any_more_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp.storage.codecs.state_file.MOST_STATE", 20_000)
    texts: Any = {"entry": str, "batches": 200}
    with raises(CodecError):
        run_with_checkpoints(on_a_curve(**texts), 12, checkpoint=tmp_path / "stop")
    folder = tmp_path / "warn"
    with warns(RuntimeWarning):
        history = run_with_checkpoints(
            on_a_curve(**texts), 12, checkpoint=folder, on_checkpoint_error="warn"
        )
    assert history == on_a_curve(**texts).run(12)
    assert len(list(folder.glob("try-*"))) <= 4  # of one round; they do not pile up
    monkeypatch.undo()
    assert resume(folder, on_a_curve(**texts)) == history


class LaterUnstorable(NoisyQuadratic):
    """A trainer whose state cannot be stored once it has trained."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), **({"hook": print} if self.steps else {})}


def test_a_state_that_turns_out_to_be_unstorable(tmp_path: Path) -> None:
    def run(on_error: Any) -> Any:
        adapter = DynamicGridAdapter(
            LaterUnstorable(),
            {"lr": [0.1, 0.2]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
        path = tmp_path / on_error
        return run_with_checkpoints(adapter, 6, checkpoint=path, on_checkpoint_error=on_error)

    with raises(CodecError):
        run("stop")
    with warns(RuntimeWarning) as caught:
        assert run("warn").epochs == 6
    lost = [each for each in caught if each.category is RuntimeWarning]  # and not a hint
    assert {each.filename for each in lost} == {__file__}
    assert saved_in(tmp_path / "warn") == ["checkpoint-00000000.zip"]


def test_a_journal_of_ones_own_that_stops_still_stops(disk: set[Path], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    disk.add(journal.path)
    adapter, folder = adapter_of(mortal({}), {}, (journal,)), tmp_path / "saved"
    with (
        warns(RuntimeWarning),
        raises(CheckpointError),
    ):
        run_with_checkpoints(adapter, 8, checkpoint=folder, on_checkpoint_error="warn")
