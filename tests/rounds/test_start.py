"""What proposers name is looked at before it is tried, once for each candidate and space."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, FullGrid, Space, lowest
from dynhp.errors import ContractError
from dynhp.proposers import Known, Waves
from dynhp.records import Candidate
from dynhp.testing import Quadratic


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
    assert not any(candidate.is_admitted_by(space) for candidate in space.grid())
    for round_ in adapter.run(6):
        assert {try_.candidate for try_ in round_.tries} == set(space.grid())
        assert all(try_.candidate.is_admitted_by(space) for try_ in round_.tries)


def test_casting_a_value_does_not_admit_it() -> None:
    space = Space({"lr": [0.1, 1.0]})
    adapter = adapter_of(space, Fixed(space.cast(Candidate({"lr": 7.0}))))
    for _ in range(2):
        with pytest.raises(ContractError, match=r"proposed Candidate\(lr=7.0\), which is not in"):
            adapter.step()


def test_what_one_space_has_admitted_is_looked_at_by_another() -> None:
    wide, narrow = Space({"lr": [0.1, 1.0]}), Space({"lr": [0.1, 0.5]})
    candidate = Candidate({"lr": 1.0})
    adapter_of(wide, Fixed(candidate)).step()
    assert candidate.is_admitted_by(wide)
    with pytest.raises(ContractError, match="which is not in"):
        adapter_of(narrow, Fixed(candidate)).step()


def test_a_copy_of_a_candidate_is_looked_at_again() -> None:
    space = Space({"lr": [0.1, 1.0]})
    (candidate, _) = adapter_of(space, FullGrid()).step().tries
    assert candidate.candidate.is_admitted_by(space)
    for other in (copy.deepcopy(candidate), pickle.loads(pickle.dumps(candidate))):
        assert other == candidate
        assert not other.candidate.is_admitted_by(space)


def test_a_mapping_becomes_a_candidate() -> None:
    mapping: Candidate = {"lr": 1}  # type: ignore[assignment]
    adapter = adapter_of(Space({"lr": [0.1, 1.0]}), Fixed(mapping))
    assert repr(adapter.step().candidate) == "Candidate(lr=1.0)"
