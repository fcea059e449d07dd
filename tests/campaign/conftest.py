"""What several tests of campaigns need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which runs leave a line each."""
    path = tmp_path / "notes"
    monkeypatch.setenv("CAMPAIGN_NOTES", str(path))
    return path
