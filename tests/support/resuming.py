"""Runs of every kind, small enough to be broken off everywhere, and ways to break them off.

``make torture`` takes the same kinds of runs, and kills them for real.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    History,
    Interpolation,
    KeepBest,
    Neighbors,
    Placebo,
    Racing,
    lowest,
)
from dynhp.records import Value
from dynhp.rounds.plain import history_to_plain
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import encode
from dynhp.storage.journal import Journal
from dynhp.testing import Fragile, NoisyQuadratic

EPOCHS, ADAPT_EVERY, TRY_FOR = 13, 4, 2
RATES = (0.01, 0.03, 0.1, 0.3)

# Proposers of one and of several waves, selections of one and of several heats, all that decides
# where the main line goes on from, and checkpoints that are rounds apart.
CASES: dict[str, dict[str, Any]] = {
    "grid": {"proposer": FullGrid(), "selection": Best()},
    "margin": {"proposer": Neighbors(), "selection": BestByMargin(noise=1.0), "every": 2},
    "racing": {"proposer": FullGrid(), "selection": Racing(), "bad": {0.3}},
    "waves": {"proposer": Interpolation(), "randomness": "independent", "every": 3},
    "racing waves": {"proposer": Interpolation(), "selection": Racing(), "keep": "value"},
    "value": {"proposer": Neighbors(), "keep": "value", "randomness": "independent", "bad": {0.1}},
    "placebo": {"proposer": Placebo(3), "keep_best": True},
}


class Killed(BaseException):
    """The lights went out."""


class Mortal:
    """A trainer that is killed when it has trained so often; what it was asked is on record."""

    def __init__(self, inner: Any, life: int | None = None) -> None:
        self.inner = inner
        self.left = life
        self.asked: list[tuple[int, Mapping[str, Value]]] = []
        self.get_state, self.set_state = inner.get_state, inner.set_state
        self.metrics, self.reseed = inner.metrics, inner.reseed

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.asked.append((k, dict(hyperparameters)))
        self.inner.train_k(k, hyperparameters)


def mortal(case: Mapping[str, Any], life: int | None = None) -> Mortal:
    inner: Any = NoisyQuadratic(noise=0.5, seed=4)
    if "bad" in case:
        inner = Fragile(lambda: NoisyQuadratic(noise=0.5, seed=4), bad=case["bad"], failure="raise")
        inner.reseed = inner.inner.reseed
    if case.get("keep_best"):
        inner = KeepBest(inner, lowest("loss"))
    return Mortal(inner, life)


def adapter_of(
    trainer: Any,
    case: Mapping[str, Any],
    callbacks: Sequence[Callable[[Any], None]] = (),
    *,
    rates: Sequence[float] = RATES,
    adapt_every: int = ADAPT_EVERY,
    try_for: int = TRY_FOR,
) -> DynamicGridAdapter:
    settings = {key: value for key, value in case.items() if key not in _OURS}
    return DynamicGridAdapter(
        trainer,
        {"lr": rates},
        criterion=lowest("loss"),
        adapt_every=adapt_every,
        try_for=try_for,
        callbacks=callbacks,
        **settings,
    )


_OURS = {"every", "bad", "keep_best"}


def live(
    folder: Path,
    case: Mapping[str, Any],
    life: int | None = None,
    epochs: int = EPOCHS,
    **more: Any,
) -> tuple[Mortal, History]:
    """One life of a run, from wherever it stands."""
    trainer = mortal(case, life)
    adapter = adapter_of(trainer, case, (Journal(folder / "journal", seconds=False),))
    settings = {"every": case.get("every", 1), **more}
    return trainer, run_with_checkpoints(adapter, epochs, checkpoint=folder / "saved", **settings)


def without_times(history: History) -> list[dict[str, Any]]:
    """The history without times, and with nan as a word, so that equal means equal."""
    plain = history_to_plain(history)
    for record in [*plain, *(try_ for round_ in plain for try_ in round_["tries"])]:
        del record["seconds"]
    return plain


def left_by(folder: Path, trainer: Mortal) -> tuple[bytes, bytes]:
    """All that must be the same however often a run was killed."""
    return encode(trainer.get_state()), (folder / "journal").read_bytes()
