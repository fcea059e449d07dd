"""Files are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import CheckpointError
from dynhp.storage.files import locked, remove, write_atomically, write_texts
from tests.support.disks import ROOT

ENTER = """
import sys
from pathlib import Path
from dynhp.storage.files import locked
with locked(Path(sys.argv[1])):
    print("entered")
"""


def another_process_enters(folder: Path) -> str:
    """What comes of it when another process locks the folder."""
    done = subprocess.run(
        [sys.executable, "-c", ENTER, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="nothing is locked there")
def test_a_lock_outlives_other_descriptors_of_its_file(tmp_path: Path) -> None:
    with locked(tmp_path / "folder"):
        shutil.copytree(tmp_path / "folder", tmp_path / "backup")  # opens and closes the file
        with open(tmp_path / "folder" / "lock", "rb"):
            pass
        assert "CheckpointError: another process is using" in another_process_enters(
            tmp_path / "folder"
        )
    assert another_process_enters(tmp_path / "folder") == "entered\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_neither_holds_a_lock_nor_ends_it(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(tmp_path))
        wait, go = os.pipe()
        child = os.fork()
        if not child:
            os.close(go)
            os.read(wait, 1)  # until the parent has let go of the folder, and of this pipe
            os._exit(0)
        os.close(wait)
        assert "another process is using" in another_process_enters(tmp_path)
        stack.close()
        entered = another_process_enters(tmp_path)  # while the child is alive
        os.close(go)
        assert os.waitpid(child, 0)[1] == 0
    assert entered == "entered\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_cannot_enter_what_its_parent_has_locked(tmp_path: Path) -> None:
    with locked(tmp_path):
        child = os.fork()
        if not child:
            try:
                with locked(tmp_path):
                    os._exit(1)
            except CheckpointError as error:
                os._exit(0 if "another process is using" in str(error) else 2)
            finally:
                os._exit(3)
        assert os.waitpid(child, 0)[1] == 0
        assert "another process is using" in another_process_enters(tmp_path)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def broken(file: Any) -> None:
        file.write(b"half")
        raise ZeroDivisionError

    for durable in (True, False):
        assert write_atomically(path, lambda file: file.write(b"old"), durable=durable) == 3
        with pytest.raises(ZeroDivisionError):
            write_atomically(path, broken, durable=durable)
        assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    remove(tmp_path / "nothing")


def test_texts_appear_when_the_last_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new" / "deep"
    write_texts(folder, {"a": "first é\r\n", "b": "second"})
    assert (folder / "a").read_bytes() == "first é\r\n".encode()
    (tmp_path / "plain").touch()
    assert (folder / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode
    monkeypatch.setattr(Path, "write_bytes", fails_at(2, Path.write_bytes))
    with pytest.raises(OSError, match="No space left"):
        write_texts(folder, {"a": "third", "b": "fourth", "c": "fifth"})
    monkeypatch.undo()
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "a": "first é\n",
        "b": "second",
    }


def test_what_cannot_be_put_in_place_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", fails_at(2, os.replace))
    with pytest.raises(OSError, match="No space left"):
        write_texts(tmp_path, {"a": "first", "b": "second", "c": "third"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "first"}


def fails_at(number: int, function: Any) -> Any:
    """The function, which fails when it is called for so many times."""
    calls = 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            raise OSError(28, "No space left on device")
        return function(*arguments)

    return failing
