"""The package as a whole: its laws, a helpful import, and the script that it is for."""

from __future__ import annotations

import difflib
import doctest
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import dynhp
import dynhp_torch
import dynhp_transformers
from dynhp.testing import check_trainer
from dynhp_transformers.example import example

LOOPS = Path(__file__).resolve().parents[3] / "examples" / "loops"


def test_the_laws_hold_for_a_training() -> None:
    check_trainer(*example(), epochs=1, another_process=False)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "sys.modules['transformers'] = None; import dynhp_transformers",
            "needs transformers with accelerate: pip install 'dynhp[transformers]'",
        ),
        (
            # transformers itself brings some where they are installed.
            "import transformers; from transformers import Trainer, PrinterCallback; "
            "import accelerate; before = set(sys.modules); import dynhp_transformers; "
            "raise SystemExit(str({name.partition('.')[0] for name in set(sys.modules) - before} "
            "- {'dynhp', 'dynhp_torch', 'dynhp_transformers'} - sys.stdlib_module_names))",
            "set()",
        ),
    ],
)
def test_the_import_says_what_to_install_and_brings_no_other_framework(
    code: str, words: str
) -> None:
    modules = (dynhp, dynhp_torch, dynhp_transformers)
    paths = [str(Path(module.__file__ or "").parent.parent) for module in modules]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert words in done.stderr


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_transformers.__all__:
        thing = getattr(dynhp_transformers, name)
        assert any(test.examples for test in finder.find(thing, name)), name


def lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines()[1:] if line.strip()]


def end_of(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script, out = tmp_path / "script.py", tmp_path / "weights.pt"
    script.write_text(source)
    monkeypatch.setattr(sys, "argv", [str(script), str(out)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    return {key: value.tolist() for key, value in torch.load(out).items()}


def final(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line; those before have times in them."""
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.skipif(not LOOPS.exists(), reason="the examples are not installed with the wheel")
def test_an_ordinary_script_changes_by_three_lines_and_a_dry_run_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, adapted = LOOPS / "transformers_trainer_plain.py", LOOPS / "transformers_trainer.py"
    matcher = difflib.SequenceMatcher(None, lines(plain), lines(adapted))
    changed = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    assert 1 <= sum(max(i2 - i1, j2 - j1) for _, i1, i2, j1, j2 in changed) <= 3
    wanted = end_of(plain.read_text(), tmp_path, monkeypatch)
    said = final(capsys)
    assert " 48 6.0" in said
    source = adapted.read_text()
    assert source.count("adapt_every=") == 1
    dry = source.replace("adapt_every=", "dry_run=True, adapt_every=")
    assert end_of(dry, tmp_path, monkeypatch) == wanted
    assert final(capsys) == said
    assert end_of(source, tmp_path, monkeypatch) != wanted
    assert " 48 6.0" in final(capsys)
