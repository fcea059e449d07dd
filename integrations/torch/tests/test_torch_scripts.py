"""Four ordinary scripts: at most six changed lines each, and a dry run is the script to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.packages import LOOPS, changed_lines, run_script, sources_of

SCRIPTS = ["characters_by_steps", "digits_sklearn", "fashion_onecycle", "gan"]

pytestmark = [
    pytest.mark.skipif(not LOOPS.exists(), reason="the examples are not installed with the wheel"),
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
]


def test_every_script_is_there_with_and_without() -> None:
    names = {f"{name}{end}.py" for name in SCRIPTS for end in ("", "_plain")}
    assert names <= {path.name for path in LOOPS.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_at_most_six_lines_change(name: str) -> None:
    assert 1 <= changed_lines(name) <= 6


def end_of(source: str, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the script saves, as plain numbers."""
    out = run_script(source, folder, monkeypatch)
    saved = np.load(out) if "sklearn" in name else torch.load(out)
    return {key: value.tolist() for key, value in saved.items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_dry_run_is_the_plain_script_to_the_bit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, dry, adapted = sources_of(name)
    wanted = end_of(plain, tmp_path, name, monkeypatch)
    said = [line for line in capsys.readouterr().out.splitlines() if "seconds" not in line]
    assert end_of(dry, tmp_path, name, monkeypatch) == wanted
    # A dry run trains the whole main line, and what stands under `if epoch.main` is done once.
    assert [line for line in capsys.readouterr().out.splitlines() if "seconds" not in line] == said
    assert end_of(adapted, tmp_path, name, monkeypatch) != wanted
