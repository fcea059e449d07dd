"""The golden runs by kind; each has a name that stays the same from version to version."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from running import Run

MODULES = (
    "tries",
    "lines",
    "judged",
    "settings",
    "interrupted",
    "resumed",
    "loops",
    "wrapped",
    "defects",
    "torch_loops",
)


def all_kinds() -> dict[str, str]:
    """Each kind, and the module that makes its runs."""
    kinds: dict[str, str] = {}
    for module in MODULES:
        for kind in importlib.import_module(f"kinds.{module}").KINDS:
            kinds[kind] = module
    return kinds


def runs_of(kind: str) -> Iterator[tuple[str, Run]]:
    """The runs of a kind and their names, always in the same order."""
    module = importlib.import_module(f"kinds.{all_kinds()[kind]}")
    for name, run in module.KINDS[kind]():
        yield f"{kind}/{name}", run
