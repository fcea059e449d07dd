"""The machine and the versions a benchmark ran on, and a table of what it measured."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["ROOT", "Row", "machine", "table"]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure; without a limit it is for information only."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or nothing where there is no limit; what is not a number fails."""
        if self.limit is None:
            return ""
        return "PASS" if self.value <= self.limit else "FAIL"


def machine() -> str:
    """What every figure depends on."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{datetime.date.today().isoformat()} | {_processor()}, {os.cpu_count()} cores, load {load}"
        f" | {platform.system()} | Python {platform.python_version()} | numpy {np.__version__}"
    )


def table(rows: Sequence[Row]) -> str:
    """The rows under each other."""
    width = max(len(row.what) for row in rows)
    lines = []
    for row in rows:
        limit = "" if row.limit is None else f"<= {row.limit:g}"
        value = f"{row.value:8.2f} {row.unit:<6}"
        lines.append(f"{row.what:<{width}}  {value}  {limit:<8} {row.verdict:<4}  {row.note}")
    return "\n".join(line.rstrip() for line in lines)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
