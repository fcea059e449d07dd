"""How long a page of a report takes and how large it is, for journals of 500 and 5,000 rounds.

The limits are on the time of the processor, which other work on the machine does not change much.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from dynhp import DynamicGridAdapter, Float
from dynhp.storage import Journal
from dynhp.testing import NoisyQuadratic

LIMITS = {500: (3.0, 2e6), 5000: (15.0, 5e6)}
"""The most seconds and bytes, by rounds."""


class ThreeMetrics(NoisyQuadratic):
    """A trainer that measures as much as most do."""

    def metrics(self) -> dict[str, float]:
        """The loss, and what could be another one and a score."""
        loss = super().metrics()["loss"]
        return {"loss": loss, "train_loss": 1.1 * loss, "score": 1 / (1 + loss)}


def _worked() -> float:
    """The seconds of processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print a line for each size; 1 where a limit is passed."""
    warnings.simplefilter("ignore")
    failed = False
    for rounds, (seconds, size) in LIMITS.items():
        with tempfile.TemporaryDirectory() as folder:
            journal, page = Path(folder, "run.jsonl"), Path(folder, "page.html")
            DynamicGridAdapter(
                ThreeMetrics(noise=0.5, seed=3),
                {"lr": Float(0.001, 1.0, log=True, points=9)},
                minimize="loss",
                adapt_every=10,
                try_for=2,
                check="off",
                callbacks=[Journal(journal)],
            ).run(10 * rounds)
            began, worked = time.perf_counter(), _worked()
            command = [sys.executable, "-m", "dynhp", "report", str(journal), "-o", str(page)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            took, written = time.perf_counter() - began, page.stat().st_size
            worked = _worked() - worked
        good = worked <= seconds and written <= size
        failed |= not good
        print(
            f"{rounds} rounds of 9 tries: {worked:.1f} s of processor time (limit {seconds:g}; "
            f"{took:.1f} s in all), "
            f"{written / 1e6:.2f} MB (limit {size / 1e6:g}): {'ok' if good else 'FAIL'}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
