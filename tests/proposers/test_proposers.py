"""Laws of proposers, in runs with all kinds of luck, and examples of each."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    Categorical,
    DynamicGridAdapter,
    Float,
    FullGrid,
    Int,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Racing,
    Space,
    plan_for,
    spent,
)
from dynhp.errors import AllTriesFailed, SettingsError
from dynhp.proposers import Known, Ladder, Proposer, Waves
from dynhp.proposers.grid import Drawn
from dynhp.proposers.one_axis import wave_by_wave
from dynhp.records import Candidate, Round, Try
from dynhp.selection import Selection
from dynhp.spaces import Around
from dynhp.tails import scale
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.kinds import PROPOSER_ROWS, PROPOSERS, ProposerRow
from tests.support.messages import raises
from tests.support.spaces import (
    candidate_of,
    kinds,
    luck,
    run_proposer,
    scaled_axes,
    small_axes,
    spaces,
)

seeds = st.integers(0, 2**32)
# Each has its own examples, however many rows there are.
each_row = pytest.mark.parametrize(
    "row", PROPOSER_ROWS, ids=lambda row: type(row.examples[0]).__name__
)


@st.composite
def problems(draw: st.DrawFn, row: ProposerRow) -> tuple[Proposer, Space, Candidate, int]:
    """A proposer of this row, a space that suits it, a start value and a seed for the luck."""
    proposer: Any = draw(row.any_of_kind)
    space = draw(spaces(row.suits, largest=row.most_axes))
    if draw(st.booleans()):
        proposer = OneAxis(proposer)
    seed = draw(seeds)
    start = candidate_of(space, np.random.default_rng(seed), between=row.between)
    return proposer, space, start, seed


def rounds_of(problem: tuple[Proposer, Space, Candidate, int], rounds: int = 6) -> list[Any]:
    proposer, space, start, seed = problem
    return list(
        run_proposer(proposer, space, start, luck(np.random.default_rng(seed)), rounds=rounds)
    )


@each_row
@settings(max_examples=15)
@given(st.data())
def test_proposals_lie_in_the_space_keep_their_types_and_never_repeat(
    row: ProposerRow, data: st.DataObject
) -> None:
    problem = data.draw(problems(row))
    _, space, start, _ = problem
    for each_round in rounds_of(problem):
        proposed = [candidate for wave in each_round.waves for candidate in wave]
        assert proposed[0] == each_round.known.current
        for candidate in proposed:
            assert space.admits(candidate)
            assert list(candidate) == list(space)
            for name, axis in space.items():
                listed = not getattr(axis, "scaled", False) and not isinstance(axis, Around)
                if isinstance(axis, Categorical) or listed:
                    assert any(candidate[name] is value for value in axis.grid())
                else:
                    assert type(candidate[name]) is type(start[name])
        if not row.repeats:
            assert len(set(proposed)) == len(proposed)


@each_row
@settings(max_examples=15)
@given(st.data())
def test_the_waves_foretold_are_the_waves_that_come(row: ProposerRow, data: st.DataObject) -> None:
    problem = data.draw(problems(row))
    proposer, space, start, _ = problem
    least, most = proposer.waves(space, start)
    for each_round in rounds_of(problem):
        sizes = tuple(map(len, each_round.waves))
        assert within(least, sizes)
        assert within(sizes, most)
        # What is foretold later in the run holds too.
        later = proposer.waves(space, each_round.known.current)
        assert within(later.least, sizes)
        assert within(sizes, later.most)


def within(few: tuple[int, ...], many: tuple[int, ...]) -> bool:
    return len(few) <= len(many) and all(a <= b for a, b in zip(few, many, strict=False))


def cost(sizes: tuple[int, ...], selection: Selection, epochs: int) -> int:
    total = 0
    for tries in sizes:
        for stage in selection.stages(tries, epochs):
            total += tries * stage.epochs
            tries = min(tries, stage.keep)
    return total


selections: st.SearchStrategy[Any] = st.just(Best()) | st.builds(Racing, st.floats(0.01, 0.99))


@each_row
@settings(max_examples=15)
@given(st.data(), selections, st.integers(1, 6))
def test_the_cost_of_the_waves_foretold_bounds_the_cost(
    row: ProposerRow, data: st.DataObject, selection: Selection, epochs: int
) -> None:
    problem = data.draw(problems(row))
    proposer, space, start, _ = problem
    waves = proposer.waves(space, start)
    for each_round in rounds_of(problem, rounds=4):
        spent = cost(tuple(map(len, each_round.waves)), selection, epochs)
        assert cost(waves.least, selection, epochs) <= spent <= cost(waves.most, selection, epochs)


@given(selections | st.just(BestByMargin()), st.integers(1, 40), st.integers(1, 8))
def test_a_larger_wave_never_costs_less(selection: Any, tries: int, epochs: int) -> None:
    # What ``wave_by_wave`` and with it the bounds of the budget rest on.
    assert cost((tries,), selection, epochs) <= cost((tries + 1,), selection, epochs)


@each_row
@settings(max_examples=10)
@given(st.data())
def test_the_same_past_gives_the_same_proposals(row: ProposerRow, data: st.DataObject) -> None:
    problem = data.draw(problems(row))
    proposer = problem[0]
    for each_round in rounds_of(problem):
        for tries in ((), each_round.round.tries[:3], each_round.round.tries):
            known = Known(
                space=each_round.known.space,
                current=each_round.known.current,
                history=each_round.known.history,
                tries=tries,
            )
            wave, again = (
                list(each.propose(known, np.random.default_rng(7)))
                for each in (proposer, pickle.loads(pickle.dumps(proposer)))
            )
            assert wave == again
            assert list(map(kinds, wave)) == list(map(kinds, again))


@each_row
@settings(max_examples=10)
@given(st.data())
def test_a_proposer_changes_nothing_that_it_is_shown(row: ProposerRow, data: st.DataObject) -> None:
    proposer, space, start, seed = data.draw(problems(row))
    known = Known(space=space, current=start)
    before = pickle.dumps((dict(start), [repr(axis) for axis in space.values()]))
    assert proposer.propose(known, np.random.default_rng(seed))
    assert pickle.dumps((dict(start), [repr(axis) for axis in space.values()])) == before


@settings(max_examples=25)
@given(spaces(small_axes, largest=2), seeds)
def test_the_full_grid_is_the_grid(space: Space, seed: int) -> None:
    current = candidate_of(space, np.random.default_rng(seed), between=False)
    wave = FullGrid().propose(Known(space=space, current=current), np.random.default_rng(0))
    assert wave[0] == current
    assert sorted(map(repr, wave)) == sorted(map(repr, space.grid()))
    assert FullGrid().waves(space, current) == Waves((len(wave),), (len(wave),))


def neighbors_of(space: Space, current: dict[str, Any], radius: int = 1) -> list[Any]:
    known = Known(space=space, current=Candidate(current))
    wave = Neighbors(radius).propose(known, np.random.default_rng(0))
    return [tuple(candidate.values()) for candidate in wave]


def test_neighbours_of_every_axis_and_at_the_ends_only_what_exists() -> None:
    space = Space({"lr": [1, 2, 4], "act": Categorical("a", "b", "c")})
    assert neighbors_of(space, {"lr": 2, "act": "b"}) == [
        (2, "b"),
        (1, "b"),
        (4, "b"),
        (2, "a"),
        (2, "c"),
    ]
    assert neighbors_of(space, {"lr": 4, "act": "a"})[:2] == [(4, "a"), (2, "a")]
    assert neighbors_of(Space({"x": Ordered(1, 2, 3, 4)}), {"x": 1}, 2) == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("axis", "value", "radius", "least", "most"),
    [
        (Ordered(7), 7, 1, 1, 1),
        (Ordered(1, 2), 1, 1, 2, 2),
        (Ordered(1.0, 2.0), 1.5, 1, 2, 3),
        (Ordered(1, 2, 3), 2, 1, 2, 3),
        (Ordered(1, 2, 3), 1, 2, 3, 3),
        (Ordered(1.0, 2.0, 3.0), 1.5, 2, 3, 4),
        (Ordered(1, 2, 3, 4, 5), 2, 2, 3, 5),
        (Categorical("a", "b", "c"), "a", 1, 3, 3),
        (Float(0, 1, points=2), 0.0, 1, 2, 2),
        (Float(0, 1, points=2), 0.3, 1, 2, 3),
        (Float(0, 1, points=3), 0.3, 2, 3, 4),
        (Int(0, 100, points=2), 50, 3, 2, 3),
    ],
)
def test_the_bounds_of_neighbours_are_met(
    axis: Any, value: Any, radius: int, least: int, most: int
) -> None:
    space = Space({"x": axis})
    assert Neighbors(radius).waves(space, Candidate({"x": value})) == Waves((least,), (most,))
    reachable = [*axis.grid(), value]
    sizes = {len(neighbors_of(space, {"x": each}, radius)) for each in reachable}
    assert min(sizes) == least
    assert max(sizes) == most


def test_one_axis_takes_turns_and_shows_each_axis_its_own_past() -> None:
    seen: list[Known] = []

    class Spy:
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            seen.append(known)
            return FullGrid().propose(known, rng)

        def waves(self, space: Space, current: Candidate) -> Waves:
            return FullGrid().waves(space, current)

    space = Space({"a": [1, 2], "b": ["x", "y", "z"]})
    start = Candidate({"a": 1, "b": "x"})
    luck_ = luck(np.random.default_rng(3))
    rounds = list(run_proposer(OneAxis(Spy()), space, start, luck_, rounds=5))
    assert [len(each_round.waves[0]) for each_round in rounds] == [2, 3, 2, 3, 2]
    first = [known for known in seen if not known.tries]
    assert [list(known.space) for known in first] == [["a"], ["b"], ["a"], ["b"], ["a"]]
    assert [[r.index for r in known.history] for known in first] == [[], [], [0], [1], [0, 2]]
    for known in seen:
        (name,) = known.space
        for round_ in known.history:
            assert list(round_.previous) == [name]
            assert [list(try_.candidate) for try_ in round_.tries] == [[name]] * len(round_.tries)
            assert round_.tries[0].score is rounds[round_.index].round.tries[0].score
    assert OneAxis(Spy()).waves(space, start) == Waves((2,), (3,))


def test_one_axis_shows_of_corrected_values_only_its_own() -> None:
    seen: list[Round] = []

    class Spy(FullGrid):
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            seen.extend(known.history)
            return super().propose(known, rng)

    DynamicGridAdapter(
        NoisyQuadratic(), {"lr": Around(0.1, 2), "momentum": [0.0, 0.5]}, minimize="loss",
        adapt_every=2, try_for=1, check="off", proposer=OneAxis(Spy()), then=scale(0.5, "lr"),
    ).run(8)  # fmt: skip
    of_lr, others = ([r for r in seen if name in r.previous] for name in ("lr", "momentum"))
    assert of_lr
    assert all(r.corrected == Candidate({"lr": r.candidate["lr"]}) for r in of_lr)
    assert all(r.corrected != r.winner.candidate for r in of_lr)
    assert others
    assert all(r.corrected == r.winner.candidate == r.candidate for r in others)
    assert all(r.changed == (r.winner.candidate != r.previous) for r in others)


def test_with_racing_one_more_wave_can_cost_more_than_a_larger_one() -> None:
    # By their sums, (5,) would pass for the most: 5 candidates against 4.
    assert cost((3, 1), Racing(), 5) > cost((5,), Racing(), 5)

    class Uneven:
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            raise NotImplementedError

        def waves(self, space: Space, current: Candidate) -> Waves:
            sizes = (5,) if "a" in space else (3, 1)
            return Waves(sizes, sizes)

    space = Space({"a": [1], "b": [1]})
    waves = OneAxis(Uneven()).waves(space, space.start())
    assert waves == Waves((3,), (5, 1))
    for sizes in ((5,), (3, 1)):
        assert cost(waves.least, Racing(), 5) <= cost(sizes, Racing(), 5)
        assert cost(sizes, Racing(), 5) <= cost(waves.most, Racing(), 5)


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple), min_size=1))
def test_wave_by_wave_bounds_each(sizes: list[tuple[int, ...]]) -> None:
    for each in sizes:
        assert within(wave_by_wave(min, sizes), each)
        assert within(each, wave_by_wave(max, sizes))


def test_a_placebo_is_the_value_in_force_again_and_again() -> None:
    space = Space({"x": [1, 2]})
    known = Known(space=space, current=Candidate({"x": 2}))
    assert Placebo(3).propose(known, np.random.default_rng(0)) == [Candidate({"x": 2})] * 3
    assert Placebo(3).waves(space, space.start()) == Waves((3,), (3,))
    assert Placebo(3).randomness == "independent"


def test_a_draw_is_one_candidate_anywhere_in_the_space() -> None:
    space = Space({"x": Float(0, 1), "y": ["a", "b"]})
    known = Known(space=space, current=space.start())
    drawn = [Drawn().propose(known, np.random.default_rng(seed)) for seed in range(3)]
    assert drawn == [[space.draw(np.random.default_rng(seed))] for seed in range(3)]
    tried = Try(candidate=drawn[0][0], series=(), epochs=1, score=0.0)
    again = Known(space=space, current=space.start(), tries=[tried])
    assert Drawn().propose(again, np.random.default_rng(0)) == []
    assert Drawn().waves(space, space.start()) == Waves((1,), (1,))


def test_the_full_grid_refuses_to_start_off_the_grid() -> None:
    space = Space({"x": Float(0, 1, points=3)})
    with raises(SettingsError):
        FullGrid().waves(space, Candidate({"x": 0.3}))


@pytest.mark.parametrize("proposer", [*PROPOSERS, Drawn()])
def test_each_is_a_proposer(proposer: object) -> None:
    assert isinstance(proposer, Proposer)


@settings(max_examples=20)
@given(spaces(scaled_axes, largest=3), seeds)
def test_the_bounds_hold_hard_between_grid_points(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        here = candidate_of(space, rng, between=True)
        for radius in (1, 2, 5):
            proposer = Neighbors(radius)
            least, most = proposer.waves(space, here)
            size = len(proposer.propose(Known(space=space, current=here), rng))
            assert least[0] <= size <= most[0]


def test_one_axis_asks_for_the_randomness_its_inner_proposer_needs() -> None:
    assert OneAxis(Placebo(3)).randomness == "independent"
    assert not hasattr(OneAxis(FullGrid()), "randomness")


class FailsAbove(Quadratic):
    """Every rate above the limit raises."""

    limit = 0.02

    def train_k(self, k: int, hyperparameters: Any) -> None:
        if hyperparameters["lr"] > self.limit:
            raise ArithmeticError("diverged")
        super().train_k(k, hyperparameters)


@pytest.mark.parametrize("down", [1, 2, 3, 9])
def test_a_ladder_goes_on_down_until_a_try_succeeds(down: int) -> None:
    rates = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
    adapter = DynamicGridAdapter(
        FailsAbove(), {"lr": rates}, minimize="loss", adapt_every=2, try_for=1, check="off",
        initial={"lr": 1.0}, proposer=Ladder(down),
    )  # fmt: skip
    plan = plan_for(adapter, 2)
    [round_] = adapter.run(2)
    tried = [try_.candidate["lr"] for try_ in round_.tries]
    assert tried == sorted(rates, reverse=True)[: len(tried)]  # each once, the nearest first
    assert tried[-1] <= 0.01 < FailsAbove.limit
    assert (len(tried) - 1) % down == 0 or tried[-1] == rates[0]
    assert plan.least.total <= spent(adapter).total <= plan.most.total


def test_a_ladder_ends_at_the_bottom() -> None:
    trainer = FailsAbove()
    trainer.limit = 0.0
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.1, 1.0]}, minimize="loss", adapt_every=2, try_for=1,
        initial={"lr": 1.0}, proposer=Ladder(1),
    )  # fmt: skip
    with raises(AllTriesFailed) as failed:
        adapter.run(2)
    assert str(failed.value).count("diverged") == 3
