"""Records: candidates as mappings, histories as sequences, both as plain data and back."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import History
from dynhp.records import Candidate, Progress, Round, RoundStarted, Try
from dynhp.records.plain import (
    history_from_plain,
    history_to_plain,
    round_from_plain,
    round_to_plain,
)

values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4)
values |= st.floats(allow_nan=False, allow_infinity=False)
mappings = st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=4)
candidates = mappings.map(Candidate)
numbers = st.floats(allow_nan=True, allow_infinity=True)
metrics = st.dictionaries(st.text(max_size=3), numbers, max_size=3)
seeds = st.none() | st.integers(0, 2**63)
tries = st.builds(
    Try,
    candidate=candidates,
    series=st.lists(metrics, max_size=3).map(tuple),
    epochs=st.integers(0, 9),
    score=numbers,
    error=st.none() | st.text(max_size=5),
    seed=seeds,
    seconds=st.floats(0, 10),
    reported=st.lists(st.integers(1, 9), max_size=2).map(tuple),
)
measured = st.lists(st.tuples(st.integers(0, 99), metrics), max_size=2).map(tuple)


@st.composite
def rounds(draw: st.DrawFn) -> Round:
    tried = tuple(draw(st.lists(tries, min_size=1, max_size=3)))
    return Round(
        index=draw(st.integers(0, 9)),
        start=draw(st.integers(0, 99)),
        epochs=draw(st.integers(1, 9)),
        previous=draw(candidates),
        tries=tried,
        chosen=draw(st.integers(0, len(tried) - 1)),
        reason=draw(st.text(max_size=5)),
        metrics=draw(metrics),
        seed=draw(seeds),
        restarted=draw(st.booleans()),
        seconds=draw(st.floats(0, 10)),
        stretch=draw(measured),
    )


histories = st.lists(rounds(), max_size=3).map(lambda listed: History(tuple(listed)))


def a_round(**changes: Any) -> Round:
    known: dict[str, Any] = {
        "index": 0,
        "start": 10,
        "epochs": 5,
        "previous": Candidate({"x": 1}),
        "tries": (
            Try(candidate=Candidate({"x": 1}), series=(), epochs=2, score=0.1),
            Try(candidate=Candidate({"x": 2}), series=(), epochs=3, score=0.2),
        ),
        "chosen": 1,
        "reason": "",
        "metrics": {},
    }
    return Round(**(known | changes))


@given(mappings)
def test_a_candidate_is_the_mapping_it_was_made_of(given_values: dict[str, Any]) -> None:
    candidate = Candidate(given_values)
    assert isinstance(candidate, Mapping)
    assert candidate == given_values
    assert given_values == candidate
    assert dict(candidate) == {**candidate} == given_values
    assert list(candidate) == list(candidate.keys()) == list(given_values)
    assert list(candidate.values()) == list(given_values.values())
    assert list(candidate.items()) == list(given_values.items())
    assert len(candidate) == len(given_values)
    assert all(name in candidate for name in given_values)


@given(mappings)
def test_equal_candidates_have_one_hash_in_any_order(given_values: dict[str, Any]) -> None:
    candidate, turned = Candidate(given_values), Candidate(dict(reversed(given_values.items())))
    assert candidate == turned
    assert hash(candidate) == hash(turned) == hash(candidate)
    assert len({candidate, turned}) == 1


def test_candidates_that_differ_are_not_equal() -> None:
    candidate = Candidate({"lr": 0.1})
    assert candidate != Candidate({"lr": 0.2})
    assert candidate != Candidate({"wd": 0.1})
    assert candidate != Candidate({"lr": 0.1, "wd": 0.1})
    assert candidate != {"lr": 0.2}
    assert candidate != 0.1
    assert candidate != [("lr", 0.1)]


@given(candidates)
def test_candidates_travel(candidate: Candidate) -> None:
    hash(candidate)  # a remembered hash must not travel: strings hash anew in each process
    for arrived in (
        pickle.loads(pickle.dumps(candidate)),
        copy.copy(candidate),
        copy.deepcopy(candidate),
    ):
        assert arrived == candidate
        assert type(arrived) is Candidate
        assert list(map(type, arrived.values())) == list(map(type, candidate.values()))
    assert candidate.__reduce__() == (Candidate, (dict(candidate),))


def test_a_candidate_never_changes() -> None:
    made_of = {"lr": 0.1}
    candidate: Any = Candidate(made_of)
    made_of["lr"] = 0.2
    assert candidate["lr"] == 0.1
    with pytest.raises(TypeError):
        candidate["lr"] = 0.3
    with pytest.raises(TypeError):
        del candidate["lr"]
    with pytest.raises(AttributeError):
        candidate.lr = 0.3
    changed = candidate.but({"lr": 0.3, "wd": 0.0})
    assert (dict(candidate), dict(changed)) == ({"lr": 0.1}, {"lr": 0.3, "wd": 0.0})
    assert repr(changed) == "Candidate(lr=0.3, wd=0.0)"
    assert repr(Candidate({})) == "Candidate()"
    with pytest.raises(KeyError):
        candidate["wd"]


@pytest.mark.parametrize("record", [a_round(), a_round().tries[0], Progress(1), History(())])
def test_records_never_change(record: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(record, fields(record)[0].name, 0)


def test_progress_is_a_share_where_the_plan_is_known() -> None:
    assert Progress(30, 40).share == 0.75
    assert Progress(30).share is None
    assert Progress(0, 40).share == 0.0


@pytest.mark.parametrize(
    ("score", "error", "key"),
    [
        (0.5, None, 0.5),
        (0.5, "E: failed", -math.inf),
        (math.nan, None, -math.inf),
        (math.inf, None, -math.inf),
        (-math.inf, None, -math.inf),
    ],
)
def test_what_failed_or_is_not_finite_ranks_worst(
    score: float, error: str | None, key: float
) -> None:
    tried = Try(candidate=Candidate({}), series=(), epochs=1, score=score, error=error)
    assert tried.rank_key == key


def test_a_round_knows_its_winner_and_its_overhead() -> None:
    round_ = a_round()
    assert round_.winner is round_.tries[1]
    assert round_.candidate == {"x": 2}
    assert round_.changed
    assert not a_round(chosen=0).changed
    assert round_.overhead == 2
    assert a_round(chosen=0).overhead == 3
    assert a_round(restarted=True).overhead == 5


def test_the_time_taken_is_no_part_of_what_happened() -> None:
    assert a_round(seconds=1.0) == a_round(seconds=2.0)
    assert a_round(index=1) != a_round(index=2)


@settings(max_examples=15)
@given(histories)
def test_a_history_is_a_sequence_of_its_rounds(history: History) -> None:
    listed = list(history)
    assert isinstance(history, Sequence)
    assert len(history) == len(listed) == len(history.rounds)
    assert [history[i] for i in range(len(listed))] == listed
    assert [history[-1 - i] for i in range(len(listed))] == list(reversed(history))
    assert list(history[1:]) == listed[1:]
    assert history[::2] == tuple(listed[::2])
    assert all(round_ in history for round_ in listed)
    assert history == History(tuple(listed))
    with pytest.raises(IndexError):
        history[len(listed)]


def test_a_history_counts_the_epochs_of_the_main_line() -> None:
    assert History(()).epochs == 0
    assert History((a_round(),)).epochs == 15
    assert not History(())
    assert RoundStarted(index=0, start=0, epochs=5).epochs == 5


def strict(plain: Any) -> Any:
    """Through JSON as others read it: no nan, no infinity."""
    return json.loads(json.dumps(plain, allow_nan=False))


def same(record: Any, other: Any) -> bool:
    """Equal to the last field and type, with nan equal to nan."""
    return repr(record) == repr(other)


@settings(max_examples=25)
@given(histories)
def test_a_history_goes_through_json_without_loss(history: History) -> None:
    back = history_from_plain(strict(history_to_plain(history)))
    assert isinstance(back, History)
    assert same(back, history)
    assert history_to_plain(back) == history_to_plain(history)


_OF_TRIGGERS = ("because", "rescue", "abandoned", "failure", "ended")
_OF_TAILS = ("tail", "corrected", "scheduled")


@settings(max_examples=25)
@given(rounds())
def test_a_round_goes_through_json_without_loss(round_: Round) -> None:
    plain = round_to_plain(round_)
    for record, written in ((round_, plain), (round_.tries[0], plain["tries"][0])):
        # Older files do not have these, so what is empty is not written.
        later = {
            name
            for name in ("checked", "reported", "stretch", "tolerance", *_OF_TRIGGERS, *_OF_TAILS)
            if not getattr(record, name, 1)
        } | ({"unit"} if record.unit == "epochs" else set())
        assert set(written) == {field.name for field in fields(record)} - later
    assert same(round_from_plain(strict(plain)), round_)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_come_back(number: float) -> None:
    tried = Try(candidate=Candidate({}), series=({"m": number},), epochs=1, score=number)
    plain = strict(round_to_plain(a_round(tries=(tried,), chosen=0, metrics={"m": number})))
    back = round_from_plain(plain)
    for read in (back.metrics["m"], back.tries[0].score, back.tries[0].series[0]["m"]):
        assert type(read) is float
        assert repr(read) == repr(number)


def test_numbers_that_json_has_are_written_as_numbers() -> None:
    tried = Try(candidate=Candidate({"lr": 0.1}), series=({"m": 0.5},), epochs=1, score=0.25)
    plain = round_to_plain(a_round(tries=(tried,), chosen=0, metrics={"m": 2.0}))
    assert plain["metrics"] == {"m": 2.0}
    assert plain["tries"][0]["candidate"] == {"lr": 0.1}
    assert plain["tries"][0]["series"] == [{"m": 0.5}]
    assert plain["tries"][0]["score"] == 0.25


def test_a_record_of_an_older_file_lacks_fields_that_have_a_default() -> None:
    tried = Try(candidate=Candidate({"lr": 0.1}), series=({"m": 0.5},), epochs=1, score=0.25)
    round_ = a_round(tries=(tried,), chosen=0, metrics={"m": 2.0})
    plain = round_to_plain(round_)
    for record in (plain, *plain["tries"]):
        del record["seconds"], record["seed"]
    assert same(round_from_plain(plain), round_)
    del plain["metrics"]
    with pytest.raises(KeyError, match="metrics"):
        round_from_plain(plain)


def test_records_are_equal_whatever_nan_they_were_given() -> None:
    def tried() -> Try:
        series = ({"loss": float("nan"), "norm": 1.0}, {"loss": 2.0, "norm": 1.0})
        candidate = Candidate({"lr": 0.1})
        return Try(candidate=candidate, series=series, epochs=2, score=float("nan"))

    assert tried() == tried()
