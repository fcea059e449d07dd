"""A limit of processor time for each test, which a busy machine does not bring nearer.

A clock does not tell a hang from a busy machine. So a test that computes for ever is stopped when
it has used too much processor time, with a traceback; a process that it starts inherits the limit.
A test that waits for ever uses none: ``.ci/run`` ends it after hours, and shows where it waits.
"""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

SECONDS = 600
CLEANING_UP = 60
"""The seconds that fixtures have to clean up after a test that was stopped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the limit be changed."""
    parser.addoption(
        "--processor-seconds",
        type=int,
        default=SECONDS,
        help=f"the processor time that a test may use, in seconds (default: {SECONDS})",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Where a folder for traces is named, show in a file there where each thread is on SIGABRT.

    On standard error, those of several processes would be mixed.
    """
    if "DYNHP_TRACES" in os.environ:
        path = Path(os.environ["DYNHP_TRACES"]) / f"pytest-{os.getpid()}.txt"
        faulthandler.enable(file=os.open(path, os.O_WRONLY | os.O_CREAT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Limit the processor time of one test and its fixtures."""
    if resource is None:
        return (yield)
    seconds = item.config.getoption("--processor-seconds")

    def stop(number: int, frame: FrameType | None) -> None:
        _allow(CLEANING_UP)
        pytest.fail(f"used more than {seconds} s of processor time (--processor-seconds)")

    limits = resource.getrlimit(resource.RLIMIT_CPU)
    handler = signal.signal(signal.SIGXCPU, stop)
    _allow(seconds)
    try:
        return (yield)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, limits)
        signal.signal(signal.SIGXCPU, handler)


def _allow(seconds: int) -> None:
    """Limit this process to so many seconds from now on; one that it starts has no fewer."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    end = math.ceil(time.process_time()) + seconds
    if most != resource.RLIM_INFINITY:
        end = min(end, most)
    resource.setrlimit(resource.RLIMIT_CPU, (end, most))
