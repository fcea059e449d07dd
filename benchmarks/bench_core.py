"""The weight of the core: overhead, memory, import time and size, each with its limit.

Run as ``python benchmarks/bench_core.py``; with ``--base REVISION``, times of this version beside
those of that one. The exit code is 1 where a limit is not kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _copies
import _display
import _long_runs
import _overhead
import _side_by_side
import _weight
from _facts import Row, machine, table


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether all limits are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", help="the revision to compare with")
    parser.add_argument(
        "--rounds", type=int, default=10_000, help="with --base: of the longest runs"
    )
    options = parser.parse_args(given)
    print(machine(), flush=True)
    rows: list[Row] | list[_side_by_side.BothVersions]
    if options.base is None:
        rows = [
            *_overhead.rows(),
            *_display.rows(),
            *_long_runs.rows(),
            *_copies.rows(),
            *_weight.rows(),
        ]
        print(table(rows))
    else:
        rows = list(_side_by_side.compare(options.base, rounds=options.rounds))
        print(_side_by_side.pair_table(options.base, rows))
    failed = [row.what for row in rows if row.verdict == "FAIL"]
    print(f"{len(failed)} FAIL: {', '.join(failed)}" if failed else "all limits kept")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
