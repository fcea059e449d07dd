"""Files are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dynhp.storage.files import remove, write_atomically, write_texts


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
