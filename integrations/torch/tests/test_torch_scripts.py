"""Four ordinary scripts: at most six changed lines each, and a dry run is the script to the bit."""

from __future__ import annotations

import difflib
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

LOOPS = Path(__file__).resolve().parents[3] / "examples" / "loops"
SCRIPTS = ["characters_by_steps", "digits_sklearn", "fashion_onecycle", "gan"]

pytestmark = [
    pytest.mark.skipif(not LOOPS.exists(), reason="the examples are not installed with the wheel"),
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
]


def code_of(path: Path) -> list[str]:
    """The lines that do something: those after the docstring that are not empty."""
    return [line for line in path.read_text().splitlines()[1:] if line.strip()]


def test_every_script_is_there_with_and_without() -> None:
    names = {f"{name}{end}.py" for name in SCRIPTS for end in ("", "_plain")}
    assert names <= {path.name for path in LOOPS.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_at_most_six_lines_change(name: str) -> None:
    plain, wrapped = code_of(LOOPS / f"{name}_plain.py"), code_of(LOOPS / f"{name}.py")
    changed = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, plain, wrapped).get_opcodes():
        if tag != "equal":
            changed += max(i2 - i1, j2 - j1)
    assert 1 <= changed <= 6


def end_of(source: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the script saves, as plain numbers."""
    script, out = tmp_path / f"{name}.py", tmp_path / f"{name}.npz"
    script.write_text(source)
    monkeypatch.setattr(sys, "argv", [str(script), str(out)])
    runpy.run_path(str(script), run_name="__main__")
    if "sklearn" in name:
        return {key: value.tolist() for key, value in np.load(out).items()}
    return {key: value.tolist() for key, value in torch.load(out).items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_dry_run_is_the_plain_script_to_the_bit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrapped = (LOOPS / f"{name}.py").read_text()
    assert wrapped.count("adapt_every=") == 1
    dry = wrapped.replace("adapt_every=", "dry_run=True, adapt_every=")
    plain = (LOOPS / f"{name}_plain.py").read_text()
    wanted = end_of(plain, tmp_path, f"{name}_plain", monkeypatch)
    said = [line for line in capsys.readouterr().out.splitlines() if "seconds" not in line]
    assert end_of(dry, tmp_path, f"{name}_dry", monkeypatch) == wanted
    # A dry run trains the whole main line, and what stands under `if epoch.main` is done once.
    assert [line for line in capsys.readouterr().out.splitlines() if "seconds" not in line] == said
    assert end_of(wrapped, tmp_path, name, monkeypatch) != wanted
