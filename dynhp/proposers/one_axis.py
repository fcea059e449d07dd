"""One hyperparameter at a time: another proposer, applied to one axis after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dynhp._checks import require_instance
from dynhp.proposers.contract import Known, Proposer, Waves
from dynhp.proposers.grid import FullGrid
from dynhp.records import Candidate, Round, Try
from dynhp.records.append_only import grew_from
from dynhp.spaces import Space


@dataclass(frozen=True, slots=True)
class OneAxis:
    """One hyperparameter per round, in turn; ``along`` says how it is searched.

    >>> from dynhp.proposers import Neighbors
    >>> space = Space({"lr": [1, 2, 4], "wd": [0.0, 0.1]})
    >>> known = Known(space=space, current=Candidate({"lr": 2, "wd": 0.0}))
    >>> OneAxis(Neighbors()).propose(known, np.random.default_rng(0))
    [Candidate(lr=2, wd=0.0), Candidate(lr=1, wd=0.0), Candidate(lr=4, wd=0.0)]
    """

    along: Proposer = field(default_factory=FullGrid)

    def __post_init__(self) -> None:
        require_instance("OneAxis: along", self.along, Proposer, "a proposer such as Neighbors()")

    @property
    def randomness(self) -> str:
        """What the inner proposer needs, if it says so."""
        return self.along.randomness  # type: ignore[attr-defined,no-any-return]

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """What the inner proposer says for the axis whose turn it is."""
        names = list(known.space)
        turn = len(known.history) % len(names)
        name = names[turn]
        narrow = Known(
            space=Space({name: known.space[name]}),
            current=only(known.current, name),
            history=Narrowed(known.history, name, turn=turn, turns=len(names)),
            tries=[narrow_try(try_, name) for try_ in known.tries],
        )
        return [known.current.but(values) for values in self.along.propose(narrow, rng)]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Wave by wave between the smallest and the largest of the axes."""
        each = [
            self.along.waves(Space({name: axis}), only(current, name))
            for name, axis in space.items()
        ]
        return Waves(
            wave_by_wave(min, (waves.least for waves in each)),
            wave_by_wave(max, (waves.most for waves in each)),
        )


def only(candidate: Candidate, name: str) -> Candidate:
    """The candidate seen along one axis."""
    return Candidate({name: candidate[name]})


def narrow_try(try_: Try, name: str) -> Try:
    """A try seen along one axis."""
    return replace(try_, candidate=only(try_.candidate, name))


class Narrowed(Sequence[Round]):
    """The rounds in which an axis has its turn, narrowed to it only when they are looked at."""

    def __init__(self, rounds: Sequence[Round], name: str, *, turn: int, turns: int) -> None:
        self._rounds = rounds
        self._name = name
        self._turn = turn
        self._turns = turns

    def grew_from(self, other: object) -> bool:
        """Whether both are the same view, and the rounds of this one those of the other, or more.

        So the inner proposer sees that its history only grows.
        """
        if not isinstance(other, Narrowed):
            return False
        same = (self._name, self._turn, self._turns) == (other._name, other._turn, other._turns)
        return same and grew_from(self._rounds, other._rounds)

    def __len__(self) -> int:
        return len(range(self._turn, len(self._rounds), self._turns))

    def __getitem__(self, index: Any) -> Any:  # int -> Round, slice -> list
        places = range(self._turn, len(self._rounds), self._turns)[index]
        if isinstance(places, range):
            return [self._narrow(self._rounds[place]) for place in places]
        return self._narrow(self._rounds[places])

    def _narrow(self, round_: Round) -> Round:
        tries = tuple(narrow_try(try_, self._name) for try_ in round_.tries)
        corrected = None if round_.corrected is None else only(round_.corrected, self._name)
        previous = only(round_.previous, self._name)
        return replace(round_, previous=previous, tries=tries, corrected=corrected)


def wave_by_wave(
    pick: Callable[[Iterable[int]], int], sizes: Iterable[tuple[int, ...]]
) -> tuple[int, ...]:
    """The smallest or the largest size of each wave; a wave that is not there has size 0.

    Not the smallest or largest sum: with racing, one more wave costs more than a larger one.

    >>> wave_by_wave(max, [(5,), (3, 1)]), wave_by_wave(min, [(5,), (3, 1)])
    ((5, 1), (3,))
    """
    picked = map(pick, itertools.zip_longest(*sizes, fillvalue=0))
    return tuple(size for size in picked if size)
