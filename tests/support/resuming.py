"""Runs of every kind, small enough to be broken off everywhere, and ways to break them off.

``make torture`` takes the same kinds of runs, and kills them for real.
"""

from __future__ import annotations

import json
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
from dynhp.proposers import Climb, Ladder
from dynhp.records.plain import history_to_plain
from dynhp.snapshots import Snapshots
from dynhp.spaces import Around
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import encode
from dynhp.storage.journal import Journal
from dynhp.tails import annealed, scale
from dynhp.testing import NoisyQuadratic
from dynhp.testing.toys.fragile import Fragile
from dynhp.triggers import At, Every, OnPlateau, OnSpike, any_of
from tests.support.killing import MortalTrainer
from tests.support.kinds import worse

EPOCHS, ADAPT_EVERY, TRY_FOR = 13, 4, 2
RATES = (0.01, 0.03, 0.1, 0.3)

# Rounds start from epochs before the end of a kept try: the first case here, the second in torture.
_INSIDE: dict[str, Any] = {
    "when": any_of(worse, At([2])),
    "start_from": "best",
    "max_rounds": 6,
    "record_every": 3,
    "try_for": 4,
    "selection": Racing(every=2),
}

# Proposers of one and of several waves, selections of one and of several stages, all that decides
# where the main line goes on from, and checkpoints that are rounds apart.
CASES: dict[str, dict[str, Any]] = {
    "grid": {"proposer": FullGrid(), "selection": Best()},
    "margin": {"proposer": Neighbors(), "selection": BestByMargin(noise=1.0), "every": 2},
    "racing": {"proposer": FullGrid(), "selection": Racing(), "bad": {0.3}},
    "waves": {"proposer": Interpolation(), "randomness": "independent", "every": 3},
    "racing waves": {"proposer": Interpolation(), "selection": Racing(), "keep": "value"},
    "value": {"proposer": Neighbors(), "keep": "value", "randomness": "independent", "bad": {0.1}},
    "placebo": {"proposer": Placebo(3), "keep_best": True},
    "tail": {"proposer": Neighbors(), "tail": annealed("lr", epochs=1)},
    "ladder": {
        "when": At([0, 6]),
        "space": {"lr": Around(0.03)},
        "try_for": 0,
        "tail": annealed("lr", epochs=0.2),
        "proposer": Climb(3),
        "keep": "value",
        "then": scale(0.3),
        "bad": {0.3},
    },
    "plateau": {
        "when": OnPlateau("loss", patience=2),
        "start_from": "best",
        "max_rounds": 4,
        "record_every": 3,
        "proposer": Neighbors(),
    },
    "inside": {**_INSIDE, "proposer": Neighbors()},
    "inside, in the noise": {**_INSIDE, "proposer": Placebo(3)},
    "rescue": {
        "when": any_of(At([0.5]), OnSpike("loss", window=4, factor=1.6)),
        "start_from": "before",
        "snapshots": Snapshots(k=2, every=2),
        "max_rounds": 2,
        "max_rescues": 40,
        "record_every": 4,
        "proposer": Ladder(2),
        "bad": {0.1},
        "initial": {"lr": 0.1},
    },
    "clock": {"when": Every(3), "record_every": 5, "max_rounds": 5, "keep_best": True},
    "moments": {
        "when": any_of(At([1, 0.3, 7]), At([0.9])),
        "record_every": 4,
        "selection": Racing(),
        "keep": "value",
        "randomness": "independent",
    },
    "spikes": {
        "when": any_of(Every(5), OnSpike("loss", sigmas=2.0, window=3)),
        "start_from": "before",
        "max_rounds": 4,
        "max_rescues": 40,
        "proposer": Ladder(1),
        "every": 2,
    },
    "one's own": {
        "when": any_of(worse, OnPlateau("loss", patience=3, cooldown=1)),
        "start_from": "before",
        "snapshots": Snapshots(k=3, every=3),
        "max_rounds": 3,
        "record_every": 3,
        "keep_best": True,
    },
}


def mortal(case: Mapping[str, Any], calls: int | None = None) -> MortalTrainer:
    """The trainer of a case, which is killed after so many calls of ``train_k``."""
    inner: Any = NoisyQuadratic(noise=0.5, seed=4)
    if "bad" in case:
        inner = Fragile(lambda: NoisyQuadratic(noise=0.5, seed=4), bad=case["bad"], failure="raise")
        inner.reseed = inner.inner.reseed
    if case.get("keep_best"):
        inner = KeepBest(inner, lowest("loss"))
    return MortalTrainer(inner, calls, powers=("reseed",))


def adapter_of(
    trainer: Any,
    case: Mapping[str, Any],
    callbacks: Sequence[Callable[[Any], None]] = (),
    *,
    rates: Sequence[float] = RATES,
    adapt_every: int = ADAPT_EVERY,
    try_for: int = TRY_FOR,
) -> DynamicGridAdapter:
    settings = {key: value for key, value in case.items() if key not in _NOT_OF_ADAPTERS}
    return DynamicGridAdapter(
        trainer,
        criterion=lowest("loss"),
        adapt_every=None if "when" in settings else adapt_every,
        callbacks=callbacks,
        **{"space": {"lr": rates}, "try_for": try_for, "check": "off", **settings},
    )


_NOT_OF_ADAPTERS = {"every", "bad", "keep_best"}


def run_on(
    folder: Path,
    case: Mapping[str, Any],
    calls: int | None = None,
    epochs: int = EPOCHS,
    **more: Any,
) -> tuple[MortalTrainer, History]:
    """Start or go on with the run in a folder, until its end or a kill after so many calls."""
    trainer = mortal(case, calls)
    adapter = adapter_of(trainer, case, (Journal(folder / "journal", seconds=False),))
    settings = {"every": case.get("every", 1), **more}
    return trainer, run_with_checkpoints(adapter, epochs, checkpoint=folder / "saved", **settings)


def without_times(history: History) -> list[dict[str, Any]]:
    """The history without times, and with nan as a word, so that equal means equal."""
    plain = history_to_plain(history)
    for record in [*plain, *(try_ for round_ in plain for try_ in round_["tries"])]:
        del record["seconds"]
    return plain


def left_by(folder: Path, trainer: MortalTrainer) -> tuple[bytes, bytes]:
    """All that must be the same however often a run was killed."""
    return encode(trainer.get_state()), (folder / "journal").read_bytes()


def fresh(**settings: Any) -> DynamicGridAdapter:
    """An adapter around a new trainer that is never killed."""
    return adapter_of(mortal({}), settings)


def fresh_history(*epochs: int) -> History:
    """The history of a new run that was asked for so many epochs, one call after the other."""
    adapter = fresh()
    return [adapter.run(until) for until in epochs][-1]


def saved_in(folder: Path) -> list[str]:
    """The names of the checkpoints in a folder, the oldest first."""
    return sorted(path.name for path in folder.glob("checkpoint-*.zip"))


def journaled(
    path: Path, case: Mapping[str, Any], epochs: int = EPOCHS, **settings: Any
) -> History:
    """The history of a run that wrote a journal."""
    return adapter_of(mortal(case), case, (Journal(path, **settings),)).run(epochs)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal, read as JSON."""
    return [json.loads(line) for line in path.read_text().splitlines()]
