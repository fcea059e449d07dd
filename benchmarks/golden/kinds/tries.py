"""Rounds every few epochs: what is tried, what is kept, for how long, and by which executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from climbing import Climb
from names import public
from running import RATES, Record, Run, trained
from trainers import Descent, FailingDescent, Noisy, OnePassDescent, ReadableDescent

from dynhp import (
    Best,
    BestByMargin,
    Categorical,
    Float,
    FullGrid,
    Int,
    Interpolation,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Racing,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
)

Ladder = public("Ladder")
Around = public("Around")

PROPOSERS: dict[str, Callable[[], Any]] = {
    "full grid": FullGrid,
    "neighbours": Neighbors,
    "neighbours 2": partial(Neighbors, 2),
    "interpolation": Interpolation,
    "climb": partial(Climb, 3),
    "ladder": partial(Ladder, 2),
    "placebo": partial(Placebo, 3),
    "one axis": OneAxis,
    "one axis, neighbours": lambda: OneAxis(Neighbors()),
    "one axis, interpolation": lambda: OneAxis(Interpolation()),
}
SELECTIONS: dict[str, Any] = {
    "best": Best(),
    "racing": Racing(),
    "racing 0.3": Racing(0.3),
    "racing every 2": Racing(every=2),
    "margin": BestByMargin(delta=0.001),
    "margin of noise": BestByMargin(noise=1.0),
}
LENGTHS: dict[str, tuple[int, int, float]] = {
    "13 by 4, 2": (13, 4, 2),
    "12 by 4, 4": (12, 4, 4),
    "20 by 5, a 10th": (20, 5, 0.1),
    "15 by 6, 3": (15, 6, 3),
}


def adapted_rounds() -> Iterator[tuple[str, Run]]:
    """Proposers, selections, lengths and randomness, on one axis."""
    for proposer, selection, length in product(PROPOSERS, SELECTIONS, LENGTHS):
        epochs, adapt_every, try_for = LENGTHS[length]
        # Each length meets both kinds of randomness, though not with every pair of the others.
        turn = list(PROPOSERS).index(proposer) + list(LENGTHS).index(length)
        randomness = "independent" if proposer == "placebo" or turn % 2 else "common"
        settings = {
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
            "adapt_every": adapt_every,
            "try_for": try_for,
            "randomness": randomness,
            "epochs": epochs,
            "seed": turn,
        }
        yield f"{proposer}, {selection}, {length}, {randomness}", trained(Noisy, settings, epochs)


SPACES: dict[str, dict[str, Any]] = {
    "two lists": {"lr": [0.01, 0.1, 0.3], "momentum": [0.0, 0.5, 0.9]},
    "float and int": {"lr": Float(0.003, 0.3, log=True, points=4), "decay": Int(0, 3)},
    "words": {"kind": Categorical("plain", "sign"), "lr": Ordered(0.01, 0.1)},
    "around": {"lr": Around(0.03)},
    "three": {"lr": [0.03, 0.3], "momentum": [0.0, 0.9], "decay": [0, 2]},
}


def several_axes() -> Iterator[tuple[str, Run]]:
    """Spaces of every kind of axis; some pairs are refused, which is recorded too."""
    for space, proposer, selection in product(SPACES, PROPOSERS, ("best", "racing")):
        settings = {
            "space": SPACES[space],
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
        }
        yield f"{space}, {proposer}, {selection}", trained(ReadableDescent, settings)


def coarse(series: Any, progress: Any) -> float:
    """A criterion of one's own in which many tries are equal."""
    return float(-round(series[-1]["loss"]))


CRITERIA: dict[str, Any] = {
    "highest": highest("auc"),
    "lowest": lowest("loss"),
    "gap": smallest_gap("train_auc", "auc"),
    "gap with a floor": smallest_gap("train_auc", "auc", floor=0.4),
    "smoothed": smoothed(highest("auc")),
    "smoothed 2": smoothed(highest("auc"), 2),
    "smoothed half": smoothed(lowest("loss"), 0.5),
    "coarse": coarse,
    "phased": phased(lowest("ema_val_loss"), smallest_gap("train_auc", "auc"), at=0.5),
}


def criteria() -> Iterator[tuple[str, Run]]:
    """What a try is worth."""
    for criterion, proposer, selection in product(
        CRITERIA, ("full grid", "neighbours"), ("best", "racing", "margin of noise")
    ):
        settings = {
            "criterion": CRITERIA[criterion],
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
            "try_for": 3,
        }
        yield f"{criterion}, {proposer}, {selection}", trained(Noisy, settings)


def start_values() -> Iterator[tuple[str, Run]]:
    """Where a run starts, what it is called, and how its trainer reads back."""
    for rate, proposer in product(
        (*RATES, 0.05, 0.5), ("full grid", "neighbours", "interpolation")
    ):
        settings = {"initial": {"lr": rate}, "proposer": PROPOSERS[proposer]()}
        yield f"initial {rate}, {proposer}", trained(ReadableDescent, settings)
    for name, make in {"descent": Descent, "noisy": Noisy, "read back": ReadableDescent}.items():
        for seed in (0, 1, 2):
            settings = {"seed": seed, "randomness": "independent"}
            yield f"{name}, seed {seed}", trained(make, settings)
            yield f"{name}, seed {seed}, maximize", trained(make, {"seed": seed, "maximize": "auc"})


EXECUTED: dict[str, dict[str, Any]] = {
    "grid": {},
    "short last round": {"adapt_every": 5, "try_for": 3},
    "racing": {"selection": Racing(), "try_for": 3},
    "waves": {"proposer": Interpolation()},
    "climb": {"proposer": Climb(3), "space": {"lr": Around(0.03)}},
    "independent": {"randomness": "independent"},
    "placebo": {"proposer": Placebo(3)},
    "value": {"keep": "value"},
    "tail": {"tail": public("annealed")("lr", epochs=2)},
    "dry": {"dry_run": True},
    "every check": {"check": "every"},
    "from the best": {
        "when": public("OnPlateau")("loss", patience=2),
        "start_from": "best",
        "max_rounds": 4,
        "try_for": 3,
    },
}


def executors() -> Iterator[tuple[str, Run]]:
    """One after the other, in one pass, and in two processes; with tries that fail, too."""
    for case, fails in product(EXECUTED, ((), (0.3,), (0.01, 0.3))):
        for executor in ("Serial", "Batched"):
            settings = {**EXECUTED[case], "executor": public(executor)()}
            name = f"{case}, {executor}, {len(fails)} fail"
            yield name, trained(partial(OnePassDescent, fails), settings)
    for case in EXECUTED:
        yield f"{case}, Processes", in_processes(Noisy, EXECUTED[case])
    fragile = partial(FailingDescent, {0.3: "raise", 0.01: "nan"})
    for case in ("grid", "racing", "waves", "tail"):
        yield f"{case}, Processes, 2 fail", in_processes(fragile, EXECUTED[case])


def in_processes(make: Callable[[], Any], settings: dict[str, Any]) -> Run:
    """A run whose tries are carried out by two workers."""

    def run(folder: Path) -> Record:
        with public("Processes")(make, workers=2) as executor:
            return trained(make, {**settings, "executor": executor})(folder)

    return run


KINDS = {
    "rounds": adapted_rounds,
    "axes": several_axes,
    "criteria": criteria,
    "starts": start_values,
    "executors": executors,
}
