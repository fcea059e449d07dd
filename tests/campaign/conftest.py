"""What several tests of campaigns need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which runs leave a line each."""
    path = tmp_path / "notes"
    monkeypatch.setenv("CAMPAIGN_NOTES", str(path))
    return path


@pytest.fixture
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
