"""The table of a campaign."""

from __future__ import annotations

import csv
from typing import Any

from dynhp.campaign.results import CampaignResults, Finished


def run(result: Any, error: str | None = None, **settings: Any) -> Finished:
    return Finished(settings=settings, result=result, error=error)


def test_the_table() -> None:
    results = CampaignResults(
        (
            run({"auc": 0.1, "curve": [1]}, seed=0, adapts=["a", "b"]),
            run(None, 'ValueError: no, "no"\r\nat all\r', seed=1),
            run({"auc": None, "by": {}, "late": True}, seed=2, extra=1e-30),
        )
    )
    assert results.csv() == (
        "seed,adapts,extra,auc,late,error\n"
        '0,"[""a"", ""b""]",,0.1,,\n'
        '1,,,,,"ValueError: no, ""no""\r\nat all\r"\n'
        "2,,1e-30,,True,\n"
    )
    read = list(csv.DictReader(results.csv().splitlines(keepends=True)))
    assert [row["error"] for row in read] == ["", results[1].error, ""]
    assert results.failed == (results[1],)
    assert (results[1:], len(results)) == (results.runs[1:], 3)
    assert results.rows()[2] == {
        "seed": 2,
        "extra": 1e-30,
        "auc": None,
        "by": {},
        "late": True,
        "error": None,
    }


def test_results_that_are_called_like_settings() -> None:
    results = CampaignResults(
        (
            run({"schedule": [1, 2], "error": 0.25}, seed=0, schedule="constant"),
            run({"schedule": 3, "error": 0.5}, seed=1),
        )
    )
    assert results.rows()[1] == {
        "seed": 1,
        "result.schedule": 3,
        "result.error": 0.5,
        "error": None,
    }
    assert results.csv() == (
        'seed,schedule,result.error,result.schedule,error\n0,constant,0.25,"[1, 2]",\n1,,0.5,3,\n'
    )
