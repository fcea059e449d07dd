"""Hypothesis strategies for spaces, candidates and toy problems."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

from dynhp.records import Candidate, Value
from dynhp.spaces import Axis, Categorical, Float, Int, Ordered, ScaledAxis, Space
from dynhp.testing.laws.probe import Make
from dynhp.testing.toys import Fragile, NoisyQuadratic, Quadratic

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise ImportError(
        "dynhp.testing.strategies needs Hypothesis: pip install hypothesis"
    ) from error

__all__ = ["Toy", "axes", "candidates", "spaces", "toy_trainers"]

Toy: TypeAlias = tuple[Make, Space]
"""What builds a toy trainer, and the space it is adapted in."""

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def axes() -> SearchStrategy[Axis]:
    """Draw an axis of any kind.

    >>> from hypothesis import find
    >>> len(find(axes(), lambda axis: len(axis.grid()) > 2).grid())
    3
    """
    return st.one_of(_floats(), _ints(), _ordered(), _categorical())


def spaces(*, max_axes: int = 3) -> SearchStrategy[Space]:
    """Draw a joint space of one to ``max_axes`` axes, called a, b, c and so on.

    >>> from hypothesis import find
    >>> list(find(spaces(), lambda space: len(space) == 2))
    ['a', 'b']
    """
    drawn = st.lists(axes(), min_size=1, max_size=max_axes)
    return drawn.map(lambda chosen: Space(dict(zip("abcdefghij", chosen, strict=False))))


def candidates(space: Space) -> SearchStrategy[Candidate]:
    """Draw a candidate of the space, on the grid or between.

    >>> from hypothesis import find
    >>> find(candidates(Space({"lr": [0.1, 0.2]})), lambda candidate: candidate["lr"] > 0.1)
    Candidate(lr=0.2)
    """
    values = {name: _values(axis) for name, axis in space.items()}
    return st.fixed_dictionaries(values).map(Candidate)


def toy_trainers(*, failing: bool = True) -> SearchStrategy[Toy]:
    """Draw a toy problem: a quick trainer with or without noise, and a space for it.

    With ``failing`` some trainers raise or measure nan for some values, never for all of them.

    >>> from hypothesis import find
    >>> make, space = find(toy_trainers(), lambda toy: len(toy[1].grid()) == 2)
    >>> make().train_k(1, space.start())
    """
    kinds = [_without_noise(), _noisy()]
    return st.one_of(*kinds, _fragile()) if failing else st.one_of(*kinds)


def _floats() -> SearchStrategy[Float]:
    def axis(low: float, ratio: float, log: bool, points: int) -> Float:
        return Float(low, low * ratio, log=log, points=points)

    return st.builds(
        axis, st.floats(1e-4, 10.0), st.floats(1.5, 1000.0), st.booleans(), st.integers(2, 6)
    )


def _ints() -> SearchStrategy[Int]:
    def axis(low: int, width: int, log: bool) -> Int:
        return Int(low, low + width, log=log)

    return st.builds(axis, st.integers(1, 20), st.integers(1, 30), st.booleans())


def _ordered() -> SearchStrategy[Ordered]:
    numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True)
    floats = numbers.map(lambda drawn: sorted(number / 8 for number in drawn))
    words = st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=5, unique=True)
    lists: SearchStrategy[Any] = st.one_of(numbers, numbers.map(sorted), floats, words)
    return lists.map(lambda values: Ordered(*values))


def _categorical() -> SearchStrategy[Categorical]:
    things: SearchStrategy[Any] = st.sampled_from([None, "relu", "tanh", "gelu", 2, 0.5])
    lists = st.lists(things, min_size=1, max_size=4, unique=True)
    return lists.map(lambda values: Categorical(*values))


def _values(axis: Axis) -> SearchStrategy[Value]:
    listed = st.sampled_from(axis.grid())
    if isinstance(axis, ScaledAxis) and axis.scaled:
        return st.one_of(listed, st.floats(0, 1).map(axis.at))
    return listed


def _rates(least: int = 1) -> SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(RATES), min_size=least, max_size=5, unique=True).map(sorted)


def _without_noise() -> SearchStrategy[Toy]:
    return _rates().map(lambda rates: (Quadratic, Space({"lr": rates})))


@st.composite
def _noisy(draw: st.DrawFn) -> Toy:
    axes: dict[str, Any] = {"lr": draw(_rates())}
    if draw(st.booleans()):
        axes["momentum"] = draw(st.sampled_from([[0.0, 0.9], [0.0, 0.5, 0.9]]))
    return draw(_noisy_makes()), Space(axes)


@st.composite
def _fragile(draw: st.DrawFn) -> Toy:
    rates = draw(_rates(2))
    bad = rates[draw(st.integers(1, len(rates) - 1)) :]  # as large rates do
    failure: Any = draw(st.sampled_from(["raise", "nan"]))
    make = functools.partial(Fragile, draw(_noisy_makes()), bad=tuple(bad), failure=failure)
    return make, Space({"lr": rates})


def _noisy_makes() -> SearchStrategy[Any]:
    return st.builds(
        functools.partial,
        st.just(NoisyQuadratic),
        dimensions=st.integers(1, 4),
        condition=st.sampled_from([1.0, 10.0, 100.0]),
        noise=st.sampled_from([0.0, 0.1, 1.0]),
        seed=st.integers(0, 2**16),
    )
