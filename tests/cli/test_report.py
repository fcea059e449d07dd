"""``dynhp report``: what it finds, what it writes, what it refuses, and how it watches."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp.campaign import product, run_campaign
from dynhp.cli import report as command
from dynhp.cli.main import main
from dynhp.cli.report import sources_in
from dynhp.errors import CheckpointError, CodecError, DamagedFile, Hint, SettingsError
from dynhp.executors import Serial
from dynhp.report.page import ReportedCampaign, ReportedRun
from dynhp.storage import run_with_checkpoints
from dynhp.storage.codecs import decode, decoder, encode
from dynhp.storage.folder import read_saved
from dynhp.storage.journal import Journal
from dynhp.testing import NoisyQuadratic
from dynhp.testing.toys.quadratic import divided
from tests.support.messages import raises, warns
from tests.support.pages import data_of, run_on
from tests.support.resuming import adapter_of, journaled, mortal


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    return parser.parse_args(["report", *arguments])


def saved(folder: Path, epochs: int = 16) -> Any:
    adapter = adapter_of(mortal({}), {}, (Journal(folder / "run.jsonl"),))
    return run_with_checkpoints(adapter, epochs, checkpoint=folder / "saved")


def campaign(folder: Path) -> None:
    run_campaign(divided, product(a=[6], b=[3, 0]), folder=folder, executor=lambda make: Serial())


def test_a_journal_and_a_folder_of_checkpoints_give_the_same_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = saved(tmp_path)
    pages = {}
    for name in ("run.jsonl", "saved"):
        out = tmp_path / f"{name}.html"
        assert main(["report", str(tmp_path / name), "-o", str(out), "--title", "T"]) == 0
        pages[name] = run_on(out.read_text())
        assert capsys.readouterr().out == f"written: {out}\n"
    assert len(pages["run.jsonl"]["rounds"]["start"]) == len(history)
    names = {pages[name].pop("name") for name in pages}
    assert names == {"run", "saved"}
    assert pages["run.jsonl"] == pages["saved"]


def test_a_folder_of_runs_is_a_comparison(tmp_path: Path) -> None:
    for name in ("a", "b"):
        journaled(tmp_path / f"{name}.jsonl", {}, 8)
    saved(tmp_path / "c")
    campaign(tmp_path / "d")
    (tmp_path / "e").mkdir()
    (tmp_path / "notes.txt").write_text("nothing")
    shutil.move(tmp_path / "c" / "saved", tmp_path / "f")
    sources = sources_in(tmp_path)
    assert [each.name for each in sources] == ["a", "b", "d", "f"]
    kinds = [ReportedRun, ReportedRun, ReportedCampaign, ReportedRun]
    assert [type(each) for each in sources] == kinds
    out = tmp_path / "e" / "page.html"
    assert main(["report", str(tmp_path), str(tmp_path / "a.jsonl"), "-o", str(out)]) == 0
    runs = data_of(out.read_text())["runs"]
    assert [run["name"] for run in runs] == ["a", "b", "f", "a (2)"]
    assert "<h1>5 runs</h1>" in out.read_text()


def test_a_campaign_is_read_by_its_folder_or_its_file(tmp_path: Path) -> None:
    campaign(tmp_path / "c")
    for path in (tmp_path / "c", tmp_path / "c" / "results.jsonl"):
        (source,) = sources_in(path)
        assert isinstance(source, ReportedCampaign)
        assert [run.error is None for run in source.runs] == [True, False]
    (tmp_path / "c" / "results.jsonl").write_text("{}\n")
    with raises(DamagedFile):
        sources_in(tmp_path / "c")
    (tmp_path / "c" / "results.jsonl").write_text("")
    assert sources_in(tmp_path / "c")[0].runs == ()  # type: ignore[union-attr]


def forget_the_settings(journal: Path) -> None:
    """Make it a journal of a driver that knows no settings."""
    header, run, *rest = journal.read_bytes().splitlines(keepends=True)
    assert run.startswith(b'{"event":"run",')
    journal.write_bytes(b"".join([header, *rest]))


def test_what_a_journal_of_a_driver_without_settings_lacks_is_said(tmp_path: Path) -> None:
    saved(tmp_path)
    path = tmp_path / "run.jsonl"
    forget_the_settings(path)
    out = tmp_path / "page.html"
    assert main(["report", str(path), "-o", str(out)]) == 0
    page = out.read_text()
    assert "Not known here: the settings, the epochs that were planned, the versions" in page
    assert run_on(page)["rounds"]["start"] == [0, 4, 8, 12]


class StateWithASet(NoisyQuadratic):
    """Its state holds a set, which needs a codec."""

    def get_state(self) -> Any:
        return {"inner": super().get_state(), "kinds": {"a"}}

    def set_state(self, state: Any) -> None:
        super().set_state(state["inner"])


def test_a_checkpoint_is_read_without_the_package_of_its_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_of(StateWithASet(), {}, ())
    expected = run_with_checkpoints(adapter, 16, checkpoint=tmp_path / "saved")
    monkeypatch.setattr(decoder, "BY_NAME", {})
    (newest,) = sorted((tmp_path / "saved").glob("checkpoint-*.zip"))[-1:]
    with pytest.raises(CodecError):
        decode(newest.read_bytes())
    (folder,) = sources_in(tmp_path / "saved")
    assert isinstance(folder, ReportedRun)
    assert folder.settings["criterion"] == "lowest('loss')"
    assert folder.history == expected


def test_reading_a_folder_changes_nothing_in_it(tmp_path: Path) -> None:
    saved(tmp_path)
    newest = max((tmp_path / "saved").glob("checkpoint-*.zip"))
    newest.write_bytes(newest.read_bytes()[:100])
    before = {path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()}
    assert len(read_saved(tmp_path / "saved").history) == 3  # the one before is whole
    assert {path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()} == before
    for path in (tmp_path / "saved").glob("checkpoint-*.zip"):
        path.write_bytes(b"lost")
    with raises(CheckpointError):
        read_saved(tmp_path / "saved")


def test_a_state_that_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint-00000001.zip"
    path.write_bytes(encode({"something": "else"}))
    with raises(CheckpointError):
        sources_in(tmp_path)
    path.write_bytes(encode({"adapter": {"epochs": 3}, "history": {}}))
    with raises(CheckpointError):
        sources_in(tmp_path)


def test_what_cannot_be_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises(SettingsError):
        sources_in(tmp_path)
    (tmp_path / "other.txt").write_text("hello\n")
    with raises(DamagedFile):
        sources_in(tmp_path / "other.txt")

    def refuse(*_: object, **__: object) -> None:
        raise OSError("not allowed")

    campaign(tmp_path / "c")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        with raises(CheckpointError):
            sources_in(tmp_path / "c")
    monkeypatch.setattr("builtins.open", refuse)
    with raises(CheckpointError):
        sources_in(tmp_path / "other.txt")


def test_nothing_but_a_page_is_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, other = tmp_path / "run.jsonl", tmp_path / "other.jsonl"
    journaled(journal, {}, 8)
    journaled(other, {}, 8)
    before = journal.read_bytes(), other.read_bytes()
    for target in (journal, other, tmp_path):
        assert main(["report", str(journal), "-o", str(target)]) == 2
    assert (journal.read_bytes(), other.read_bytes()) == before
    assert "is there and is no page" in capsys.readouterr().err
    page = tmp_path / "page.html"
    page.touch()
    for _ in range(2):  # an empty file, and a page
        assert main(["report", str(journal), "-o", str(page)]) == 0
    assert main(["report", str(journal), "-o", str(page), "--every", "0"]) == 2
    for folder in (page, tmp_path / "no" / "such"):
        assert main(["report", str(journal), "-o", str(folder / "x.html")]) == 2
        assert f"-o must be in a folder that is there, got {folder}" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_a_page_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    journaled(tmp_path / "run.jsonl", {}, 8)
    monkeypatch.setattr(command, "write_html", full)
    assert main(["report", str(tmp_path / "run.jsonl"), "-o", str(tmp_path / "x.html")]) == 2
    assert "the page cannot be written: no space left" in capsys.readouterr().err


def test_watching_writes_what_is_new_and_ends_with_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(tmp_path / "whole.jsonl", {}, 16)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    path, out = tmp_path / "run.jsonl", tmp_path / "page.html"
    ends = [place for place, line in enumerate(lines) if b'"event":"round",' in line]
    path.write_bytes(b"".join(lines[: ends[0] + 1]))
    seen: list[Any] = []
    writes: list[Any] = []

    def sleep(seconds: float) -> None:
        page = out.read_text()
        seen.append((seconds, data_of(page)["reload"], len(run_on(page)["rounds"]["start"])))
        if len(seen) % 2 == 0:  # every second time there is something new
            path.write_bytes(b"".join(lines[: ends[len(seen) // 2] + 1]))

    write: Callable[..., None] = command.write_html
    monkeypatch.setattr(command, "write_html", lambda *a: (writes.append(a), write(*a)))
    monkeypatch.setattr(command.time, "sleep", sleep)
    arguments = parsed(str(path), "-o", str(out), "--watch", "--every", "3")
    assert command.run(arguments) == 0
    assert seen == [(3.0, 3.0, n) for n in (1, 1, 2, 2, 3, 3)]
    assert len(writes) == 4 + 1  # once for each that is new, and a last time
    assert data_of(out.read_text())["reload"] is None
    assert len(run_on(out.read_text())["rounds"]["start"]) == 4
    assert capsys.readouterr().out.endswith("all runs are over\n")


def test_watching_ends_with_ctrl_c_and_leaves_a_page_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "folder")
    forget_the_settings(tmp_path / "folder" / "run.jsonl")  # and with them when it is over
    out = tmp_path / "page.html"

    def stop(seconds: float) -> None:
        assert data_of(out.read_text())["reload"] == 5.0
        raise KeyboardInterrupt

    sources = str(tmp_path / "folder" / "run.jsonl"), str(tmp_path / "folder" / "saved")
    monkeypatch.setattr(command.time, "sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        command.run(parsed(*sources, "-o", str(out), "--watch"))
    assert data_of(out.read_text())["reload"] is None


@pytest.mark.parametrize("name", ["", "results.jsonl"])
def test_watching_a_campaign_ends_when_its_table_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(tmp_path / "c")
    ledger, table = tmp_path / "c" / "results.jsonl", tmp_path / "c" / "results.csv"
    whole, rows = ledger.read_bytes(), table.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    table.unlink()
    looks: list[int] = []

    def sleep(seconds: float) -> None:
        looks.append(len(sources_in(tmp_path / "c")[0].runs))  # type: ignore[union-attr]
        if len(looks) == 2:
            ledger.write_bytes(whole)  # the last run has ended
        if len(looks) == 3:
            table.write_bytes(rows)

    arguments = parsed(str(tmp_path / "c" / name), "-o", str(tmp_path / "page.html"), "--watch")
    monkeypatch.setattr(command.time, "sleep", sleep)
    assert command.run(arguments) == 0
    assert looks == [1, 1, 2]
    monkeypatch.setattr(command.time, "sleep", lambda seconds: pytest.fail("it is over"))
    assert command.run(arguments) == 0


def test_a_campaign_that_was_taken_up_again_is_not_over(tmp_path: Path) -> None:
    campaign(tmp_path)
    (source,) = sources_in(tmp_path)
    assert isinstance(source, ReportedCampaign)
    assert source.is_over
    later = (tmp_path / "results.csv").stat().st_mtime + 1
    os.utime(tmp_path / "results.jsonl", (later, later))  # a run has ended since
    (source,) = sources_in(tmp_path)
    assert isinstance(source, ReportedCampaign)
    assert not source.is_over


def test_watching_what_is_not_there_does_not_say_that_a_page_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "notyet.jsonl"), "-o", str(out), "--watch"]) == 2
    assert (capsys.readouterr().out, out.exists()) == ("", False)


def test_a_file_that_is_gone_when_it_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b").touch()
    assert [Path(name).name for name, *_ in command._stamps([tmp_path])] == ["b"]


def test_the_numbers_are_strict_json(tmp_path: Path) -> None:
    journaled(tmp_path / "run.jsonl", {"bad": {0.1}}, 8)
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "run.jsonl"), "-o", str(out)]) == 0
    assert json.dumps(data_of(out.read_text()), allow_nan=False)


def test_one_damaged_journal_does_not_stop_the_report_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the text names the file
    Path("runs").mkdir()
    journaled(Path("runs/a.jsonl"), {}, 8)
    lines = Path("runs/a.jsonl").read_bytes().splitlines(keepends=True)
    Path("runs/b.jsonl").write_bytes(b"".join([*lines[:3], b"damage\n", *lines[3:]]))
    with warns(Hint):
        [source] = sources_in(Path("runs"))
    assert source.name == "a"
    Path("runs/a.jsonl").unlink()
    with raises(CheckpointError):
        sources_in(Path("runs"))
