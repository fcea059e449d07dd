"""The folder of a campaign: a line of JSON for each run that ended, appended at once, read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dynhp.campaign.data import canonical
from dynhp.campaign.results import Finished
from dynhp.errors import CheckpointError, DamagedFile
from dynhp.storage.codecs.json_text import json_line
from dynhp.storage.files import locked, write_atomically
from dynhp.storage.lines import AppendedFile, Lines, parsed, split_lines

__all__ = ["Ledger", "ended_in", "is_tabulated", "ledger_in"]


def ended_in(folder: Path, name: str) -> dict[str, Finished]:
    """Read the runs that ended, also of a campaign that goes on; nothing is written or locked."""
    path = folder / "results.jsonl"
    try:
        lines = split_lines(path.read_bytes())
    except OSError as failure:
        raise CheckpointError(
            f"there is no campaign that can be read in {str(folder)!r}: {failure}; choose the "
            "folder of one, or begin it with run_campaign"
        ) from failure
    _check_header(path, lines, _header(name))
    return _ended(path, lines.whole[1:])


def ledger_in(path: Path) -> tuple[Finished, ...]:
    """Read the runs of a ledger of whatever function; nothing is written or locked."""
    try:
        lines, _ = split_lines(path.read_bytes())
    except OSError as failure:
        raise CheckpointError(f"the campaign cannot be read: {failure}") from failure
    if lines and not lines[0].startswith(b'{"event":"campaign","version":1,'):
        raise DamagedFile(f"{str(path)!r} is no campaign: the first line of one says so")
    return tuple(_ended(path, lines[1:]).values())


def is_tabulated(path: Path) -> bool:
    """Whether the table of this ledger was written after its last run: then all have ended."""
    try:
        return path.with_name("results.csv").stat().st_mtime_ns >= path.stat().st_mtime_ns
    except OSError:  # there is no table yet
        return False


class Ledger:
    """The runs that ended, by the canonical names of their settings, each as it ended last."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._file = AppendedFile(folder / "results.jsonl", what="campaign")
        header = _header(name)
        lines = self._file.take_up_whole_lines()
        _check_header(self._file.path, lines, header)
        self.ended = _ended(self._file.path, lines.whole[1:])
        self._file.cut()
        if not lines.whole:
            self._append(header)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, name: str) -> Iterator[Ledger]:
        """Lock the folder of the campaign of this name, and cut off a last line that is torn."""
        with ExitStack() as stack:
            with _faults(folder):
                stack.enter_context(locked(folder))
                ledger = cls(folder, name)
            yield ledger

    def done(self) -> set[str]:
        """The names of the runs that have a result; those that failed are tried again."""
        return {key for key, run in self.ended.items() if run.error is None}

    def add(self, key: str, run: Finished) -> None:
        """Write down how a run ended, so that it survives whatever happens next."""
        line: dict[str, Any] = {"event": "run", "settings": run.settings}
        if run.error is None:
            line["result"] = run.result
        else:
            line |= {"error": run.error, "details": run.details}
        with _faults(self._folder):
            self._append(json_line({**line, "seconds": run.seconds}))
        self.ended[key] = run

    def tabulate(self, table: str) -> None:
        """Write the table of a campaign that is over."""
        data = table.encode("utf-8", "backslashreplace")  # an error may quote anything
        with _faults(self._folder):
            write_atomically(
                self._folder / "results.csv", lambda file: file.write(data), durable=True
            )

    def _append(self, line: bytes) -> None:
        self._file.wait_with([line])
        self._file.write()
        self._file.sync()


def _header(name: str) -> bytes:
    return json_line({"event": "campaign", "version": 1, "function": name})


def _check_header(path: Path, lines: Lines, header: bytes) -> None:
    """Refuse the file of another campaign; a kill may leave only a part of a new header."""
    first = lines.whole[0] if lines.whole else lines.torn
    if not (first.rstrip(b"\r") == header[:-1] if lines.whole else header.startswith(first)):
        raise CheckpointError(
            f"{str(path)!r} is not of this campaign: it should begin with "
            f"{header[:-1].decode()}, but begins with {first[:200].decode('ascii', 'replace')}; "
            "choose another folder, or give the name in it as name= if the function was moved"
        )


def _ended(path: Path, lines: Sequence[bytes]) -> dict[str, Finished]:
    way_out = "; remove the line to carry out its run again, or choose another folder"
    runs = parsed(lines, _run, path=path, what="a campaign", first=2, way_out=way_out)
    return {canonical(run.settings): run for run in runs}


def _run(line: Mapping[str, Any]) -> Finished:
    if line["event"] != "run":
        raise ValueError(f"the event {line['event']!r} is not known")
    failed = "result" not in line
    return Finished(
        settings=dict(line["settings"]),
        result=None if failed else dict(line["result"]),
        error=str(line["error"]) if failed else None,
        details=line["details"] if failed else None,
        seconds=float(line["seconds"]),
    )


@contextmanager
def _faults(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise CheckpointError(
            f"the campaign cannot write to {str(folder)!r}: {failure}. What was written is safe; "
            "make room or fix the folder, then go on with the same call"
        ) from failure
