"""The joint space of several hyperparameters: one axis for each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from dynhp._checks import is_number, plain_value, require_mapping, require_name
from dynhp.errors import SettingsError, advise, nearest, shown
from dynhp.records import Candidate, Value
from dynhp.spaces.axis import Axis, ScaledAxis
from dynhp.spaces.lists import Ordered, listed

MOST_CANDIDATES = 1_000_000
"""A joint grid larger than this is a mistake: its candidates are never all tried."""


class Space(Mapping[str, Axis]):
    """A joint space: one axis for each hyperparameter under adaptation.

    A plain list or a numpy array stands for an ``Ordered`` axis.

    >>> from dynhp import Float
    >>> space = Space({"lr": Float(1e-3, 1e-1, log=True, points=3), "layers": [1, 2, 3]})
    >>> space
    Space(lr=Float(0.001, 0.1, log=True, points=3), layers=Ordered(1, 2, 3))
    >>> len(space.grid()), space.start()
    (9, Candidate(lr=0.01, layers=2))
    """

    __slots__ = ("_axes", "_edges", "_grid", "given")

    def __init__(self, axes: Mapping[str, Axis | Sequence[Value]]) -> None:
        if not isinstance(axes, Mapping):
            raise SettingsError(
                "a space is a mapping from hyperparameter names to axes or lists of values, "
                f"got {shown(axes)}; write {{'name': [...]}}"
            )
        if not axes:
            raise SettingsError("a space needs at least one hyperparameter, got an empty mapping")
        self._axes = {
            require_name("a hyperparameter's name", name): _axis(name, axis)
            for name, axis in axes.items()
        }
        self._grid: tuple[Candidate, ...] | None = None
        self._edges: dict[str, tuple[Value, Value]] | None = None
        self.given = self  # as it was before a value joined it

    @classmethod
    def empty(cls) -> Space:
        """No hyperparameters, for a run that adapts nothing.

        >>> len(Space.empty()), Space.empty().grid()
        (0, (Candidate(),))
        """
        space = cls({"nothing": (None,)})
        space._axes = {}
        return space

    def __getitem__(self, name: str) -> Axis:
        return self._axes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={axis!r}' for name, axis in self.items())})"

    @property
    def size(self) -> int:
        """How many candidates the grid has, known without making them."""
        size = math.prod(len(axis.grid()) for axis in self.values())
        if size > MOST_CANDIDATES:
            raise SettingsError(
                f"the grid of {shown(self)} has {size} candidates, more than {MOST_CANDIDATES}; "
                "thin out its axes, or use OneAxis, Neighbors or Interpolation"
            )
        return size

    def grid(self) -> tuple[Candidate, ...]:
        """All combinations of the axes' grid values, the last axis running fastest."""
        if self._grid is None:
            _ = self.size  # refuses one that is too large
            values = itertools.product(*(axis.grid() for axis in self.values()))
            self._grid = tuple(Candidate(dict(zip(self, row, strict=True))) for row in values)
        return self._grid

    def start(self) -> Candidate:
        """The candidate a run starts from when no other is given: the middle of each axis."""
        return Candidate({name: axis.start() for name, axis in self.items()})

    def neighbors(self, candidate: Candidate, radius: int = 1) -> tuple[Candidate, ...]:
        """The candidates that differ in one axis by at most ``radius`` steps, axis by axis.

        >>> Space({"lr": [1, 2, 4], "wd": [0.0, 0.1]}).neighbors(Candidate({"lr": 2, "wd": 0.0}))
        (Candidate(lr=1, wd=0.0), Candidate(lr=4, wd=0.0), Candidate(lr=2, wd=0.1))
        """
        return tuple(
            candidate.but({name: value})
            for name, axis in self.items()
            for value in axis.neighbors(candidate[name], radius)
        )

    def including(self, values: Mapping[str, Value]) -> Space:
        """The space with these values on the grids of their axes; it remembers what it was.

        >>> Space({"lr": [0.1, 0.01]}).including({"lr": 0.05})
        Space(lr=Ordered(0.1, 0.05, 0.01))
        """
        axes = {
            name: axis
            if name not in values or listed(values[name], axis.grid())
            else _including(name, axis, plain_value(name, values[name]))
            for name, axis in self.items()
        }
        if axes == self._axes:
            return self
        joined = Space(axes)
        joined.given = self.given
        return joined

    @property
    def edges(self) -> Mapping[str, tuple[Value, Value]]:
        """The smallest and the largest value of each axis of three numbers or more."""
        if self._edges is None:
            numbers = {
                name: sorted(axis.grid())  # type: ignore[type-var]
                for name, axis in self.items()
                if isinstance(axis, ScaledAxis) and axis.scaled and len(axis.grid()) > 2
            }
            self._edges = {name: (grid[0], grid[-1]) for name, grid in numbers.items()}
        return self._edges

    def draw(self, rng: np.random.Generator) -> Candidate:
        """One candidate at random, uniform on each axis' own scale."""
        return Candidate({name: axis.draw(rng) for name, axis in self.items()})

    def admits(self, candidate: Mapping[str, Value]) -> bool:
        """Whether these are the space's names with values of the right type inside the bounds."""
        return candidate.keys() == self._axes.keys() and all(
            axis.admits(candidate[name]) for name, axis in self._axes.items()
        )

    def candidate(self, values: Mapping[str, Value]) -> Candidate:
        """Make a candidate of these values, or say what is wrong with them."""
        require_mapping("values", values, "be a mapping from names to values")
        for name in values:
            if name not in self._axes:
                raise SettingsError(
                    f"unknown hyperparameter {shown(name)}{nearest(name, self._axes)}"
                )
        for name, axis in self.items():
            if name not in values:
                raise SettingsError(
                    f"no value for hyperparameter {shown(name)}; it lies in {shown(axis)}"
                )
        plain = {name: plain_value(name, values[name]) for name in self}
        for name, axis in self.items():
            if not axis.admits(plain[name]):
                raise SettingsError(f"{name} must lie in {shown(axis)}, got {shown(values[name])}")
        return self.cast(plain)

    def cast(self, candidate: Mapping[str, Value]) -> Candidate:
        """The admitted candidate with each value in its axis' own type."""
        values = {name: axis.cast(candidate[name]) for name, axis in self._axes.items()}
        same = list(candidate) == list(values) and all(
            value is values[name] for name, value in candidate.items()
        )
        return candidate if isinstance(candidate, Candidate) and same else Candidate(values)


