"""What proposers name is looked at before it is tried, once for each candidate and space."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from dynhp import (
    Best,
    DynamicGridAdapter,
    FullGrid,
    Neighbors,
    Racing,
    Space,
    errors,
    lowest,
    plan_for,
    trainer_from,
)
from dynhp.engine.commands import Announce
from dynhp.errors import ContractError, SettingsError
from dynhp.middleware import looking
from dynhp.proposers import Known, Waves
from dynhp.records import Candidate, Progress, Round, RoundStarted, Try
from dynhp.tails import annealed
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At
from tests.support.messages import raises


class Fixed:
    """Proposes the same objects in every round."""

    def __init__(self, *candidates: Candidate) -> None:
        self.candidates = candidates

    def propose(self, known: Known, rng: np.random.Generator) -> Sequence[Candidate]:
        return [] if known.tries else self.candidates

    def waves(self, space: Space, current: Candidate) -> Waves:
        return Waves((1,), (len(self.candidates),))


def adapter_of(space: Space, proposer: Fixed | FullGrid) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Quadratic(), space, criterion=lowest("loss"), adapt_every=2, try_for=1, proposer=proposer
    )


def test_candidates_of_the_grid_are_tried_as_they_are_in_every_round() -> None:
    space = Space({"lr": [0.1, 0.5, 1.0]})
    adapter = adapter_of(space, FullGrid())
    assert not any(candidate.admitted_by is space for candidate in space.grid())
    for round_ in adapter.run(6):
        assert {try_.candidate for try_ in round_.tries} == set(space.grid())
        assert all(try_.candidate.admitted_by is space for try_ in round_.tries)


def test_casting_a_value_does_not_admit_it() -> None:
    space = Space({"lr": [0.1, 1.0]})
    adapter = adapter_of(space, Fixed(space.cast(Candidate({"lr": 7.0}))))
    for _ in range(2):
        with raises(ContractError):
            adapter.step()


def test_what_one_space_has_admitted_is_looked_at_by_another() -> None:
    wide, narrow = Space({"lr": [0.1, 1.0]}), Space({"lr": [0.1, 0.5]})
    candidate = Candidate({"lr": 1.0})
    adapter_of(wide, Fixed(candidate)).step()
    assert candidate.admitted_by is wide
    with raises(ContractError):
        adapter_of(narrow, Fixed(candidate)).step()


def test_a_copy_of_a_candidate_is_looked_at_again() -> None:
    space = Space({"lr": [0.1, 1.0]})
    (candidate, _) = adapter_of(space, FullGrid()).step().tries
    assert candidate.candidate.admitted_by is space
    for other in (copy.deepcopy(candidate), pickle.loads(pickle.dumps(candidate))):
        assert other == candidate
        assert other.candidate.admitted_by is not space


def test_a_mapping_becomes_a_candidate() -> None:
    mapping: Candidate = {"lr": 1}  # type: ignore[assignment]
    adapter = adapter_of(Space({"lr": [0.1, 1.0]}), Fixed(mapping))
    assert repr(adapter.step().candidate) == "Candidate(lr=1.0)"


def wide(axes: int, **settings: Any) -> DynamicGridAdapter:
    """An adapter of that many axes of ten values each."""
    space = Space({f"x{number}": list(range(1, 11)) for number in range(axes)})
    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: {"loss": 0.5},
    )
    given: dict[str, Any] = {"adapt_every": 10, "try_for": 2, **settings}
    return DynamicGridAdapter(trainer, space, criterion=lowest("loss"), **given)


@pytest.fixture
def hints(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The hints of this process, as if none had been given before."""
    monkeypatch.setattr(errors, "_given", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@pytest.mark.parametrize(("selection", "epochs"), [(Best(), "2,000,000"), (Racing(), "1,500,000")])
def test_a_million_candidates_get_a_hint_with_their_cost_and_are_not_made(
    hints: list[Any], selection: Any, epochs: str
) -> None:
    tracemalloc.start()
    try:
        adapter = wide(6, selection=selection)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (hint,) = [str(each.message) for each in hints]
    assert hint.startswith(
        f"a round tries up to 1,000,000 candidates: {epochs} epochs in tries for 10 of the main "
        "line; thin out the axes of the space, or use OneAxis, Neighbors or Interpolation."
    )
    assert peak < 5e6  # bytes; a million candidates take hundreds of megabytes
    assert plan_for(adapter, 10).most.total > 1_000_000


def test_where_rounds_begin_by_a_trigger_the_hint_counts_the_epochs_of_tries_alone(
    hints: list[Any],
) -> None:
    wide(4, adapt_every=None, when=At([0]))
    (hint,) = [str(each.message) for each in hints]
    assert hint == (
        "a round tries up to 10,000 candidates: 20,000 epochs in tries; thin out the axes of the "
        "space, or use OneAxis, Neighbors or Interpolation. plan_for(...) has the cost of the "
        "whole run"
    )


def test_a_thousand_candidates_and_proposers_that_try_few_get_none(hints: list[Any]) -> None:
    wide(3)
    wide(6, proposer=Neighbors())
    assert not hints


def test_more_than_a_million_are_refused_before_they_are_made() -> None:
    with raises(SettingsError):
        wide(7)


def test_a_try_is_seeded_once_though_it_has_several_stages() -> None:
    trainer = NoisyQuadratic()
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.2, 0.3]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
        selection=Racing(),
        randomness="independent",
        check="off",
    )
    seeded: list[Any] = []

    def note(command: Any) -> None:
        if isinstance(command, Announce):
            seeded.append([job.seed is not None for job in command.jobs])

    with adapter.through(looking(before=note)):
        adapter.step()
    assert seeded == [[True] * 3, [False] * 2]


