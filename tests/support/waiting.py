"""Waiting without a limit of time: on a busy machine, everything may take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds. Where it never does, ``.ci/run`` shows this line."""
    while not condition():
        time.sleep(0.02)


def hang() -> NoReturn:
    """Never return."""
    while True:
        time.sleep(3600)
