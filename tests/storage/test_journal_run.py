"""The line of a journal on the run itself: its settings, its plan, versions and the command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp.errors import DamagedFile
from dynhp.frameworks import Integration
from dynhp.records import RoundStarted
from dynhp.storage import run_with_checkpoints
from dynhp.storage.codecs.json_text import json_line
from dynhp.storage.journal import Journal, read_journal
from tests.support.messages import raises
from tests.support.resuming import adapter_of, journaled, lines_of, mortal


def runs_in(path: Path) -> list[dict[str, Any]]:
    return [line for line in lines_of(path) if line["event"] == "run"]


def test_it_has_what_is_needed_to_repeat_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Callable[[Integration], None]
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "train.py", "--rate", "a b"])
    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(__version__="1.2"))
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace())
    registry(Integration(package="dynhp_acme", frameworks=("acme", "other")))
    journaled(tmp_path / "journal", {}, 8)
    about = read_journal(tmp_path / "journal").about
    assert about["epochs"] == 8
    assert about["command"] == "python3 train.py --rate 'a b'"
    assert about["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert about["versions"]["acme"] == "1.2"
    assert about["versions"]["other"] == "unknown"
    settings = about["settings"]
    assert settings["space"].startswith("Space(lr=Ordered(")
    assert (settings["adapt_every"], settings["try_for"]) == ("4", "2")


def test_without_seconds_it_has_no_command(tmp_path: Path) -> None:
    journaled(tmp_path / "journal", {}, 8, seconds=False)
    assert read_journal(tmp_path / "journal").about["command"] is None


def test_it_comes_once_and_again_where_the_plan_is_another(tmp_path: Path) -> None:
    def until(epochs: int) -> None:
        adapter = adapter_of(mortal({}), {}, (Journal(tmp_path / "journal"),))
        run_with_checkpoints(adapter, epochs, checkpoint=tmp_path / "saved")

    until(8)
    assert [run["epochs"] for run in runs_in(tmp_path / "journal")] == [8]
    until(16)
    until(16)
    assert [run["epochs"] for run in runs_in(tmp_path / "journal")] == [8, 16]
    assert read_journal(tmp_path / "journal").about["epochs"] == 16


def test_a_driver_that_tells_no_settings_gets_no_line(tmp_path: Path) -> None:
    Journal(tmp_path / "journal")(RoundStarted(index=0, start=0, epochs=4, planned=4))
    assert runs_in(tmp_path / "journal") == []
    assert read_journal(tmp_path / "journal").about == {}


GOOD: dict[str, Any] = {"event": "run", "epochs": 4, "settings": {}, "versions": {}, "command": ""}


@pytest.mark.parametrize(
    "bad", [{"settings": []}, {"versions": {"a": 1}}, {"epochs": 4.5}, {"command": 3}]
)
def test_a_line_that_no_journal_has_is_refused(bad: dict[str, Any], tmp_path: Path) -> None:
    for line, fits in ((GOOD, True), (GOOD | bad, False)):
        (tmp_path / "journal").write_bytes(
            json_line({"event": "journal", "version": 1}) + json_line(line)
        )
        if fits:
            assert read_journal(tmp_path / "journal").about["epochs"] == 4
        else:
            with raises(DamagedFile):
                read_journal(tmp_path / "journal")
