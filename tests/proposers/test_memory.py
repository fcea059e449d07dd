"""Proposers that keep what a long history came to: fast, and with the same answers as without."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Float, Interpolation, OneAxis, Space
from dynhp.proposers import Known, Proposer
from dynhp.records import Candidate, Round, Try

RNG = np.random.default_rng(0)
SPACES = {
    1: Space({"x": Float(0.0, 1.0, points=9)}),
    2: Space({"x": Float(0.0, 1.0, points=9), "y": Float(1e-3, 1.0, log=True, points=5)}),
    3: Space({name: Float(0.0, 1.0, points=7) for name in "xyz"}),
}
KINDS = {
    "Interpolation": Interpolation,
    "OneAxis": lambda: OneAxis(Interpolation()),
    "OneAxis of OneAxis": lambda: OneAxis(OneAxis(Interpolation(shrink=0.25))),
}


def a_round(space: Space, index: int, scores: tuple[float, ...], epochs: int = 1) -> Round:
    """A round on the axis whose turn it is, around its middle."""
    current = space.start()
    name = list(space)[index % len(space)]
    values = (0.5, 0.25, 0.75)
    tries = tuple(
        Try(
            candidate=current.but({name: value}),
            series=(),
            epochs=1 if place else epochs,
            score=score,
        )
        for place, (value, score) in enumerate(zip(values, scores, strict=False))
    )
    return Round(
        index=index,
        start=index,
        epochs=1,
        previous=current,
        tries=tries,
        chosen=0,
        reason="",
        metrics={},
    )


def proposed(proposer: Proposer, space: Space, history: Any) -> list[Candidate]:
    known = Known(space=space, current=space.start(), history=history)
    return list(proposer.propose(known, RNG))


outcomes = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=2, max_size=3).map(tuple),
        st.sampled_from([1, 1, 1, 2]),
    ),
    max_size=12,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SPACES)
@settings(max_examples=12)
@given(outcomes=outcomes, asked=st.lists(st.integers(0, 12), max_size=8))
def test_what_was_asked_before_changes_no_answer(
    kind: str, size: int, outcomes: Any, asked: list[int]
) -> None:
    space, proposer = SPACES[size], KINDS[kind]()
    rounds = [a_round(space, index, *outcome) for index, outcome in enumerate(outcomes)]
    growing: list[Round] = []
    for length in [*range(len(rounds) + 1), *asked]:
        growing[:] = rounds[:length]  # the same list, longer or shorter than before
        for history in (growing, rounds[:length], tuple(rounds[:length]), rounds[length:]):
            assert proposed(proposer, space, history) == proposed(KINDS[kind](), space, history)


@pytest.mark.parametrize("kind", KINDS)
def test_another_history_in_the_same_list_is_another_history(kind: str) -> None:
    space, proposer = SPACES[1], KINDS[kind]()
    settled, unsettled = (2.0, 1.0, 1.0), (0.0, 1.0, 1.0)
    history = [a_round(space, index, unsettled) for index in range(4)]
    proposed(proposer, space, history)
    for rounds in (4, 6, 2, 0):
        history[:] = [a_round(space, index, settled) for index in range(rounds)]
        assert proposed(proposer, space, history) == proposed(KINDS[kind](), space, history)


class WatchedHistory(list[Round]):
    """A history that counts how often a round of it is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SPACES)
def test_few_rounds_of_a_long_history_are_looked_at(kind: str, size: int) -> None:
    space, proposer = SPACES[size], KINDS[kind]()
    history = WatchedHistory()
    for index in range(60):
        history.append(a_round(space, index, (2.0, 1.0, index % 3)))
        history.looks = 0
        proposed(proposer, space, history)
        assert history.looks <= 5 * 3
    assert proposed(proposer, space, history) == proposed(KINDS[kind](), space, list(history))


def test_the_rounds_of_one_axis_can_be_cut_into_pieces() -> None:
    pieces: list[Any] = []

    class LooksBack:
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            pieces.append((known.history[-2:], list(known.history)))
            return [known.current]

        def waves(self, space: Space, current: Candidate) -> Any:
            return None

    space = SPACES[2]
    history = [a_round(space, index, (2.0, 1.0, 1.0)) for index in range(7)]
    proposed(OneAxis(LooksBack()), space, history)
    ((last, whole),) = pieces
    assert [round_.index for round_ in whole] == [1, 3, 5]
    assert last == whole[-2:]
    assert all(set(round_.candidate) == {"y"} for round_ in whole)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_no_part_of_the_proposer(kind: str) -> None:
    space, proposer, new = SPACES[2], KINDS[kind](), KINDS[kind]()
    proposed(proposer, space, [a_round(space, index, (2.0, 1.0, 1.0)) for index in range(50)])
    assert proposer == new
    assert repr(proposer) == repr(new)
    assert hash(proposer) == hash(new)
    assert len(pickle.dumps(proposer)) == len(pickle.dumps(new))
    assert pickle.loads(pickle.dumps(proposer)) == copy.deepcopy(proposer) == new
