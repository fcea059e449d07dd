"""The package as a whole: its laws, a helpful import, and the script that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dynhp_transformers
from dynhp.testing import check_trainer
from dynhp_transformers.example import example
from tests.support.packages import (
    LOOPS,
    changed_lines,
    check_examples,
    check_says_what_to_install,
    frameworks_of,
    run_script,
    sources_of,
)


def test_the_laws_hold_for_a_training() -> None:
    check_trainer(*example(), epochs=1, another_process=False)


def test_without_transformers_the_import_says_what_to_install() -> None:
    line = (
        "dynhp_transformers needs transformers with accelerate: pip install 'dynhp[transformers]'"
    )
    check_says_what_to_install("dynhp_transformers", "transformers", line)


def test_it_brings_no_other_framework_than_its_own_does() -> None:
    after = (
        "import transformers; from transformers import Trainer, PrinterCallback; import accelerate"
    )
    assert frameworks_of("dynhp_transformers", after=after) == {"dynhp_transformers", "dynhp_torch"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_transformers)


def end_of(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    saved = torch.load(run_script(source, folder, monkeypatch))
    return {key: value.tolist() for key, value in saved.items()}


def final(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line; those before have times in them."""
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.skipif(not LOOPS.exists(), reason="the examples are not installed with the wheel")
def test_an_ordinary_script_changes_by_three_lines_and_a_dry_run_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 1 <= changed_lines("transformers_trainer") <= 3
    plain, dry, adapted = sources_of("transformers_trainer")
    wanted = end_of(plain, tmp_path, monkeypatch)
    said = final(capsys)
    assert " 48 6.0" in said
    assert end_of(dry, tmp_path, monkeypatch) == wanted
    assert final(capsys) == said
    assert end_of(adapted, tmp_path, monkeypatch) != wanted
    assert " 48 6.0" in final(capsys)
