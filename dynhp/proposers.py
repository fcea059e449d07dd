"""Proposers: which candidates a round tries, as pure functions of what is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dynhp.errors import SettingsError
from dynhp.records import Candidate, Round, Try, Value
from dynhp.space import Axis, Space

__all__ = ["FullGrid", "Known", "Neighbors", "OneAxis", "Placebo", "Proposer", "Waves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that a proposer may look at: never a state, never the trainer.

    ``tries`` are the tries of this round so far: none when its first wave is asked for.
    """

    space: Space
    current: Candidate
    history: Sequence[Round] = ()
    tries: Sequence[Try] = ()


class Waves(NamedTuple):
    """The sizes of a round's waves of candidates, at least and at most; the cost follows.

    They hold wave by wave (one that is not there has size 0), in every round of a run, and a
    larger wave never costs less: so what they cost bounds what a round costs.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]


@runtime_checkable
class Proposer(Protocol):
    """Says which candidates to try. The value in force comes first, so that ties never move it.

    It may have an attribute ``randomness`` ("common" or "independent") where it only makes sense
    with one of them.
    """

    def propose(self, known: Known, rng: np.random.Generator) -> Sequence[Candidate]:
        """The next wave of candidates, all from the round's origin; empty ends the tries."""
        ...

    def waves(self, space: Space, current: Candidate) -> Waves:
        """How many candidates a round has; raises where the space does not suit."""
        ...


@dataclass(frozen=True, slots=True)
class FullGrid:
    """All combinations of the grid values, as in the paper; the value in force first.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 2}))
    >>> FullGrid().propose(known, np.random.default_rng(0))
    [Candidate(lr=2), Candidate(lr=1), Candidate(lr=4)]
    """

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The whole grid, in one wave."""
        if known.tries:
            return []
        others = (candidate for candidate in known.space.grid() if candidate != known.current)
        return [known.current, *others]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """One wave, the size of the grid."""
        if current not in space.grid():
            raise SettingsError(
                f"FullGrid: the initial value {dict(current)!r} is not on the grid of {space!r}; "
                "start from a grid value, or use Neighbors or Interpolation"
            )
        return Waves((len(space.grid()),), (len(space.grid()),))


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The value in force and those adjacent to it on every axis; at the ends only what exists.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 4}))
    >>> Neighbors().propose(known, np.random.default_rng(0))
    [Candidate(lr=4), Candidate(lr=2)]
    """

    radius: int = 1

    def __post_init__(self) -> None:
        require_count("Neighbors: radius", self.radius)

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """One wave around the value in force."""
        if known.tries:
            return []
        return [known.current, *known.space.neighbors(known.current, self.radius)]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Bounded by what lies at the ends and what lies in the middle of the axes."""
        sizes = [self._sizes(axis, current[name]) for name, axis in space.items()]
        return Waves((1 + sum(map(min, sizes)),), (1 + sum(map(max, sizes)),))

    def _sizes(self, axis: Axis, value: Value) -> list[int]:
        grid = axis.grid()
        sizes = [len(axis.neighbors(known, self.radius)) for known in grid]
        if value not in grid:
            # Neighbours of grid values are grid values, but a run can start between them; there
            # up to ``radius`` lie on either side, and no more than the grid has in all.
            sizes.append(min(2 * self.radius, len(grid)))
        return sizes


@dataclass(frozen=True, slots=True)
class OneAxis:
    """One hyperparameter per round, in turn; ``along`` says how it is searched.

    >>> space = Space({"lr": [1, 2, 4], "wd": [0.0, 0.1]})
    >>> known = Known(space=space, current=Candidate({"lr": 2, "wd": 0.0}))
    >>> OneAxis(Neighbors()).propose(known, np.random.default_rng(0))
    [Candidate(lr=2, wd=0.0), Candidate(lr=1, wd=0.0), Candidate(lr=4, wd=0.0)]
    """

    along: Proposer = field(default_factory=FullGrid)

    def __post_init__(self) -> None:
        if not isinstance(self.along, Proposer) or isinstance(self.along, type):
            raise SettingsError(
                f"OneAxis: along must be a proposer such as Neighbors(), got {self.along!r}"
            )

    @property
    def randomness(self) -> str:
        """What the inner proposer needs, if it says so."""
        return self.along.randomness  # type: ignore[attr-defined,no-any-return]

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """What the inner proposer says for the axis whose turn it is."""
        names = list(known.space)
        turn = len(known.history) % len(names)
        narrow = self._narrow(known, names[turn], known.history[turn :: len(names)])
        return [known.current.but(found) for found in self.along.propose(narrow, rng)]

    def _narrow(self, known: Known, name: str, history: Sequence[Round]) -> Known:
        return Known(
            space=Space({name: known.space[name]}),
            current=only(known.current, name),
            history=Narrowed(history, name),
            tries=[narrow_try(try_, name) for try_ in known.tries],
        )

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


@dataclass(frozen=True, slots=True)
class Placebo:
    """The value in force, ``k`` times: what merely choosing the luckiest copy is worth.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 4}))
    >>> Placebo(2).propose(known, np.random.default_rng(0))
    [Candidate(lr=4), Candidate(lr=4)]
    """

    k: int
    randomness: ClassVar[str] = "independent"  # under common random numbers all copies are one

    def __post_init__(self) -> None:
        require_count("Placebo: k", self.k)

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The same candidate again and again."""
        return [] if known.tries else [known.current] * self.k

    def waves(self, space: Space, current: Candidate) -> Waves:
        """One wave of ``k``."""
        return Waves((self.k,), (self.k,))


def only(candidate: Candidate, name: str) -> Candidate:
    """The candidate seen along one axis."""
    return Candidate({name: candidate[name]})


def narrow_try(try_: Try, name: str) -> Try:
    """A try seen along one axis."""
    return replace(try_, candidate=only(try_.candidate, name))


def narrow_round(round_: Round, name: str) -> Round:
    """A round seen along one axis."""
    tries = tuple(narrow_try(try_, name) for try_ in round_.tries)
    return replace(round_, previous=only(round_.previous, name), tries=tries)


class Narrowed(Sequence[Round]):
    """Rounds seen along one axis, each narrowed only when it is looked at."""

    def __init__(self, rounds: Sequence[Round], name: str) -> None:
        self._rounds = rounds
        self._name = name

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, index: Any) -> Any:  # int -> Round, slice -> Narrowed
        if isinstance(index, slice):
            return Narrowed(self._rounds[index], self._name)
        return narrow_round(self._rounds[index], self._name)


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


def require_count(what: str, value: object) -> None:
    """Refuse what is no whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"{what} must be a whole number above 0, got {value!r}")
