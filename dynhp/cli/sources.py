"""What can be reported, found on disk and only read: journals, checkpoints, campaigns, folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dynhp.campaign.ledger import is_tabulated, ledger_in
from dynhp.errors import CheckpointError, SettingsError
from dynhp.report.page import ReportedCampaign, ReportedRun, run_of
from dynhp.storage.folder import CheckpointFolder
from dynhp.storage.history_file import read_saved
from dynhp.storage.journal import read_journal

__all__ = ["Source", "sources_in"]

Source = ReportedRun | ReportedCampaign


def sources_in(path: Path) -> list[Source]:
    """All runs and campaigns at a path: a file is one, a folder one or what lies in it.

    >>> sources_in(Path("nowhere"))
    Traceback (most recent call last):
    ...
    dynhp.errors.SettingsError: there is nothing at 'nowhere'; give a journal, a folder of \
checkpoints, a campaign, or a folder in which some are
    """
    if path.is_file():
        return [_file(path)]
    sources = list(_folder(path)) if path.is_dir() else []
    if not sources:
        what = "no run to report in" if path.is_dir() else "nothing at"
        raise SettingsError(
            f"there is {what} {str(path)!r}; give a journal, a folder of checkpoints, a campaign, "
            "or a folder in which some are"
        )
    return sources


def _file(path: Path) -> Source:
    if path.name == "results.jsonl" or _begins(path, b'{"event":"campaign"'):
        over = is_tabulated(path)  # asked first: a run that ends meanwhile is not missed
        return ReportedCampaign(
            name=path.parent.name or path.name, runs=ledger_in(path), is_over=over
        )
    content = read_journal(path)
    return run_of(path.stem, content.history, about=content.about, unfinished=content.unfinished)


def _folder(path: Path) -> Iterator[Source]:
    """A folder of checkpoints or a campaign, else the journals and such folders inside."""
    if (path / "results.jsonl").is_file():
        yield _file(path / "results.jsonl")
        return
    if CheckpointFolder(path).numbers():
        yield _checkpoints(path)
        return
    for each in sorted(path.iterdir()):
        if each.is_file() and _begins(each, b'{"event":"journal"'):
            yield _file(each)
        elif each.is_dir() and CheckpointFolder(each).numbers():
            yield _checkpoints(each)
        elif each.is_dir() and (each / "results.jsonl").is_file():
            yield _file(each / "results.jsonl")


def _checkpoints(path: Path) -> ReportedRun:
    saved = read_saved(path)
    return run_of(path.name, saved.history, about=saved.about)


def _begins(path: Path, words: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(words)) == words
    except OSError as failure:
        raise CheckpointError(f"{str(path)!r} cannot be read: {failure}") from failure
