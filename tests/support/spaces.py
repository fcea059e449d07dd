"""Axes and spaces at random, and runs of a proposer over them without any trainer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dynhp.proposers import Known, Proposer
from dynhp.records import Candidate, Round, Try
from dynhp.selection import Best
from dynhp.spaces import Around, Axis, Categorical, Float, Int, Ordered, Space


@st.composite
def floats_axes(draw: st.DrawFn) -> Float:
    points = draw(st.integers(2, 12))
    if draw(st.booleans()):
        low = draw(st.floats(1e-9, 1e6))
        return Float(low, low * draw(st.floats(1.01, 1e9)), log=True, points=points)
    low = draw(st.floats(-1e6, 1e6))
    return Float(low, low + draw(st.floats(1e-3, 1e6)), points=points)


@st.composite
def int_axes(draw: st.DrawFn) -> Int:
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -50, 50))
    high = low + draw(st.integers(1, 80))
    return Int(low, high, log=log, points=draw(st.none() | st.integers(2, high - low + 1)))


def _sorted_one_way(values: list[Any]) -> Ordered:
    return Ordered(*(sorted(values) if values[0] < values[-1] else sorted(values, reverse=True)))


# Apart enough for a scale: the rounding of values is not what these tests are about.
_numbers = st.integers(-10_000, 10_000)
scaled_lists: st.SearchStrategy[Ordered] = (
    st.lists(_numbers, min_size=1, max_size=7, unique=True)
    | st.lists(_numbers.map(lambda n: n / 64), min_size=1, max_size=7, unique=True)
).map(_sorted_one_way)
ordered_axes: st.SearchStrategy[Ordered] = scaled_lists | st.lists(
    st.text(max_size=3) | st.booleans() | st.none() | st.integers(2, 9) | st.floats(10, 20),
    min_size=1,
    max_size=6,
    unique=True,
).map(lambda values: Ordered(*values))
categorical_axes = ordered_axes.map(lambda axis: Categorical(*axis.values))
ranges: st.SearchStrategy[Float | Int] = floats_axes() | int_axes()
# The list of all axes: a new one is added here, and to those with a scale where it has one.
around_axes = st.builds(Around, st.floats(1e-9, 1e9), st.floats(1.01, 100.0))
axes: st.SearchStrategy[Axis] = ranges | ordered_axes | categorical_axes | around_axes
scaled_axes: st.SearchStrategy[Float | Int | Ordered] = ranges | scaled_lists
small_axes = int_axes().filter(lambda axis: axis.points < 8) | ordered_axes | categorical_axes


def spaces(of: st.SearchStrategy[Any] = axes, *, largest: int = 3) -> st.SearchStrategy[Space]:
    return st.lists(of, min_size=1, max_size=largest).map(
        lambda listed: Space({f"axis{i}": axis for i, axis in enumerate(listed)})
    )


generators = st.integers(0, 2**32).map(np.random.default_rng)


def values_of(axis: Axis, rng: np.random.Generator, *, between: bool) -> Any:
    """An admitted value: of the grid, or anywhere where ``between`` allows it."""
    grid = axis.grid()
    if not between or not getattr(axis, "scaled", False) or rng.random() < 0.3:
        return grid[int(rng.integers(len(grid)))]
    return axis.at(rng.random())  # type: ignore[attr-defined]


def candidate_of(space: Space, rng: np.random.Generator, *, between: bool) -> Candidate:
    return Candidate({name: values_of(axis, rng, between=between) for name, axis in space.items()})


Scores = Callable[[Candidate], tuple[float, str | None]]


def luck(rng: np.random.Generator) -> Scores:
    """Scores of all kinds: with ties, not finite, failed."""

    def score(candidate: Candidate) -> tuple[float, str | None]:
        kind = rng.random()
        if kind < 0.08:
            return math.nan, "RuntimeError: bad luck"
        if kind < 0.16:
            return float(rng.choice([math.nan, math.inf, -math.inf])), None
        return (float(rng.integers(3)) if kind < 0.4 else float(rng.normal())), None

    return score


@dataclass
class ProposedRound:
    """One round as a proposer sees it: what it knew, its waves, and what came of them."""

    known: Known
    waves: list[list[Candidate]]
    round: Round


def run_proposer(
    proposer: Proposer, space: Space, current: Candidate, scores: Scores, *, rounds: int
) -> Iterator[ProposedRound]:
    """What an adapter does with a proposer, as far as the proposer can see."""
    rng = np.random.default_rng(0)
    history: list[Round] = []
    for index in range(rounds):
        tries: list[Try] = []
        waves: list[list[Candidate]] = []
        known = Known(space=space, current=current, history=tuple(history))
        while wave := list(
            proposer.propose(
                Known(space=space, current=current, history=tuple(history), tries=tries), rng
            )
        ):
            waves.append(wave)
            for candidate in wave:
                score, error = scores(candidate)
                tries.append(
                    Try(candidate=candidate, series=(), epochs=1, score=score, error=error)
                )
        order = Best().ranking(history, current)(tries)
        if not order:  # all failed: a run ends here
            return
        round_ = Round(
            index=index,
            start=index,
            epochs=1,
            previous=current,
            tries=tuple(tries),
            chosen=order[0],
            reason="",
            metrics={},
        )
        yield ProposedRound(known, waves, round_)
        history.append(round_)
        current = round_.candidate


def kinds(value: Any) -> tuple[type, ...]:
    """The types of a candidate's values, or of one value."""
    return tuple(map(type, value.values())) if isinstance(value, Candidate) else (type(value),)
