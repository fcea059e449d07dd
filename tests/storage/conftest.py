"""What several tests of storage need."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
