"""What all tests of the core share: steady examples of Hypothesis, and the texts of messages."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable

import pytest

import tests.support.examples  # noqa: F401  (also where the conftest.py of the root is not there)
from dynhp import frameworks
from dynhp.frameworks import Integration
from tests.support.ids import pytest_make_parametrize_id  # noqa: F401  (these are hooks)
from tests.support.messages import pytest_runtest_setup  # noqa: F401

# A distribution of its own, whose tests run where it is installed: see tests/cli.
collect_ignore = ["fixtures/third_party_plugin"]


@pytest.fixture
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock that measures durations go on by a second each time that it is read."""
    monkeypatch.setattr(time, "perf_counter", itertools.count(0.0).__next__)


@pytest.fixture
def hurrying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let that clock go on by more each time, so that nothing takes as long as anything else."""
    clock = itertools.accumulate(itertools.count(0.0))
    monkeypatch.setattr(time, "perf_counter", clock.__next__)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Callable[[Integration], None]:
    """Registers integrations for one test, in which no other is known, installed or not."""
    monkeypatch.setattr(frameworks, "_registered", {})
    monkeypatch.setattr(frameworks, "_loop_owners", set())
    monkeypatch.setattr(frameworks, "_attempted", set())
    monkeypatch.setattr(frameworks, "_declared", lambda: ())
    return frameworks.register_integration
