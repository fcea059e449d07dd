"""The package as a whole: its laws, a helpful import, and the script that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dynhp_lightning
from dynhp.testing import check_trainer
from dynhp_lightning.example import example
from tests.support.packages import (
    LOOPS,
    changed_lines,
    check_examples,
    check_says_what_to_install,
    frameworks_of,
    run_script,
    sources_of,
)


def test_the_laws_hold_for_a_fit() -> None:
    check_trainer(*example(), epochs=1, another_process=False)


def test_without_lightning_the_import_says_what_to_install() -> None:
    line = "dynhp_lightning needs Lightning: pip install 'dynhp[lightning]'"
    check_says_what_to_install("dynhp_lightning", "lightning", line)


def test_it_brings_no_other_framework_than_its_own_does() -> None:
    after = "import lightning.pytorch"
    assert frameworks_of("dynhp_lightning", after=after) == {"dynhp_lightning", "dynhp_torch"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_lightning)


def end_of(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    saved = torch.load(run_script(source, folder, monkeypatch))
    return {key: value.tolist() for key, value in saved.items()}


@pytest.mark.skipif(not LOOPS.exists(), reason="the examples are not installed with the wheel")
def test_an_ordinary_script_changes_by_three_lines_and_a_dry_run_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 1 <= changed_lines("lightning_fit") <= 3
    plain, dry, adapted = sources_of("lightning_fit")
    wanted = end_of(plain, tmp_path, monkeypatch)
    said = capsys.readouterr().out
    assert "epoch 12 step 288" in said
    assert end_of(dry, tmp_path, monkeypatch) == wanted
    assert capsys.readouterr().out == said
    assert end_of(adapted, tmp_path, monkeypatch) != wanted
    assert "epoch 12 step 288" in capsys.readouterr().out
