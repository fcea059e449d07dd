"""What several tests of storage need."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(params=["inside", "mixed", "in the file"])
def _rounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the rounds inside the checkpoints as in short runs, or in their file as in long ones."""
    most = {"inside": 32 << 10, "mixed": 2000, "in the file": 0}[request.param]
    monkeypatch.setattr("dynhp.storage.history_file.MOST_INSIDE", most)