def test_a_round_that_is_not_due_needs_no_plan_and_has_no_reason() -> None:
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        when=At([2]),
        try_for=1,
        tail=annealed("lr", epochs=0.2),
        record_every=2,
    )
    round_ = adapter.step()
    assert (round_.epochs, round_.tries, round_.because) == (2, (), "")
    with raises(SettingsError):
        adapter.step()


def test_a_criterion_knows_which_epochs_are_of_a_tail_and_how_far_the_run_is() -> None:
    seen = []

    def lowest_loss(series: Sequence[Any], progress: Progress) -> float:
        seen.append((len(series), progress.tail, progress.epoch, progress.planned))
        return -float(series[-1]["loss"])

    def run(tail: Any) -> set[Any]:
        seen.clear()
        DynamicGridAdapter(
            Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest_loss, adapt_every=4, try_for=2,
            tail=tail, check="off",
        ).run(8)  # fmt: skip
        return set(seen)

    assert run(annealed("lr", epochs=3)) == {(5, 3, 0, 8), (5, 3, 4, 8)}
    assert run(None) == {(2, 0, 0, 8), (2, 0, 4, 8)}


def test_each_round_begins_with_the_settings_of_the_run() -> None:
    adapter, events = adapter_of(Space({"lr": [0.1, 1.0]}), FullGrid()), list[Any]()
    adapter.callbacks = (events.append,)
    adapter.run(4)
    other = adapter_of(Space({"lr": [0.1, 1.0]}), FullGrid())
    other.callbacks = (events.append,)
    other.load_state_dict(adapter.state_dict())
    other.run(6)
    started = [event for event in events if isinstance(event, RoundStarted)]
    assert [event.settings for event in started] == [adapter.state_dict()["settings"]] * 3
    assert [event.planned for event in started] == [4, 4, 6]
    assert [event.epochs for event in started] == [2, 2, 2]
    assert started[0].settings["try_for"] == "1"


def test_a_round_that_is_not_due_is_not_made_longer_for_tries() -> None:
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        when=At([4]),
        try_for=4,
        record_every=2,
    )
    assert [(each.epochs, len(each.tries)) for each in adapter.run(8)] == [(2, 0), (2, 0), (4, 2)]


def test_a_round_that_was_left_counts_as_one_with_tries_though_the_trigger_says_otherwise() -> None:
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        when=At([4]),
        try_for=1,
        max_rounds=1,
        record_every=50,
        epochs=8,
    )
    tried = Try(candidate=Candidate({"lr": 0.5}), series=({"loss": 1.0},), epochs=1, score=-1.0)
    begun = Round(
        index=0, start=0, epochs=1, previous=adapter.current, tries=(tried,), chosen=0, reason="",
        metrics={"loss": 1.0}, because="somebody asked for it",
    )  # fmt: skip
    adapter.trainer.train_k(1, tried.candidate)
    adapter.driver.carry_out(adapter.commands(begun), adapter.memory, adapter.take)
    assert [round_.epochs for round_ in adapter.history] == [8]  # no other round was due in it
