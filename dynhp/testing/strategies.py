"""Hypothesis strategies for spaces, candidates and toy problems."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

from dynhp.records import Candidate, Value
from dynhp.spaces import Axis, Categorical, Float, Int, Ordered, ScaledAxis, Space
from dynhp.testing.laws.probe import Make
from dynhp.testing.toys.fragile import Fragile
from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Toy", "axes", "candidates", "spaces", "toy_trainers"]

Toy: TypeAlias = tuple[Make, Space]
"""What builds a toy trainer, and the space it is adapted in."""

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def axes() -> SearchStrategy[Axis]:
    """Draw an axis of any kind."""
    st = _strategies()
    return st.one_of(_floats(), _ints(), _ordered(), _categorical())  # type: ignore[no-any-return]


def spaces(*, max_axes: int = 3) -> SearchStrategy[Space]:
    """Draw a joint space of one to ``max_axes`` axes, called a, b, c and so on."""
    st = _strategies()
    drawn = st.lists(axes(), min_size=1, max_size=max_axes)
    return drawn.map(lambda found: Space(dict(zip("abcdefghij", found, strict=False))))  # type: ignore[no-any-return]


def candidates(space: Space) -> SearchStrategy[Candidate]:
    """Draw a candidate of the space, on the grid or between."""
    st = _strategies()
    values = {name: _values(axis) for name, axis in space.items()}
    return st.fixed_dictionaries(values).map(Candidate)  # type: ignore[no-any-return]


def toy_trainers(*, failing: bool = True) -> SearchStrategy[Toy]:
    """Draw a toy problem: a quick trainer with or without noise, and a space for it.

    With ``failing`` some trainers raise or measure nan for some values, never for all of them.
    """
    st = _strategies()
    kinds = [_calm(), _noisy()] + ([_fragile()] if failing else [])
    return st.one_of(*kinds)  # type: ignore[no-any-return]


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise ImportError(
            "dynhp.testing.strategies needs Hypothesis: pip install hypothesis"
        ) from error
    return strategies


def _floats() -> SearchStrategy[Float]:
    st = _strategies()

    def axis(low: float, ratio: float, log: bool, points: int) -> Float:
        return Float(low, low * ratio, log=log, points=points)

    return st.builds(  # type: ignore[no-any-return]
        axis, st.floats(1e-4, 10.0), st.floats(1.5, 1000.0), st.booleans(), st.integers(2, 6)
    )


def _ints() -> SearchStrategy[Int]:
    st = _strategies()

    def axis(low: int, width: int, log: bool) -> Int:
        return Int(low, low + width, log=log)

    return st.builds(axis, st.integers(1, 20), st.integers(1, 30), st.booleans())  # type: ignore[no-any-return]


def _ordered() -> SearchStrategy[Ordered]:
    st = _strategies()
    numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True)
    floats = numbers.map(lambda found: [value / 8 for value in found])
    words = st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=5, unique=True)
    return st.one_of(numbers, numbers.map(sorted), floats.map(sorted), words).map(  # type: ignore[no-any-return]
        lambda values: Ordered(*values)
    )


def _categorical() -> SearchStrategy[Categorical]:
    st = _strategies()
    things = st.sampled_from([None, "relu", "tanh", "gelu", 2, 0.5])
    return st.lists(things, min_size=1, max_size=4, unique=True).map(  # type: ignore[no-any-return]
        lambda values: Categorical(*values)
    )


def _values(axis: Axis) -> SearchStrategy[Value]:
    st = _strategies()
    listed = st.sampled_from(axis.grid())
    if isinstance(axis, ScaledAxis) and axis.scaled:
        return st.one_of(listed, st.floats(0, 1).map(axis.at))  # type: ignore[no-any-return]
    return listed  # type: ignore[no-any-return]


def _rates(least: int = 1) -> SearchStrategy[list[float]]:
    st = _strategies()
    rates = st.lists(st.sampled_from(RATES), min_size=least, max_size=5, unique=True)
    return rates.map(sorted)  # type: ignore[no-any-return]


def _calm() -> SearchStrategy[Toy]:
    return _rates().map(lambda rates: (Quadratic, Space({"lr": rates})))


def _noisy() -> SearchStrategy[Toy]:
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator]
    def toy(draw: DrawFn) -> Toy:
        axes: dict[str, Any] = {"lr": draw(_rates())}
        if draw(st.booleans()):
            axes["momentum"] = draw(st.sampled_from([[0.0, 0.9], [0.0, 0.5, 0.9]]))
        return draw(_noisy_makes()), Space(axes)

    return toy()  # type: ignore[no-any-return]


def _fragile() -> SearchStrategy[Toy]:
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator]
    def toy(draw: DrawFn) -> Toy:
        rates = draw(_rates(2))
        bad = draw(st.lists(st.sampled_from(rates), min_size=1, max_size=len(rates) - 1))
        how = draw(st.sampled_from(["raise", "nan"]))
        make = functools.partial(Fragile, draw(_noisy_makes()), bad=tuple(bad), how=how)
        return make, Space({"lr": rates})

    return toy()  # type: ignore[no-any-return]


def _noisy_makes() -> SearchStrategy[Any]:
    st = _strategies()

    def make(dimensions: int, condition: float, noise: float, seed: int) -> Make:
        return functools.partial(
            NoisyQuadratic, dimensions=dimensions, condition=condition, noise=noise, seed=seed
        )

    return st.builds(  # type: ignore[no-any-return]
        make,
        st.integers(1, 4),
        st.sampled_from([1.0, 10.0, 100.0]),
        st.sampled_from([0.0, 0.1, 1.0]),
        st.integers(0, 2**16),
    )
