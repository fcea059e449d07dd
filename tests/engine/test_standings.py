"""A try whose stages are added up, and which tries lead: states are held while they may win."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import Policy
from dynhp.engine.commands import StateRef, Tried
from dynhp.engine.memory import Held, first_memory
from dynhp.engine.tries import RunningTry, Setup, judged, new_standings
from dynhp.records import Candidate, Try
from dynhp.selection import by_score
from dynhp.triggers import Every


def begun(record: Try | None = None) -> RunningTry:
    """A try before its first job, or after one with this record."""
    running = RunningTry(Candidate({"lr": 0.1}), 7, 0, StateRef(0))
    if record is not None:
        running.record = record
        running.epochs_done = record.epochs
    return running


def tried(
    *losses: float, epochs: int | None = None, error: str | None = None, **more: Any
) -> Tried:
    series = tuple({"loss": loss} for loss in losses)
    end = StateRef(1)
    return Tried(
        series=series, epochs=epochs or len(losses), error=error, end=end, kept=end, **more
    )


def by(criterion: Any) -> Setup:
    """Tries that start after 4 of 20 epochs and are judged by this criterion."""
    policy = Policy(space={"lr": [0.1, 0.2]}, criterion=criterion, when=Every(9), try_for=3)
    return Setup(
        policy=policy,
        memory=first_memory(Candidate({"lr": 0.1}), seed=0),
        origin=Held(4, -math.inf, StateRef(0)),
        planned=20,
        unit="epochs",
        try_for=3,
        rng=np.random.default_rng(0),
        seed=None,
        inner_rule=None,
        check=None,
    )


def flat(series: Any, progress: Any) -> float:
    return 0.0


def test_stages_are_added_up() -> None:
    setup = by(lambda series, progress: -sum(each["loss"] for each in series))
    first = judged(setup, begun(), tried(3.0, 2.0, seconds=1.5), own=2)
    assert first.score == -5.0
    record = judged(setup, begun(first), tried(1.0, seconds=0.25), own=1)
    assert record.candidate == {"lr": 0.1}
    assert record.series == ({"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0})
    assert (record.epochs, record.score, record.seconds) == (3, -6.0, 1.75)
    assert (record.error, record.seed, record.reported, record.tail) == (None, 7, (), 0)


def test_a_criterion_is_told_how_far_the_run_is() -> None:
    setup = by(lambda series, progress: progress.epoch + progress.planned / 100)
    assert judged(setup, begun(), tried(3.0), own=1).score == 4.2


def test_a_try_that_failed_has_no_score() -> None:
    setup = by(lambda series, progress: 1 / 0)
    record = judged(setup, begun(), tried(3.0, error="ValueError: no"), own=1)
    assert math.isnan(record.score)
    assert record.error == "ValueError: no"


def test_a_try_without_measurements_has_no_score() -> None:
    record = judged(by(lambda series, progress: 1 / 0), begun(), tried(epochs=2), own=2)
    assert math.isnan(record.score)


@pytest.mark.parametrize(
    ("stages", "reported"),
    [
        ([tried(1.0, 2.0), tried(3.0)], ()),
        ([tried(1.0, epochs=2, reported=(2,))], (2,)),
        ([tried(1.0, epochs=2, reported=(2,)), tried(2.0, 3.0)], (2, 3, 4)),
        ([tried(1.0, 2.0), tried(3.0, epochs=2, reported=(2,))], (1, 2, 4)),
        ([tried(1.0, epochs=2), tried(2.0)], (1, 3)),  # the second epoch was not measured
        ([tried(1.0, epochs=3, reported=(2,)), tried(2.0, epochs=3, reported=(3,))], (2, 6)),
    ],
)
def test_epochs_are_numbered_through_all_stages(
    stages: list[Tried], reported: tuple[int, ...]
) -> None:
    record = None
    for stage in stages:
        record = judged(by(flat), begun(record), stage, own=stage.epochs)
    assert record is not None
    assert record.reported == reported


@pytest.mark.parametrize(
    ("job", "tail", "in_tail"),
    [
        (tried(1.0, 2.0, 3.0), 0, 0),
        (tried(1.0, 2.0, 3.0), 1, 1),
        (tried(1.0, 2.0, 3.0), 3, 3),  # a try of the tail alone
        (tried(1.0, 2.0, epochs=4, reported=(2, 4)), 2, 1),
        (tried(1.0, 2.0, epochs=4, reported=(1, 2)), 2, 0),
        (tried(1.0, 2.0, epochs=4), 3, 1),  # the last two were not measured
        (tried(1.0, epochs=3), 1, 0),
    ],
)
def test_the_score_knows_how_much_of_the_series_is_of_the_tail(
    job: Tried, tail: int, in_tail: int
) -> None:
    setup = by(lambda series, progress: float(progress.tail))
    record = judged(setup, begun(), job, own=job.epochs - tail)
    assert (record.score, record.tail) == (in_tail, tail)


SCORES = st.lists(
    st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.5, 2.0, math.nan, math.inf])), max_size=12
)


def ended(place: int, score: float | None) -> RunningTry:
    """A try that has ended with this score, or has failed."""
    error = "E: failed" if score is None else None
    worth = math.nan if score is None else score
    candidate = Candidate({"x": place})
    record = Try(candidate=candidate, series=(), epochs=1, score=worth, error=error)
    running = RunningTry(candidate, None, place, StateRef(place), epochs_done=1)
    running.record = record
    return running


@given(scores=SCORES, earlier=st.sampled_from([None, 0.5]), keep=st.integers(1, 5))
def test_standings_by_key_are_those_of_the_same_ranking_asked_each_time(
    scores: list[float | None], earlier: float | None, keep: int
) -> None:
    seen = []
    for ranking in (by_score, lambda tries: by_score(tries)):
        before = [] if earlier is None else [ended(99, earlier)]
        tries = [ended(place, score) for place, score in enumerate(scores)]
        table = new_standings(ranking, keep, before, Candidate({"x": 0}))
        fallen = [[each.place for each in table.add(running)] for running in tries]
        leaders = [running.record.candidate["x"] for running in table.leaders]
        seen.append((fallen, leaders))
    assert seen[0] == seen[1]


def test_the_value_in_force_is_compared_to_the_end_though_it_came_in_an_earlier_wave() -> None:
    asked = []

    def ranking(tries: Sequence[Try]) -> list[int]:
        asked.append([try_.candidate["x"] for try_ in tries])
        return by_score(tries)

    current, *others = (ended(place, float(place)) for place in range(4))
    table = new_standings(ranking, 1, [current], Candidate({"x": 0}))
    for running in others:
        assert table.add(running)  # the one before has fallen behind
        assert table.leaders == [running]
    assert asked == [[0, 1], [0, 1, 2], [0, 2, 3]]


def test_the_value_in_force_is_compared_from_its_first_try_on() -> None:
    asked = []

    def ranking(tries: Sequence[Try]) -> list[int]:
        asked.append([(try_.candidate["x"], try_.score) for try_ in tries])
        return by_score(tries)

    table = new_standings(ranking, 1, [ended(8, 1.0)], Candidate({"x": 0}))
    for place, score in ((1, 5.0), (0, 0.0), (2, 6.0), (0, 3.0), (3, 7.0)):
        table.add(ended(place, score))
    assert asked == [
        [(8, 1.0), (1, 5.0)],
        [(1, 5.0), (0, 0.0)],
        [(1, 5.0), (0, 0.0), (2, 6.0)],
        [(0, 0.0), (2, 6.0), (0, 3.0)],
        [(0, 0.0), (2, 6.0), (3, 7.0)],
    ]


def test_a_ranking_by_keys_is_never_asked_about_all() -> None:
    class ByKeyAlone:
        def key(self, try_: Try) -> float:
            return -try_.score

        def __call__(self, tries: Sequence[Try]) -> list[int]:
            raise AssertionError("a race of a thousand tries would take n * n")

    table = new_standings(ByKeyAlone(), 2, [], Candidate({"x": 0}))
    tries = [ended(place, place % 3) for place in range(4)]
    assert [[each.place for each in table.add(running)] for running in tries] == [[], [], [0], [3]]
    assert [running.record.candidate["x"] for running in table.leaders] == [2, 1]


@pytest.mark.parametrize("tries", [500, 1000, 2000])
def test_the_work_of_standings_by_key_is_n_log_n(
    monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    counts: Counter[str] = Counter()
    key = type(by_score).key

    def counted(self: Any, try_: Try) -> float | None:
        counts["keys"] += 1
        return key(self, try_)

    monkeypatch.setattr(type(by_score), "key", counted)
    table = new_standings(by_score, tries // 2, [], Candidate({"x": 0}))
    for place in range(tries):
        table.add(ended(place, float(place % 7)))
    assert len(table.leaders) == tries // 2
    assert counts["keys"] <= tries * (math.log2(tries) + 2)
