"""What became of mutants in earlier runs: a file of JSON lines, one for each that was judged.

A run over all mutants takes long. With this file, one that was interrupted goes on where it was: a
fate is believed where code, tests and tools are the same to the last byte. Where something has
changed, every mutant is judged again, but the test that noticed it before is asked first, so that
most cost one short test.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple


class Fate(NamedTuple):
    """What became of a mutant, and the test that noticed it."""

    fate: str
    test: str


class Fates:
    """The fates that are known; without a file they are forgotten at the end.

    >>> fates = Fates(None, code="1")
    >>> fates.add("a.x_f__mutmut_1", "-1 +2", Fate("killed", "test_a"))
    >>> fates.known, fates.noticed_by
    ({'a.x_f__mutmut_1': Fate(fate='killed', test='test_a')}, {'-1 +2': 'test_a'})
    """

    def __init__(self, path: Path | None, code: str) -> None:
        self.path = path
        self.code = code
        self.known: dict[str, Fate] = {}  # of this code, by the mutant's name
        self.noticed_by: dict[str, str] = {}  # of any code, by the change
        text = path.read_text("utf-8") if path is not None and path.exists() else ""
        for line in text.splitlines():
            try:
                code, name, change, fate, test = json.loads(line)
            except ValueError:
                continue  # cut off where a run was ended: it is judged again
            self._take(code, name, change, Fate(fate, test))
        if path is not None and not text.endswith("\n"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n" * bool(text), "utf-8")

    def add(self, name: str, change: str, fate: Fate) -> None:
        """Remember a fate, also where this run is ended right after."""
        self._take(self.code, name, change, fate)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self.code, name, change, *fate]) + "\n")

    def _take(self, code: str, name: str, change: str, fate: Fate) -> None:
        if code == self.code:
            self.known[name] = fate
        if fate.test:
            self.noticed_by[change] = fate.test


def code_of(root: Path) -> str:
    """One text for all that decides a mutant's fate; another where one byte of it is."""
    tools = [f"python {sys.version}", f"mutmut {version('mutmut')}", f"pytest {version('pytest')}"]
    digest = hashlib.sha256("\n".join(tools).encode())
    here = Path(__file__).parent
    files = [root / "pyproject.toml", here / "mutants.py", here / "mutant_tests.py"]
    for folder in ("dynhp", "tests"):
        inside = sorted((root / folder).rglob("*"))
        files += [path for path in inside if path.is_file() and path.parent.name != "__pycache__"]
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.name} {path.parent.name} {content}\n".encode())
    return digest.hexdigest()[:16]
