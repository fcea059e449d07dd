"""What a campaign costs by itself: the time per run where a run does nothing."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time

from _facts import Row, machine, table

from dynhp.campaign import product, run_campaign

WORKERS = 2


def main() -> int:
    """Time campaigns of empty runs and print what each run takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    arguments = parser.parse_args()
    print(machine())
    times = [seconds(arguments.runs) for _ in range(3)]
    first, each = (statistics.median(column) for column in zip(*times, strict=True))
    note = f"{WORKERS} workers, median of 3 campaigns of {arguments.runs} runs"
    rows = [
        Row("until the first result", first * 1e3, "ms", None, "two processes start"),
        Row("per run, each made safe on disk", each * 1e3, "ms", None, note),
    ]
    print(table(rows))
    return 0


def seconds(runs: int) -> tuple[float, float]:
    """The time until the first result is written, and from there on per run."""
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        run_campaign(
            dict,  # gives its settings back
            product(seed=range(runs)),
            folder=folder,
            workers=WORKERS,
            progress=lambda progress: ends.append(time.perf_counter()),
        )
    return ends[1] - ends[0], (ends[-1] - ends[1]) / (runs - 1)


if __name__ == "__main__":
    sys.exit(main())
