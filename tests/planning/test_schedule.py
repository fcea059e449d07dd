"""Schedules: replayed bit for bit, written as JSON, usable without the library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Placebo,
    Racing,
    lowest,
    replay,
    schedule_of,
    spent,
)
from dynhp.errors import SettingsError
from dynhp.planning import Schedule
from dynhp.planning.schedule import Segment
from dynhp.records import Candidate
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits

SPACE = {"lr": [0.01, 0.05, 0.2, 0.6], "momentum": [0.0, 0.5]}
PROPOSERS = [FullGrid(), Neighbors(), OneAxis(), Interpolation(), Placebo(3)]
SELECTIONS = [Best(), Racing(), BestByMargin(delta=0.01), BestByMargin(noise=1.0)]


@pytest.mark.parametrize("proposer", PROPOSERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("keep", ["winner", "value"])
@pytest.mark.parametrize("randomness", ["common", "independent"])
def test_a_replay_gives_the_weights_of_the_adapted_run(
    proposer: Any, selection: Any, keep: Any, randomness: Any
) -> None:
    if isinstance(proposer, Placebo) and randomness == "common":
        randomness = None  # it knows that it needs the other one
    trainer = Toy(5)
    adapter = DynamicGridAdapter(
        trainer,
        SPACE,
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=2,
        proposer=proposer,
        selection=selection,
        keep=keep,
        randomness=randomness,
        seed=11,
        check="off",  # a race compares first steps, in which momentum does nothing
    )
    history = adapter.run(23)
    schedule = Schedule.from_json(schedule_of(history).to_json())
    assert schedule == schedule_of(history)
    assert schedule.epochs == 23

    again = Toy(5)
    replayed = replay(schedule, again)
    assert bits(again.get_state()) == bits(trainer.get_state())
    assert again.trained == 23 < trainer.trained
    assert replayed.rounds[-1].metrics == history.rounds[-1].metrics
    assert spent(replayed).total == spent(replayed).main_line == 23

    plain = Toy(5)  # and without the library
    for epochs, values in schedule.as_list():
        plain.train_k(epochs, values)
    same = bits(plain.get_state()) == bits(trainer.get_state())
    assert same == (adapter.policy.randomness == "common")


def test_a_schedule_as_json() -> None:
    values = {"lr": 0.1, "layers": 2, "act": "relu", "bias": True, "clip": None}
    schedule = Schedule(
        (
            Segment(epochs=10, values=Candidate(values)),
            Segment(epochs=5, values=Candidate(values | {"lr": 1.0}), seed=2**62),
        )
    )
    assert json.loads(schedule.to_json()) == {
        "format": "dynhp-schedule",
        "version": 1,
        "epochs": 15,
        "segments": [
            {"epochs": 10, "values": values, "seed": None},
            {"epochs": 5, "values": values | {"lr": 1.0}, "seed": 2**62},
        ],
    }
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    assert [type(value) for value in again.segments[1].values.values()] == [
        *(float, int, str, bool, type(None))
    ]
    assert schedule.as_list() == [(10, values), (5, values | {"lr": 1.0})]


@pytest.mark.usefixtures("ticking")
def test_a_replay_has_the_records_of_a_run() -> None:
    trainer = Diary({0: 3.0, 1: 2.0})
    segments = [(2, 0), (3, 1)]
    schedule = Schedule(tuple(Segment(epochs=k, values=Candidate({"x": x})) for k, x in segments))
    first, second = replay(schedule, trainer)
    assert trainer.diary == (0, 0, 1, 1, 1)
    assert trainer.calls == ["train 2 0", "train 3 1"]
    assert (first.index, first.start, first.epochs) == (0, 0, 2)
    assert (second.index, second.start, second.epochs) == (1, 2, 3)
    assert (first.previous, second.previous) == ({"x": 0}, {"x": 0})
    assert (first.candidate, second.candidate) == ({"x": 0}, {"x": 1})
    assert second.metrics == second.winner.series[-1] == {"loss": 2.0}
    assert second.reason == "the only candidate"
    assert (second.seed, second.winner.seed, second.winner.epochs) == (None, None, 3)
    assert second.winner.error is None
    assert (first.seconds, second.seconds) == (1.0, 1.0)


def test_an_empty_schedule_trains_nothing() -> None:
    trainer = Diary({0: 1})
    assert replay(Schedule(()), trainer).epochs == 0
    assert trainer.calls == []


def document(**changes: Any) -> str:
    segment = {"epochs": 1, "values": {"x": 1}} | changes.pop("segment", {})
    whole = {"format": "dynhp-schedule", "version": 1, "segments": [segment]} | changes
    return json.dumps(whole)


def test_the_least_that_a_schedule_needs() -> None:
    assert Schedule.from_json(document()).segments == (
        Segment(epochs=1, values=Candidate({"x": 1}), seed=None),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        None,
        "[]",
        "7",
        "{}",
        document(format="other"),
        document(version=3),
        document(version=2),
        document(version=2, steps_per_epoch=4),
        document(version=None),
        document(segments=None),
        document(segments={}),
        document(segments=[3]),
        document(segments=[{"epochs": 1}]),
        document(segments=[{"values": {"x": 1}}]),
        document(segment={"epochs": 0}),
        document(segment={"epochs": "1"}),
        document(segment={"values": {}}),
        document(segment={"values": [1]}),
        document(segment={"values": {"x": [1]}}),
        document(segment={"values": {"x": float("nan")}}),
        document(segment={"seed": "1"}),
        document(segment={"seed": -1}),
        document(segment={"seed": True}),
        document(segment={"seed": 1.0}),
    ],
)
def test_a_bad_schedule_is_refused(text: Any) -> None:
    with raises(SettingsError):
        Schedule.from_json(text)


@pytest.mark.parametrize("place", ["all", "epochs", "values", "version"])
def test_a_schedule_that_is_nested_too_deeply_is_refused(place: str) -> None:
    for depth in (900, 100_000):
        deep = "[" * depth + "]" * depth
        whole = json.loads(document())
        whole["segments"][0]["epochs" if place == "epochs" else "values"] = "deep"
        if place == "version":
            whole["version"] = "deep"
        text = deep if place == "all" else json.dumps(whole).replace('"deep"', deep)
        with pytest.raises(SettingsError) as caught:
            Schedule.from_json(text)
        if depth > 10_000:
            assert "nested far deeper" in str(caught.value)
            assert len(str(caught.value)) < 500


def test_the_bad_segment_is_named() -> None:
    good, bad = {"epochs": 1, "values": {"x": 1}}, {"epochs": -1, "values": {"x": 1}}
    with raises(SettingsError):
        Schedule.from_json(document(segments=[good, good, bad]))


def test_a_seed_of_zero_is_a_seed() -> None:
    text = document(segment={"seed": 0, "values": {"lr": 0.1}})
    (round_,) = replay(Schedule.from_json(text), seeded := Toy(1))
    assert round_.seed == round_.winner.seed == 0
    again = Toy(1)
    again.reseed(0)
    again.train_k(1, {"lr": 0.1})
    assert bits(again.get_state()) == bits(seeded.get_state())


def test_a_schedule_with_nan_is_not_written() -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        Schedule((Segment(epochs=1, values=Candidate({"x": float("nan")})),)).to_json()


def test_seeds_need_a_trainer_that_can_be_reseeded() -> None:
    trainer = Diary({0: 1})
    schedule = Schedule((Segment(epochs=1, values=Candidate({"x": 0}), seed=3),))
    with raises(SettingsError):
        replay(schedule, trainer)
    assert trainer.diary == ()


def test_a_replay_checks_that_the_value_is_in_force() -> None:
    class KeepsItsRate(Toy):
        def hyperparameters(self) -> dict[str, Any]:
            return {"lr": 0.5}

    schedule = Schedule((Segment(epochs=1, values=Candidate({"lr": 0.1})),))
    with raises(RuntimeError):
        replay(schedule, KeepsItsRate())
