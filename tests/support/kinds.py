"""One row for each proposer, selection, criterion and trigger, for all tests of that kind.

Axes have their own list: ``axes`` in ``tests/support/spaces.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Placebo,
    Racing,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
)
from dynhp.criteria import Criterion
from dynhp.proposers import Climb, Ladder, Proposer
from dynhp.triggers import At, Every, LineSoFar, OnPlateau, OnSpike, any_of
from tests.support.spaces import around_axes, axes, scaled_axes, small_axes


@dataclass(frozen=True, kw_only=True)
class ProposerRow:
    """A proposer: examples for whole runs, and any of its kind on any space that suits it.

    ``between`` says that a run may start between grid values, ``repeats`` that a round may try a
    candidate more than once, ``stays`` that a run may never leave its first value. Each also runs
    along one axis at a time, inside ``OneAxis``.
    """

    examples: tuple[Proposer, ...]
    any_of_kind: st.SearchStrategy[Any]
    suits: st.SearchStrategy[Any] = axes
    between: bool = True
    repeats: bool = False
    stays: bool = False
    most_axes: int = 3


_steps = {
    "shrink": st.sampled_from([0.25, 0.5, 1.0]),
    "grow": st.sampled_from([1.0, 2.0, 8.0]),
    "smallest": st.sampled_from([1e-12, 1 / 64, 1.0]),
}
PROPOSER_ROWS = [
    ProposerRow(
        examples=(FullGrid(),),
        any_of_kind=st.just(FullGrid()),
        suits=small_axes,
        between=False,
        most_axes=2,
    ),
    ProposerRow(
        examples=(Neighbors(), Neighbors(2)), any_of_kind=st.builds(Neighbors, st.integers(1, 3))
    ),
    ProposerRow(
        examples=(Interpolation(),),
        any_of_kind=st.builds(Interpolation, **_steps),
        suits=scaled_axes,
    ),
    ProposerRow(
        examples=(Ladder(), Ladder(1)),
        any_of_kind=st.builds(Ladder, st.integers(1, 4)),
        suits=scaled_axes,
        stays=True,
    ),
    ProposerRow(
        examples=(Climb(), Climb(2)),
        any_of_kind=st.builds(Climb, st.integers(1, 4)),
        suits=scaled_axes | around_axes,
    ),
    ProposerRow(
        examples=(Placebo(3),),
        any_of_kind=st.builds(Placebo, st.integers(1, 4)),
        repeats=True,
        stays=True,
    ),
]
PROPOSERS: list[Any] = [
    *(example for row in PROPOSER_ROWS for example in row.examples),
    *(OneAxis(row.examples[0]) for row in PROPOSER_ROWS),
]

SELECTIONS: list[Any] = [
    Best(),
    Racing(),
    Racing(0.3),
    Racing(every=2),
    BestByMargin(delta=0.001),
    BestByMargin(noise=1.0),
]


def third_epochs(line: LineSoFar) -> bool:
    """A trigger of one's own."""
    return line.epoch % 3 == 0 and line.epoch not in line.fired


def worse(line: LineSoFar) -> bool:
    """Another, which reads what was measured and does not say so."""
    values = [metrics["loss"] for _, metrics in line.measured[-2:]]
    return line.now is not None and len(values) == 2 and values[1] > values[0]


TRIGGERS: list[Any] = [
    Every(4),
    At([0, 3, 0.5]),
    OnPlateau("loss", patience=2),
    OnPlateau("loss", patience=3, min_delta=0.05, cooldown=2),
    OnSpike("loss", factor=1.5, window=4),
    OnSpike("loss", sigmas=1.0, window=3),
    any_of(Every(5), OnSpike("loss", factor=2.0)),
    any_of(OnPlateau("norm", patience=3), OnSpike("loss", factor=2.0)),
    third_epochs,
    any_of(worse, At([2])),
]
LOSS_TRIGGERS = [trigger for trigger in TRIGGERS if "norm" not in getattr(trigger, "metrics", ())]

CRITERIA: list[tuple[Criterion, tuple[str, ...], str]] = [  # the names it reads, and its repr
    (highest("auc"), ("auc",), "highest('auc')"),
    (lowest("loss"), ("loss",), "lowest('loss')"),
    (smallest_gap("t", "v"), ("t", "v"), "smallest_gap('t', 'v')"),
    (smallest_gap("t", "v", floor=0.5), ("t", "v"), "smallest_gap('t', 'v', floor=0.5)"),
    (smoothed(highest("auc"), 3), ("auc",), "smoothed(highest('auc'), 3)"),
    (smoothed(highest("auc")), ("auc",), "smoothed(highest('auc'), None)"),
    (smoothed(highest("auc"), 0.25), ("auc",), "smoothed(highest('auc'), 0.25)"),
    (
        phased(lowest("ema"), smallest_gap("t", "ema"), at=0.7),
        ("ema", "t"),
        "phased(lowest('ema'), smallest_gap('t', 'ema'), at=0.7)",
    ),
]


def randomness_of(proposer: Proposer, wanted: str) -> str:
    """The randomness that this proposer needs, or the one wanted where it needs none."""
    return getattr(proposer, "randomness", wanted)


def row_of(proposer: Proposer) -> ProposerRow:
    """The row of this proposer, or of the one inside ``OneAxis``."""
    kind = type(getattr(proposer, "along", proposer))
    return next(row for row in PROPOSER_ROWS if type(row.examples[0]) is kind)
