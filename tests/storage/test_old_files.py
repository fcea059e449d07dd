"""Files of before the modules moved to their folders are read, and their runs end bit for bit.

``scripts/make_format_fixtures.py`` made the files with the code of then, and their ends with it.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp.campaign import campaign_so_far, product, run_campaign
from dynhp.errors import CheckpointError, SettingsError
from dynhp.executors import Serial
from dynhp.planning.schedule import Schedule, replay, schedule_of
from dynhp.records import History
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.codecs import decode, encode
from dynhp.storage.journal import Journal
from dynhp.storage.journal_reader import history_from_journal, read_journal
from tests.support.killing import Killed
from tests.support.old_files import OLD, copied, digest, end_after, end_of, gone_on_with
from tests.support.old_runs import CASES, EPOCHS, KillIn, LoopRun, made
from tests.support.old_task import scored
from tests.support.resuming import without_times

ARCHIVES = [
    str(path.relative_to(OLD))
    for folder in ("runs", "loop", "journals")
    for path in sorted((OLD / folder).rglob("*.zip"))
]


pytestmark = pytest.mark.usefixtures("_fast_disk")


@pytest.fixture
def _global_generators() -> Iterator[None]:
    """Leave Python's and numpy's global generators as they were."""
    before = random.getstate(), np.random.get_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])


# Checkpoints


def test_there_is_a_folder_for_every_case_and_none_without() -> None:
    assert {path.name for path in (OLD / "runs").iterdir()} == set(CASES)
    assert len(ARCHIVES) > 50


@pytest.mark.parametrize("where", ["between", "middle"])
@pytest.mark.parametrize("name", CASES)
def test_an_old_checkpoint_is_gone_on_with_to_the_same_end(
    name: str, where: str, tmp_path: Path
) -> None:
    end = gone_on_with(f"runs/{name}", where, made(name), tmp_path)
    assert end == end_after(f"runs/{name}", where)


@pytest.mark.parametrize("name", CASES)
def test_tries_that_are_on_file_save_training_and_their_loss_does_not_change_the_end(
    name: str, tmp_path: Path
) -> None:
    folder = copied(f"runs/{name}/middle", tmp_path)
    for path in folder.glob("try-*.zip"):
        path.unlink()
    adapter, end = made(name), end_of(f"runs/{name}")
    trainer: Any = adapter.trainer
    assert without_times(resume(folder, adapter)) == end["history"]
    assert trainer.calls > end["calls"]["middle"]


@pytest.mark.parametrize("name", CASES)
def test_a_run_from_the_beginning_ends_as_it_did(name: str) -> None:
    adapter = made(name)
    end = end_of(f"runs/{name}")
    assert without_times(adapter.run(EPOCHS)) == end["history"]
    assert digest(adapter.trainer.get_state()) == end["state"]


@pytest.mark.parametrize("name", CASES)
def test_the_same_run_writes_the_same_files_today(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    adapter = made(name, [killer := KillIn(*case.get("dies", (2, 5)))])
    killer.trainer = adapter.trainer
    with pytest.raises(Killed):
        run_with_checkpoints(
            adapter, EPOCHS, checkpoint=tmp_path, every=case.get("every", 1), keep=1
        )
    assert timeless(tmp_path) == timeless(OLD / "runs" / name / "middle")


def timeless(folder: Path) -> dict[tuple[str, str], bytes]:
    """All members of a folder's archives, without times and the digests that follow from them."""
    members = {}
    for path in folder.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                untimed = re.sub(rb'("seconds": ?)[-+.e\d]+', rb"\1", archive.read(name))
                members[path.name, name] = re.sub(rb'("base":)"\w{64}"', rb"\1", untimed)
    return members


@pytest.mark.parametrize("path", ARCHIVES)
def test_an_old_archive_is_written_again_to_the_last_byte(path: str) -> None:
    data = (OLD / path).read_bytes()
    assert encode(decode(data)) == data


def test_an_old_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    folder = copied("runs/full_grid/between", tmp_path)
    with pytest.raises(SettingsError, match=r"criterion: saved lowest\('loss'\), here tests\."):
        resume(folder, made("own_criterion"))


def test_an_old_checkpoint_with_a_flipped_bit_is_put_aside(tmp_path: Path) -> None:
    folder = copied("runs/full_grid/between", tmp_path)
    (path,) = folder.glob("checkpoint-*.zip")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* can be used"):
        resume(folder, made("full_grid"))
    assert path.with_suffix(".damaged").exists()


@pytest.mark.usefixtures("_global_generators")
def test_an_old_loop_is_gone_on_with_to_the_same_end(tmp_path: Path) -> None:
    end, again = end_of("loop"), LoopRun()
    random.seed(99)  # the state of the global generators comes from the checkpoint
    np.random.seed(99)
    with checkpoints(copied("loop/middle", tmp_path), again.loop.adapter, resume="must"):
        assert again.loop.adapter.epoch == 8
        again()
    before = [replace(round_, stretch=()) for round_ in again.loop.history]  # it was not kept then
    assert without_times(History(tuple(before))) == end["history"]
    assert digest(again.loop.adapter.trainer.get_state()) == end["state"]
    over = 2 * (8 * 2 + 2)  # passes of the two rounds that were: eight tries, and the stretch
    assert again.passes == end["passes"] - over


# Adapters and schedules


