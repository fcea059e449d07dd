"""What a job says of itself."""

from __future__ import annotations

from dynhp.executors.contract import Job
from dynhp.records import Candidate

RATES = [Candidate({"lr": rate}) for rate in (0.4, 0.3, 0.2, 0.1)]


def test_the_last_values_are_those_of_the_tail_where_there_is_one() -> None:
    job = Job(origin=0, candidate=RATES[0], epochs=2)
    assert job.last_values == RATES[0]
    job = Job(origin=0, candidate=RATES[0], epochs=2, tail=tuple(RATES[1:]))
    assert job.last_values == RATES[3]
