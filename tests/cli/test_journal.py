"""``dynhp journal``: the table and the JSON that it prints."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

import pytest

from dynhp.cli import journal as command
from dynhp.cli.main import main
from dynhp.errors import CheckpointError
from dynhp.storage.codecs.json_text import json_line
from tests.support.messages import raises
from tests.support.resuming import journaled


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    parsed = parser.parse_args(["journal", *arguments])
    assert parsed.func(parsed) == 0
    return capsys.readouterr().out


def test_the_command_shows_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal"
    history = journaled(path, {"bad": {0.1}}, 8)
    first_try = path.read_bytes().splitlines(keepends=True)[3]
    with open(path, "ab") as file:
        file.write(json_line({"event": "round_started", "round": 2, "start": 8, "epochs": 4}))
        file.write(first_try + b'{"torn')
    headings, first, second, unfinished, torn = shown(capsys, str(path)).splitlines()
    assert headings.split() == list(command.HEADINGS)
    assert first.split()[:3] == ["0", "0-4", f"lr={history[0].candidate['lr']}"]
    assert "4 (1 failed)" in first
    assert history[1].reason in second
    assert unfinished == "A round is not finished; tried so far: lr=0.03."
    assert torn == "The last line is torn."


def test_the_command_gives_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = journaled(tmp_path / "journal", {"bad": {0.03}}, 4)
    rounds = json.loads(shown(capsys, str(tmp_path / "journal"), "--json"))
    assert [round_["chosen"] for round_ in rounds] == [history[0].chosen]
    assert " -  " in shown(capsys, str(tmp_path / "journal"))  # no gain over what failed


def test_what_a_terminal_would_obey_is_written_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "journal"
    journaled(path, {}, 4)
    evil = r"\u001b]0;title\u0007\u001b[2J\n9  0-4  lr=1 \u009b31m\u202e"
    path.write_text(re.sub(r'"reason":"[^"]*"', lambda _: f'"reason":"{evil}"', path.read_text()))
    printed = shown(capsys, str(path))
    assert r"\x1b]0;title\x07\x1b[2J\n9  0-4  lr=1 \x9b31m\u202e" in printed
    assert all(each.isprintable() or each == "\n" for each in printed)
    assert len(printed.splitlines()) == 2


def test_a_reader_that_has_seen_enough_gets_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    journaled(tmp_path / "journal", {}, 4)
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["journal", "--json", str(tmp_path / "journal")]) == 141
        output.write("what comes later goes nowhere")
    assert capfd.readouterr().err == ""


def test_a_stream_is_no_journal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for stream in ("/dev/zero", str(tmp_path / "fifo")):
        with raises(CheckpointError):
            command.run(argparse.Namespace(file=stream, json=False))
