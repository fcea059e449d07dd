"""How far a campaign is: never back, all of it in the end, with an estimate of the time left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from dynhp.campaign import run_campaign
from dynhp.campaign.progress import CampaignProgress, ProgressMeter
from dynhp.records.text import duration
from tests.support.campaigning import picky, serial


def reports(folder: Path, runs: Any, **more: Any) -> list[CampaignProgress]:
    seen: list[CampaignProgress] = []
    run_campaign(picky, runs, folder=folder, executor=serial, progress=seen.append, **more)
    return seen


def test_progress_never_goes_back_and_ends_at_all(tmp_path: Path) -> None:
    runs = [{"seed": seed, "bad": seed == 4} for seed in range(10)]
    seen = reports(tmp_path, runs, cost=lambda run: 0.1 * (1 + run["seed"]))
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [progress.done + progress.failed for progress in seen] == list(range(11))
    assert shares[1] == pytest.approx(10 / 55)  # the longest comes first
    assert seen[0] == CampaignProgress(done=0, failed=0, total=10, share=0.0, left=None)
    assert (seen[-1].done, seen[-1].failed, seen[-1].left) == (9, 1, 0.0)
    assert [progress.over for progress in seen] == [False] * 10 + [True]
    assert all(progress.left is not None for progress in seen[1:-1])


def test_what_is_done_counts_and_what_failed_does_not(tmp_path: Path) -> None:
    runs = [{"seed": seed, "bad": seed == 1} for seed in range(4)]
    reports(tmp_path, runs[:2])
    seen = reports(tmp_path, runs)
    assert [(each.done, each.failed) for each in seen] == [(1, 0), (1, 1), (2, 1), (3, 1)]
    assert [each.share for each in seen] == [0.25, 0.5, 0.75, 1.0]
    assert seen[0].left is None
    reports(tmp_path, runs[2:3])
    (only,) = reports(tmp_path, runs[2:3])
    assert (only.share, only.left, only.done, only.over) == (1.0, None, 1, True)


def test_nothing_to_do_is_all_done(tmp_path: Path) -> None:
    (only,) = reports(tmp_path, [])
    assert (only.share, only.total, only.over) == (1.0, 0, True)


def test_the_time_left_follows_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    seen: list[CampaignProgress] = []
    meter = ProgressMeter(
        {"long": 6.0, "short": 2.0, "before": 2.0}, {"before", "foreign"}, seen.append
    )
    now = 160.0
    meter.ended("long", failed=False)
    now = 180.0
    meter.ended("short", failed=True)
    assert [(each.share, each.left) for each in seen] == [(0.8, 20.0), (1.0, 0.0)]
    ProgressMeter({"a": 1.0}, set(), None).ended("a", failed=False)  # nothing is called


def test_the_end_is_all_whatever_the_sums_are() -> None:
    costs = {str(place): 0.1 for place in range(10)}
    seen: list[CampaignProgress] = []
    meter = ProgressMeter(costs, set(), seen.append)
    for key in costs:
        meter.ended(key, failed=False)
    assert (seen[-1].share, seen[-1].left) == (1.0, 0.0)
    assert seen[-2].percent == 90


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (90061, "25 h 1 min"),
    ],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def progress(
    done: int, failed: int = 0, total: int = 100, left: float | None = None
) -> CampaignProgress:
    return CampaignProgress(
        done=done, failed=failed, total=total, share=(done + failed) / total, left=left
    )


def test_progress_in_words() -> None:
    assert str(progress(29)) == "29 of 100 runs, 29 % of the work"
    assert str(progress(3, 2, left=61.0)).endswith(
        "5 % of the work, 2 failed, about 1 min 1 s left"
    )
    assert [progress(done).percent for done in range(101)] == list(range(101))
    assert progress(999_999, total=1_000_000).percent == 99
