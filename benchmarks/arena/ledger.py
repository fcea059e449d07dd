"""The runs of earlier sittings, in one file that is committed and brought up to date."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dynhp.campaign.data import canonical
from dynhp.campaign.ledger import Ledger, ended_in
from dynhp.campaign.results import Finished
from dynhp.storage.codecs.json_text import json_line
from dynhp.storage.files import write_atomically

__all__ = ["NAME", "in_folder", "kept_runs", "save_runs", "take_over"]

NAME = "arena"
"""What the ledger calls the runs: never change it."""


def kept_runs(path: Path | None) -> dict[str, Finished]:
    """The runs of the committed file by the names of their settings; none without a file."""
    if path is None or not path.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "results.jsonl").write_bytes(gzip.decompress(path.read_bytes()))
        return _with_result(ended_in(Path(folder), NAME))


def in_folder(folder: Path) -> dict[str, Finished]:
    """The runs that ended in a folder, also while others go on there."""
    return ended_in(folder, NAME) if (folder / "results.jsonl").exists() else {}


def take_over(kept: Mapping[str, Finished], folder: Path) -> int:
    """Give a folder the runs that it has no result of, so that none is carried out again."""
    folder.mkdir(parents=True, exist_ok=True)
    with Ledger.opened(folder, NAME) as ledger:
        missing = [key for key in kept if key not in ledger.done()]
        for key in missing:
            ledger.add(key, kept[key])
    return len(missing)


def save_runs(folder: Path, path: Path) -> int:
    """Bring the committed file up to date with a folder; what failed is left out.

    The order is that of the settings, so that the file does not depend on what ended first.
    """
    runs = {**kept_runs(path), **_with_result(in_folder(folder))}
    lines = [json_line({"event": "campaign", "version": 1, "function": NAME})]
    for key in sorted(runs):
        run = runs[key]
        line = {"settings": run.settings, "result": run.result, "seconds": run.seconds}
        lines.append(json_line({"event": "run", **line}))
    data = gzip.compress(b"".join(lines), mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(data), durable=False)
    return len(runs)


def _with_result(runs: Mapping[str, Finished]) -> dict[str, Finished]:
    return {canonical(run.settings): run for run in runs.values() if run.error is None}