@pytest.mark.parametrize("name", CASES)
def test_an_old_state_of_an_adapter_is_taken_back_and_goes_on_to_the_same_end(name: str) -> None:
    adapter, end = made(name), end_of(f"runs/{name}")
    saved = json.loads((OLD / "runs" / name / "adapter.json").read_text())
    adapter.load_state_dict(saved)
    assert json.loads(json.dumps(adapter.state_dict())) == saved
    (path,) = (OLD / "runs" / name / "between").glob("checkpoint-*.zip")
    adapter.trainer.set_state(decode(path.read_bytes())["trainer"])
    assert without_times(adapter.run(EPOCHS)) == end["history"]
    assert digest(adapter.trainer.get_state()) == end["state"]


@pytest.mark.parametrize("name", CASES)
def test_an_old_schedule_is_replayed_to_the_same_weights(name: str) -> None:
    text = (OLD / "runs" / name / "schedule.json").read_text()
    trainer = made(name).trainer
    history = replay(Schedule.from_json(text), trainer)
    assert digest(trainer.get_state()) == end_of(f"runs/{name}")["replayed"]
    assert schedule_of(history).to_json() + "\n" == text


# Journals


@pytest.mark.parametrize("name", ["whole", "resumed", "without_seconds"])
def test_an_old_journal_is_read(name: str) -> None:
    path = OLD / "journals" / f"{name}.jsonl"
    history = history_from_journal(path)
    assert without_times(history) == end_of("runs/racing")["history"]
    assert (history[0].seconds > 0) == (name != "without_seconds")
    assert not read_journal(path).torn


def test_an_old_journal_that_was_torn_is_read_up_to_there() -> None:
    journaled = read_journal(OLD / "journals" / "torn.jsonl")
    *before, last = end_of("runs/racing")["history"]
    assert without_times(journaled.history) == before
    assert sorted(each.candidate["lr"] for each in journaled.unfinished) == sorted(
        each["candidate"]["lr"] for each in last["tries"]
    )
    assert journaled.torn


def test_an_old_journal_is_gone_on_with_to_the_last_byte(tmp_path: Path) -> None:
    folder = copied("journals/broken_off", tmp_path)
    path = Path(shutil.copy(OLD / "journals" / "broken_off.jsonl", tmp_path))
    assert read_journal(path).torn
    resume(folder, made("racing", [Journal(path, seconds=False)]))
    assert path.read_bytes() == (OLD / "journals" / "without_seconds.jsonl").read_bytes()


def test_a_journal_of_today_is_an_old_one_but_for_the_line_on_the_run(tmp_path: Path) -> None:
    made("racing", [Journal(tmp_path / "new", seconds=False)]).run(EPOCHS)
    old = (OLD / "journals" / "without_seconds.jsonl").read_bytes()
    header, run, *rest = (tmp_path / "new").read_bytes().splitlines(keepends=True)
    assert run.startswith(b'{"event":"run",')
    assert b"".join([header, *rest]) == old


# Campaigns

TASKS: dict[str, Any] = {"plain": scored, "partial": partial(scored, scale=2.0)}
RUNS = product(method=["grid", "random"], seed=range(3))


@pytest.mark.parametrize("name", TASKS)
def test_an_old_ledger_is_gone_on_with_to_the_same_table(name: str, tmp_path: Path) -> None:
    folder = copied(f"campaign/{name}", tmp_path)
    before = (folder / "results.jsonl").read_bytes()
    whole = before[: before.rindex(b"\n") + 1]
    assert whole != before  # its last line is torn
    run_campaign(TASKS[name], RUNS, folder=folder, executor=lambda make: Serial())
    assert (folder / "results.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    after = (folder / "results.jsonl").read_bytes()
    assert after.startswith(whole)
    added = [json.loads(line) for line in after[len(whole) :].splitlines()]
    missing = [run for run in RUNS if run["method"] == "random" or run["seed"] == 1]
    assert [line["settings"] for line in added] == missing  # and what had failed


def test_a_ledger_of_today_is_an_old_one_but_for_times_and_places(tmp_path: Path) -> None:
    def lines(folder: Path) -> list[bytes]:
        data = (folder / "results.jsonl").read_bytes()
        data = re.sub(rb'("seconds":)[-+.e\d]+', rb"\1", data)
        return re.sub(rb"File [^,]+, line \d+", rb"", data).splitlines()

    run_campaign(scored, RUNS[:3], folder=tmp_path, executor=lambda make: Serial())
    *whole, torn = lines(OLD / "campaign" / "plain")
    assert lines(tmp_path) == whole
    assert torn


def test_an_old_ledger_is_read_while_it_is_left_alone(tmp_path: Path) -> None:
    folder = copied("campaign/plain", tmp_path)
    before = (folder / "results.jsonl").read_bytes()
    results = campaign_so_far(scored, RUNS, folder=folder)
    assert [run.settings["seed"] for run in results] == [0, 1, 2]
    assert results[0].result == scored(method="grid", seed=0)
    assert results.failed[0].error == (
        "ValueError: this one never works,\nnot even the second time"
    )
    assert (folder / "results.jsonl").read_bytes() == before


def test_an_old_ledger_of_another_task_is_refused(tmp_path: Path) -> None:
    folder = copied("campaign/partial", tmp_path)
    with pytest.raises(CheckpointError, match="is not of this campaign"):
        run_campaign(scored, RUNS, folder=folder, executor=lambda make: Serial())
