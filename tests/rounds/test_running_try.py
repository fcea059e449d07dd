"""A try whose stages are added up, and which tries lead: states are held while they may win."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.records import Candidate, Try
from dynhp.rounds.jobs import UNKNOWN_STATE, Outcome
from dynhp.rounds.running_try import RunningTry, standings
from dynhp.selection import by_score


def begun(**changes: Any) -> RunningTry:
    values: dict[str, Any] = {"series": (), "epochs": 0, "score": math.nan, "seed": 7}
    return RunningTry(Try(candidate=Candidate({"lr": 0.1}), **(values | changes)), "origin")


def outcome(*losses: float, epochs: int | None = None, **more: Any) -> Outcome:
    series = tuple({"loss": loss} for loss in losses)
    return Outcome(series=series, epochs=epochs or len(losses), keep=lambda: "end", **more)


def test_stages_are_added_up() -> None:
    running = begun()
    running.add(outcome(3.0, 2.0, seconds=1.5), lambda series, tail: -series[-1]["loss"])
    running.add(
        outcome(1.0, seconds=0.25), lambda series, tail: -sum(each["loss"] for each in series)
    )
    record = running.record
    assert record.candidate == {"lr": 0.1}
    assert record.series == ({"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0})
    assert (record.epochs, record.score, record.seconds) == (3, -6.0, 1.75)
    assert (record.error, record.seed, record.reported, record.tail) == (None, 7, (), 0)


def test_a_try_that_failed_has_no_score() -> None:
    running = begun()
    running.add(outcome(3.0, error="ValueError: no"), lambda series, tail: 1 / 0)
    assert math.isnan(running.record.score)
    assert running.record.error == "ValueError: no"


def test_the_state_it_started_from_is_let_go() -> None:
    running = begun()
    running.add(outcome(3.0), lambda series, tail: 0.0)
    assert running.state is UNKNOWN_STATE


@pytest.mark.parametrize(
    ("stages", "reported"),
    [
        ([outcome(1.0, 2.0), outcome(3.0)], ()),
        ([outcome(1.0, epochs=2, reported=(2,))], (2,)),
        ([outcome(1.0, epochs=2, reported=(2,)), outcome(2.0, 3.0)], (2, 3, 4)),
        ([outcome(1.0, 2.0), outcome(3.0, epochs=2, reported=(2,))], (1, 2, 4)),
        ([outcome(1.0, epochs=2), outcome(2.0)], (1, 3)),  # the second epoch was not measured
        (
            [outcome(1.0, epochs=3, reported=(2,)), outcome(2.0, epochs=3, reported=(3,))],
            (2, 6),
        ),
    ],
)
def test_epochs_are_numbered_through_all_stages(
    stages: list[Outcome], reported: tuple[int, ...]
) -> None:
    running = begun()
    for stage in stages:
        running.add(stage, lambda series, tail: 0.0)
    assert running.record.reported == reported


@pytest.mark.parametrize(
    ("job", "tail", "in_tail"),
    [
        (outcome(1.0, 2.0, 3.0), 0, 0),
        (outcome(1.0, 2.0, 3.0), 1, 1),
        (outcome(1.0, 2.0, 3.0), 3, 3),  # a try of the tail alone
        (outcome(1.0, 2.0, epochs=4, reported=(2, 4)), 2, 1),
        (outcome(1.0, 2.0, epochs=4, reported=(1, 2)), 2, 0),
        (outcome(1.0, 2.0, epochs=4), 3, 1),  # the last two were not measured
        (outcome(1.0, epochs=3), 1, 0),
    ],
)
def test_the_score_knows_how_much_of_the_series_is_of_the_tail(
    job: Outcome, tail: int, in_tail: int
) -> None:
    running = begun()
    running.add(job, lambda series, tail: float(tail), tail=tail)
    assert (running.record.score, running.record.tail) == (in_tail, tail)


def test_a_state_is_taken_out_of_the_trainer_once() -> None:
    running = begun()
    running.take_state()
    assert running.state == "origin"  # nothing is in the trainer
    running.in_trainer = outcome(1.0)
    running.take_state()
    assert (running.state, running.in_trainer) == ("end", None)


def test_a_state_that_is_dropped_is_nowhere() -> None:
    running = begun()
    running.in_trainer = outcome(1.0)
    running.drop_state()
    assert running.state is UNKNOWN_STATE
    assert running.in_trainer is None


SCORES = st.lists(
    st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.5, 2.0, math.nan, math.inf])), max_size=12
)


def ended(place: int, score: float | None) -> RunningTry:
    """A try that has ended with this score, or has failed."""
    error = "E: failed" if score is None else None
    worth = math.nan if score is None else score
    candidate = Candidate({"x": place})
    record = Try(candidate=candidate, series=(), epochs=1, score=worth, error=error)
    return RunningTry(record, f"state {place}")


@given(scores=SCORES, earlier=st.sampled_from([None, 0.5]), keep=st.integers(1, 5))
def test_standings_by_key_are_those_of_the_same_ranking_asked_each_time(
    scores: list[float | None], earlier: float | None, keep: int
) -> None:
    seen = []
    for ranking in (by_score, lambda tries: by_score(tries)):
        before = [] if earlier is None else [ended(99, earlier)]
        tries = [ended(place, score) for place, score in enumerate(scores)]
        table = standings(ranking, keep, before, Candidate({"x": 0}))
        led = [table.add(running) for running in tries]
        leaders = [running.record.candidate["x"] for running in table.leaders]
        states = [running.state for running, leads in zip(tries, led, strict=True) if leads]
        seen.append((led, leaders, states))
    assert seen[0] == seen[1]


def test_the_value_in_force_is_compared_to_the_end_though_it_came_in_an_earlier_wave() -> None:
    asked = []

    def ranking(tries: Sequence[Try]) -> list[int]:
        asked.append([try_.candidate["x"] for try_ in tries])
        return by_score(tries)

    current, *others = (ended(place, float(place)) for place in range(4))
    table = standings(ranking, 1, [current], Candidate({"x": 0}))
    for running in others:
        assert table.add(running)
    assert asked == [[0, 1], [0, 1, 2], [0, 2, 3]]


def test_the_value_in_force_is_compared_from_its_first_try_on() -> None:
    asked = []

    def ranking(tries: Sequence[Try]) -> list[int]:
        asked.append([(try_.candidate["x"], try_.score) for try_ in tries])
        return by_score(tries)

    table = standings(ranking, 1, [ended(8, 1.0)], Candidate({"x": 0}))
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

    table = standings(ByKeyAlone(), 2, [], Candidate({"x": 0}))
    assert [table.add(ended(place, place % 3)) for place in range(4)] == [True, True, True, False]
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
    table = standings(by_score, tries // 2, [], Candidate({"x": 0}))
    for place in range(tries):
        table.add(ended(place, float(place % 7)))
    assert len(table.leaders) == tries // 2
    assert counts["keys"] <= tries * (math.log2(tries) + 2)
