"""The examples run as they stand."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn", reason="the example trains on scikit-learn's digits")
    monkeypatch.setattr(sys, "argv", ["digits.py", "--epochs", "10", "--out", str(tmp_path)])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    runpy.run_path(str(EXAMPLES / "digits.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for expected in (
        "Plan: at least 10 epochs",
        "learning_rate",
        "weight_decay",
        "Cost: 10 epochs",
    ):
        assert expected in printed
    assert (tmp_path / "digits.html").read_text().startswith("<!doctype html>")