SpaceLike: TypeAlias = Space | Mapping[str, Axis | Sequence[Value]]
"""What is accepted where a space is asked for."""


def _including(name: str, axis: Axis, value: Value) -> Axis:
    including = getattr(axis, "including", None)
    joined = (axis if axis.admits(value) else None) if including is None else including(value)
    if joined is None:
        raise SettingsError(
            f"{name} is {shown(value)} at the start, which {shown(axis)} cannot hold; change the "
            f"axis so that it can, or set {name} to one of its values before (or by initial=)"
        )
    return joined


def _axis(name: str, axis: Any) -> Axis:
    if isinstance(axis, Axis) and not isinstance(axis, type):
        return axis
    try:
        if getattr(axis, "ndim", None) == 1:  # an array, or a tensor of any library
            values = axis.tolist()
            if str(axis.dtype).endswith("float32"):
                # As numpy's own numbers, of which the decimal that was meant is known.
                values = map(np.float32, values)
            return Ordered(*values)
        if isinstance(axis, Sequence) and not isinstance(axis, str | bytes):
            _look_at_values(name, axis)
            return Ordered(*axis)
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None
    raise SettingsError(
        f"{name}: an axis must be Float, Int, Ordered, Categorical or another Axis, a list or a "
        f"1-d array of values, got {shown(axis)}" + _way_out(axis)
    )


def _way_out(axis: Any) -> str:
    if isinstance(axis, str):
        return "; write a list, of numbers where numbers are meant"
    if isinstance(axis, Mapping):
        return "; write Float(low, high) for a range, and a name of its own for each list of values"
    if isinstance(axis, type):
        return "; make an object of the class, as in Float(0.001, 0.1)"
    if getattr(axis, "ndim", 1) > 1:
        return "; flatten it"
    if isinstance(axis, Iterable):
        return "; write list(...) around it, or sorted(...) where it has no order"
    return "; write a list, such as [0.01, 0.1]"


def _look_at_values(name: str, values: Sequence[Any]) -> None:
    """Refuse numbers that are written as text, and ask whether two numbers are meant as a range."""
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    if texts and all(map(_is_number_text, texts)) and all(map(is_number, others)):
        raise SettingsError(
            f"{shown(texts[0])} is text, not a number; write {texts[0].strip()}, or "
            "Categorical(...) where text is meant"
        )
    if isinstance(values, tuple) and len(values) == 2 and all(map(is_number, values)):
        low, high = values
        advise(
            f"{name}: a tuple of two numbers is read as two values; write Float({low!r}, {high!r}) "
            "for all between them, or a list for just these two"
        )


def _is_number_text(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
