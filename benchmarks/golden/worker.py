"""Carry out golden runs with the version of dynhp that PYTHONPATH names."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from kinds import all_kinds, runs_of
from running import Run

import dynhp

PROCESSOR_SECONDS = 60
"""A run that takes more processor time than this hangs, and is ended."""


def main() -> None:
    """Write one line of JSON for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="the runs of these kinds")
    parser.add_argument("--list", action="store_true", help="list the kinds of runs, and no more")
    parser.add_argument(
        "--tree", type=Path, required=True, help="the version that must be imported"
    )
    parser.add_argument("--out", type=Path, default=Path(os.devnull))
    parser.add_argument("--names", nargs="*", help="these runs alone")
    arguments = parser.parse_args()
    imported = Path(dynhp.__file__).resolve()
    if not imported.is_relative_to(arguments.tree.resolve()):
        sys.exit(f"dynhp was imported from {imported}, not from {arguments.tree}")
    if arguments.list:
        print(*all_kinds())
        return
    with open(arguments.out, "w", encoding="utf-8") as out:
        for kind in arguments.kinds:
            for name, run in runs_of(kind):
                if arguments.names is None or name in arguments.names:
                    out.write(json.dumps({"name": name, "record": in_own_process(run)}) + "\n")


def in_own_process(run: Run) -> Any:
    """The record of a run that shares no hint, no generator and no folder with any other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        child = os.fork()
        if child == 0:
            _carry_out(run, folder)
        _, status = os.waitpid(child, 0)
        try:
            text = (folder / "record.json").read_text("utf-8")
        except FileNotFoundError:
            return {"broken": f"the process ended with status {status}"}
        return json.loads(re.sub(r" at 0x[0-9a-f]+", "", text.replace(str(folder), "FOLDER")))


def _carry_out(run: Run, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    own = folder / "run"
    own.mkdir()
    os.chdir(own)
    try:
        record: Any = run(own)
    except BaseException:
        record = {"broken": traceback.format_exc()[-2000:]}
    os.chdir(folder)
    (folder / "record.part").write_text(json.dumps(record), "utf-8")
    os.replace(folder / "record.part", folder / "record.json")
    shutil.rmtree(own, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
