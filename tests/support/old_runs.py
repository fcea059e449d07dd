"""The runs of which ``tests/fixtures/before_layout`` holds files, one for each kind of setting.

``scripts/make_format_fixtures.py`` has carried them out with the code of before, the tests of old
files go on with them: so only names that ``dynhp`` and ``dynhp.testing`` had then are used here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import dynhp
from dynhp import (
    Best,
    BestByMargin,
    Categorical,
    DynamicGridAdapter,
    Float,
    FullGrid,
    Int,
    Interpolation,
    KeepBest,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Racing,
    Space,
    attribute,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
)
from dynhp.testing import Fragile, NoisyQuadratic
from tests.support.killing import Killed, MortalTrainer

EPOCHS, ADAPT_EVERY, TRY_FOR = 13, 4, 2  # three rounds of four epochs and one of one


def own_criterion(series: Sequence[Mapping[str, float]], progress: object) -> float:
    """A function of a user, which checkpoints know by its name."""
    return -series[-1]["loss"] - series[0]["loss"]


RATES = Ordered(0.03, 0.1, 0.3, 0.9)
WIDE = Space(
    {
        "lr": Float(0.01, 2.56, log=True, points=5),
        "batch": Int(1, 3),
        "momentum": Ordered(0.0, 0.5, 0.9),
        "kind": Categorical("plain", "heavy"),
    }
)
CASES: dict[str, dict[str, Any]] = {
    "full_grid": {"proposer": FullGrid(), "selection": Best()},
    "racing": {"proposer": FullGrid(), "selection": Racing(), "bad": {0.3}, "dies": (2, 5)},
    "interpolation": {
        "space": Space({"lr": Float(0.01, 2.56, log=True, points=5)}),
        "proposer": Interpolation(),
        "criterion": smoothed(lowest("loss"), 2),
        "dies": (2, 7),  # in the second wave
    },
    "racing_interpolation": {
        "space": Space({"lr": RATES}),
        "proposer": Interpolation(shrink=0.25),
        "selection": Racing(keep=0.7),
        "keep": "value",
    },
    "independent_neighbors": {
        "space": Space({"lr": RATES, "batch": Int(1, 4, log=True, points=3)}),
        "proposer": Neighbors(),
        "randomness": "independent",
        "criterion": phased(highest("score"), smoothed(lowest("loss")), at=0.5),
    },
    "by_margin": {
        "proposer": Neighbors(radius=2),
        "selection": BestByMargin(delta=0.001, noise=1.0),
        "keep": "value",
        "randomness": "independent",
        "seed": 7,
        "every": 2,
        "dies": (3, 2),  # a round after the last checkpoint, so that tries of two rounds are there
    },
    "placebo_with_keep_best": {"proposer": Placebo(3), "keep_best": True},
    "one_axis": {
        "space": WIDE,
        "proposer": OneAxis(Neighbors()),
        "criterion": smallest_gap("fit", "loss", floor=0.01),
        "initial": {"lr": 0.05, "batch": 2, "momentum": 0.5, "kind": "heavy"},
    },
    "highest": {
        "space": Space({"kind": Categorical("plain", "heavy"), "nesterov": [False, True]}),
        "criterion": highest("score"),
    },
    "own_criterion": {"criterion": own_criterion},
}


class Wide(NoisyQuadratic):
    """Takes values of every kind, and measures more than one thing."""

    def __init__(self) -> None:
        super().__init__(noise=0.5, seed=4)
        self.curvature = np.array([0.125, 0.25, 0.5, 1.0])  # the same bits on every machine
        self.in_force = {}

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.in_force = dict(hyperparameters)
        heavy = self.in_force.get("kind", "heavy") == "heavy"
        momentum = self.in_force.get("momentum", 0.9) if heavy else 0.0
        if self.in_force.get("nesterov"):
            momentum /= 2
        for _ in range(k):
            self.step(self.in_force.get("lr", 0.1), momentum)

    def draw(self) -> Any:
        batch = self.in_force.get("batch", 1)
        return sum(super(Wide, self).draw() for _ in range(batch)) / batch

    def metrics(self) -> dict[str, float]:
        ahead = self.weights + self.velocity
        measured = super().metrics()
        fit = float(0.5 * np.sum(self.curvature * ahead**2))
        return {**measured, "fit": fit, "score": 1 / (1 + measured["loss"])}


def made(name: str, callbacks: Sequence[Callable[[Any], None]] = ()) -> DynamicGridAdapter:
    """The adapter of a case, around a new trainer."""
    case = CASES[name]
    inner: Any = Fragile(Wide, bad=case["bad"], failure="raise") if "bad" in case else Wide()
    if "keep_best" in case:
        inner = KeepBest(inner, lowest("loss"))
    not_of_adapters = {"bad", "keep_best", "dies", "every"}
    settings = {"space": {"lr": RATES}, "criterion": lowest("loss"), **case}
    return DynamicGridAdapter(
        MortalTrainer(inner),
        adapt_every=ADAPT_EVERY,
        try_for=TRY_FOR,
        callbacks=callbacks,
        check="off",  # those runs knew of none
        **{key: value for key, value in settings.items() if key not in not_of_adapters},
    )


class LoopRun:
    """A loop of a user's own, with a bound value, a generator and numpy's global one."""

    def __init__(self) -> None:
        self.model, self.knobs = Wide(), SimpleNamespace(batch=1)
        self.generator = np.random.default_rng(5)
        self.loop = dynhp.adapt(
            EPOCHS,
            state=[self.model, self.generator],
            space={"lr": RATES, "batch": Int(1, 2)},
            bind={"batch": attribute(self.knobs, "batch")},
            criterion=lowest("loss"),
            adapt_every=ADAPT_EVERY,
            try_for=TRY_FOR,
            check="off",
        )
        self.passes = 0

    def __call__(self, until: int | None = None) -> None:
        """Run the loop, to its end or until it is killed."""
        for epoch in self.loop:
            if self.passes == until:
                raise Killed
            self.passes += 1
            self.model.train_k(1, {"lr": epoch.values["lr"], "batch": self.knobs.batch})
            self.model.weights += 0.01 * self.generator.random() + 0.01 * np.random.random()
            epoch.report(loss=self.model.metrics()["loss"])


class KillIn:
    """A callback that has the trainer killed in a round, after so many calls."""

    def __init__(self, round_: int, calls: int) -> None:
        self.round, self.calls = round_, calls
        self.trainer: Any = None

    def __call__(self, event: Any) -> None:
        if type(event).__name__ == "RoundStarted" and event.index == self.round:
            self.trainer.left = self.calls
