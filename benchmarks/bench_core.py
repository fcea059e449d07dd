"""The weight of the core: overhead, memory, import time and size, each with its limit.

Run as ``python benchmarks/bench_core.py``; the exit code is 1 where a limit is not kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _copies
import _display
import _long_runs
import _overhead
import _weight
from _facts import machine, table


def main() -> int:
    """Measure, print, and say whether all limits are kept."""
    print(machine(), flush=True)
    rows = [
        *_overhead.rows(),
        *_display.rows(),
        *_long_runs.rows(),
        *_copies.rows(),
        *_weight.rows(),
    ]
    print(table(rows))
    failed = [row.what for row in rows if row.verdict == "FAIL"]
    print(f"{len(failed)} FAIL: {', '.join(failed)}" if failed else "all limits kept")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
