"""How far a campaign is, and how long it will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from dynhp.records.text import duration

__all__ = ["CampaignProgress", "ProgressMeter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """How many runs are done, failed and wanted; the share of the work done; seconds left.

    Attributes:
        done: the runs that have a result.
        failed: the runs that failed.
        total: all runs that are wanted.
        share: the part of the work that is done, from 0 to 1, by the cost of the runs.
        left: about how many seconds are left, None if that is not known.

    >>> print(CampaignProgress(done=3, failed=1, total=12, share=0.25, left=5400.0))
    3 of 12 runs, 25 % of the work, 1 failed, about 1 h 30 min left
    """

    done: int
    failed: int
    total: int
    share: float
    left: float | None

    @property
    def percent(self) -> int:
        """The share in whole percent; 100 only when all is over."""
        return math.floor(100 * self.share + 1e-9)  # 0.29 is 29 %, though 100 * 0.29 is less

    @property
    def over(self) -> bool:
        """Whether every run has ended."""
        return self.done + self.failed == self.total

    def __str__(self) -> str:
        parts = [f"{self.done} of {self.total} runs", f"{self.percent} % of the work"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.left:
            parts.append(f"about {duration(self.left)} left")
        return ", ".join(parts)


class ProgressMeter:
    """Counts the runs that end, and reports how far the campaign is.

    Args:
        costs: what each run costs, compared with the others.
        done: the runs that have a result already.
        report: what is called with the progress, if anything.
    """

    def __init__(
        self,
        costs: Mapping[str, float],
        done: Set[str],
        report: Callable[[CampaignProgress], None] | None,
    ) -> None:
        self._costs = costs
        self._report = report
        self._done = len(costs.keys() & done)
        self._failed = 0
        self._total = math.fsum(costs.values())
        self._before = self._now = math.fsum(costs[key] for key in costs.keys() & done)
        self._began = time.monotonic()

    def report(self) -> None:
        """Report how far it is."""
        if self._report is not None:
            self._report(self._progress())

    def ended(self, key: str, *, failed: bool) -> None:
        """Count a run, and report."""
        if failed:
            self._failed += 1
        else:
            self._done += 1
        self._now += self._costs[key]
        self.report()

    def _progress(self) -> CampaignProgress:
        over = self._done + self._failed == len(self._costs)
        spent = time.monotonic() - self._began
        worked = self._now - self._before
        left = 0.0 if over else self._total - self._now  # sums of floats are only nearly equal
        return CampaignProgress(
            done=self._done,
            failed=self._failed,
            total=len(self._costs),
            share=1.0 if over else self._now / self._total,
            left=spent * left / worked if worked else None,
        )
