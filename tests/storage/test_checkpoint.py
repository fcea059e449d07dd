"""Checkpoints: what is kept and what is refused."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Processes, Shadow, lowest
from dynhp.errors import CheckpointError, CodecError, DamagedFile, SettingsError
from dynhp.proposers import Waves
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.codecs import decode, encode
from dynhp.storage.folder import CheckpointFolder
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.disks import held_by_another_process
from tests.support.killing import Killed
from tests.support.messages import raises
from tests.support.resuming import adapter_of, fresh, fresh_history, mortal, saved_in


@pytest.mark.usefixtures("_fast_disk")
@pytest.mark.parametrize(
    ("every", "keep", "expected"),
    [(1, 2, [4, 5]), (2, 2, [4, 5]), (3, 9, [0, 3, 5]), (9, 2, [0, 5]), (1, 1, [5])],
)
def test_the_newest_are_kept(every: int, keep: int, expected: list[int], tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 20, checkpoint=tmp_path, every=every, keep=keep)
    assert saved_in(tmp_path) == [f"checkpoint-{number:08}.zip" for number in expected]
    assert {path.name for path in tmp_path.iterdir()} == {
        *saved_in(tmp_path),
        "history-00000001.jsonl",
        "lock",
    }


@pytest.mark.usefixtures("_fast_disk")
def test_what_a_checkpoint_holds(tmp_path: Path) -> None:
    adapter = fresh()
    run_with_checkpoints(adapter, 8, checkpoint=tmp_path, journal=tmp_path / "journal")
    content = decode((tmp_path / "checkpoint-00000002.zip").read_bytes())
    assert set(content) == {"adapter", "history", "trainer", "outputs", "proved"}
    assert encode(content["trainer"]) == encode(adapter.trainer.get_state())
    assert content["adapter"]["settings"] == adapter.state_dict()["settings"]
    assert content["history"]["file"] == "history-00000001.jsonl"
    assert content["outputs"][0]["bytes"] == (tmp_path / "journal").stat().st_size


def test_a_checkpoint_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    replace, fsync = os.replace, os.fsync

    def noted_sync(descriptor: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def noted_replace(source: Any, target: Any) -> None:
        steps.append(f"{Path(source).name} -> {Path(target).name}")
        replace(source, target)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("names of open files are not known here")
    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    folder = CheckpointFolder(tmp_path)
    history = fresh_history(12)
    folder.save(history, {"a": 1})
    rounds = "history-00000001.jsonl"
    name = "checkpoint-00000003.zip"
    written = [f"{name}.part", f"{name}.part -> {name}", tmp_path.name]
    assert steps == [rounds, tmp_path.name, *written]
    steps.clear()
    folder.save(history, {"a": 2})
    assert steps == [rounds, *written]  # the name of the file of rounds is safe already


@pytest.mark.usefixtures("_fast_disk")
@pytest.mark.parametrize("damage", ["torn", "flipped", "emptied", "a state of something else"])
def test_a_damaged_checkpoint_is_put_aside_and_the_one_before_it_used(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_with_checkpoints(fresh(), 12, checkpoint=tmp_path)
    newest = tmp_path / "checkpoint-00000003.zip"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(
        {
            "torn": newest.read_bytes()[:-10],
            "flipped": bytes(data),
            "emptied": b"",
            "a state of something else": encode({"a": 1}),
        }[damage]
    )
    adapter = fresh()
    with caplog.at_level(logging.WARNING, "dynhp"):
        history = run_with_checkpoints(adapter, 16, checkpoint=tmp_path)
    assert "checkpoint-00000003.zip is damaged" in caplog.text
    assert history == fresh_history(12, 16)
    assert (tmp_path / "checkpoint-00000003.damaged").exists()
    assert saved_in(tmp_path) == ["checkpoint-00000003.zip", "checkpoint-00000004.zip"]


@pytest.mark.usefixtures("_fast_disk")
def test_where_all_are_damaged_nothing_is_started_anew(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 8, checkpoint=tmp_path)
    for name in saved_in(tmp_path):
        (tmp_path / name).write_bytes(b"gone")
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 8, checkpoint=tmp_path)


@pytest.mark.usefixtures("_fast_disk")
def test_a_checkpoint_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-00000001.zip").mkdir()
    with raises(CheckpointError) as caught:
        run_with_checkpoints(fresh(), 8, checkpoint=tmp_path)
    assert not isinstance(caught.value, DamagedFile)


@pytest.mark.usefixtures("_fast_disk")
def test_other_settings_are_refused_and_the_difference_shown(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 4, checkpoint=tmp_path)
    with raises(SettingsError):
        run_with_checkpoints(fresh(keep="value"), 8, checkpoint=tmp_path)


@pytest.mark.usefixtures("_fast_disk")
@pytest.mark.parametrize(
    "settings",
    [
        {"seed": 1},
        {"initial": {"lr": 0.3}},
    ],
)
def test_another_seed_or_start_is_another_run(settings: Any, tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 4, checkpoint=tmp_path)
    with raises(SettingsError):
        run_with_checkpoints(fresh(**settings), 8, checkpoint=tmp_path)
    same = fresh(seed=0, initial={"lr": 0.03})
    assert run_with_checkpoints(same, 8, checkpoint=tmp_path) == fresh_history(4, 8)


@dataclass(frozen=True)
class Described:
    """A proposer whose repr shows its settings."""

    count: int

    def propose(self, known: Any, rng: Any) -> Any:
        return [] if known.tries else list(known.space.grid())[: self.count]

    def waves(self, space: Any, current: Any) -> Waves:
        return Waves((self.count,), (self.count,))


class Undescribed(Described):
    """One whose repr is an address, and which counts how often it is asked."""

    __repr__ = object.__repr__

    def propose(self, known: Any, rng: Any) -> Any:
        vars(self)["_asked"] = vars(self).get("_asked", 0) + 1
        return super().propose(known, rng)


@pytest.mark.usefixtures("_fast_disk")
@pytest.mark.parametrize("kind", [Described, Undescribed])
def test_parts_of_ones_own_are_compared_by_their_text_or_their_attributes(
    kind: Any, tmp_path: Path
) -> None:
    run_with_checkpoints(fresh(proposer=kind(2)), 4, checkpoint=tmp_path)
    with raises(SettingsError):
        run_with_checkpoints(fresh(proposer=kind(3)), 8, checkpoint=tmp_path)
    assert run_with_checkpoints(fresh(proposer=kind(2)), 8, checkpoint=tmp_path).epochs == 8


@pytest.mark.usefixtures("_fast_disk")
def test_fewer_epochs_than_are_done_are_refused_and_a_shorter_plan_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with checkpoints(tmp_path, fresh()) as begun:
        next(begun.rounds(40))
    before = (tmp_path / "checkpoint-00000001.zip").read_bytes()
    with raises(SettingsError):
        run_with_checkpoints(fresh(), 2, checkpoint=tmp_path)
    assert (tmp_path / "checkpoint-00000001.zip").read_bytes() == before
    with caplog.at_level(logging.WARNING, "dynhp"):
        assert run_with_checkpoints(fresh(), 8, checkpoint=tmp_path).epochs == 8
    assert "was planned for 40 epochs; from now on it is for 8" in caplog.text


def test_a_trainer_that_was_put_back_already_tells_where_the_run_goes_on() -> None:
    trainer, space = NoisyQuadratic(), {"lr": [0.02, 0.1, 0.3]}
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    first = DynamicGridAdapter(trainer, space, **settings)
    first.run(4)
    assert first.current != first.history[0].previous
    again = DynamicGridAdapter(trainer, space, **settings)  # on the same, which reads back
    again.load_state_dict(first.state_dict())
    assert again.history == first.history
    other = DynamicGridAdapter(NoisyQuadratic(), space, initial=first.current, **settings)
    with raises(SettingsError):
        other.load_state_dict(first.state_dict())


@pytest.mark.usefixtures("_fast_disk")
def test_whether_to_resume(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with raises(CheckpointError):
        resume(nowhere, fresh())
    assert not nowhere.exists()
    nowhere.mkdir()
    with raises(CheckpointError):
        resume(nowhere, fresh())
    run_with_checkpoints(fresh(), 4, checkpoint=nowhere, resume="never")
    with raises(CheckpointError):
        run_with_checkpoints(fresh(), 4, checkpoint=nowhere, resume="never")
    assert run_with_checkpoints(fresh(), 8, checkpoint=nowhere, resume="must").epochs == 8


@pytest.mark.parametrize(
    "settings",
    [
        {"every": 0},
        {"keep": 0},
        {"resume": True},
        {"on_checkpoint_error": "ignore"},
    ],
)
def test_settings_that_cannot_work(settings: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        run_with_checkpoints(fresh(), 4, checkpoint=tmp_path / "new", **settings)
    with raises(SettingsError):
        run_with_checkpoints(fresh(), 0, checkpoint=tmp_path / "new")
    assert not (tmp_path / "new").exists()


class Unstorable(NoisyQuadratic):
    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "optimizer": {"hook": print}}


@pytest.mark.parametrize("on_error", ["stop", "warn"])
def test_a_state_that_cannot_be_stored_is_said_before_anything_is_trained(
    on_error: Any, tmp_path: Path
) -> None:
    trainer = Unstorable()
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    with raises(CodecError):
        run_with_checkpoints(adapter, 4, checkpoint=tmp_path, on_checkpoint_error=on_error)
    assert trainer.steps == 0
    assert saved_in(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="nothing is locked there")
@pytest.mark.parametrize("on_error", ["stop", "warn"])
def test_two_processes_cannot_save_into_one_folder(on_error: Any, tmp_path: Path) -> None:
    with (
        held_by_another_process(tmp_path),
        raises(CheckpointError),
    ):
        run_with_checkpoints(fresh(), 4, checkpoint=tmp_path, on_checkpoint_error=on_error)
    assert run_with_checkpoints(fresh(), 4, checkpoint=tmp_path).epochs == 4


@pytest.mark.usefixtures("_fast_disk")
def test_a_journal_that_is_new_or_no_longer_wanted(tmp_path: Path) -> None:
    run_with_checkpoints(fresh(), 4, checkpoint=tmp_path / "a", journal=tmp_path / "journal")
    assert run_with_checkpoints(fresh(), 8, checkpoint=tmp_path / "a").epochs == 8
    run_with_checkpoints(fresh(), 12, checkpoint=tmp_path / "a", journal=tmp_path / "late")
    assert [round_.start for round_ in history_from_journal(tmp_path / "late")] == [8]
    journal = Journal(tmp_path / "journal")
    with raises(CheckpointError):
        run_with_checkpoints(adapter_of(mortal({}), {}, (journal,)), 16, checkpoint=tmp_path / "a")


@pytest.mark.usefixtures("_fast_disk")
def test_two_runs_of_one_process_cannot_save_into_one_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "saved")
    (tmp_path / "saved").mkdir()
    with checkpoints(tmp_path / "saved", fresh()) as adapter:
        with raises(CheckpointError):
            run_with_checkpoints(fresh(), 4, checkpoint=tmp_path / "link")
        adapter.run(4)
    assert run_with_checkpoints(fresh(), 8, checkpoint=tmp_path / "link").epochs == 8


class Undefined(NoisyQuadratic):
    """A trainer with a metric that is a nan of its own every time."""

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "auc": float("nan")}


def undefined(**settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Undefined(seed=1),
        {"lr": [0.01, 0.1]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=1,
        **settings,
    )


@pytest.mark.usefixtures("_fast_disk")
def test_equal_runs_are_equal_where_a_metric_is_nan(tmp_path: Path) -> None:
    expected = undefined(callbacks=[Journal(tmp_path / "journal")]).run(8)
    assert undefined().run(8) == expected
    assert history_from_journal(tmp_path / "journal") == expected
    seen: list[Any] = []

    def kill(event: Any) -> None:
        seen.append(event)
        if len(seen) == 7:  # at the second try of the second round
            raise Killed

    with pytest.raises(Killed):
        run_with_checkpoints(undefined(callbacks=[kill]), 8, checkpoint=tmp_path / "saved")
    assert list((tmp_path / "saved").glob("try-00000001-*"))
    assert resume(tmp_path / "saved", undefined()) == expected
    with Processes(Undefined, workers=1) as executor:
        assert undefined(executor=executor).run(8) == expected


@pytest.mark.parametrize("save", [checkpoints, resume])
def test_a_shadow_is_not_taken_for_its_adapter(save: Any, tmp_path: Path) -> None:
    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=2, try_for=1
    )
    with raises(SettingsError), ExitStack() as stack:
        saved = save(tmp_path, Shadow(adapter, criterion=lowest("loss")))
        stack.enter_context(saved)
