"""Settings that are refused, and how: where the adapter is made, or where it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from names import public
from running import Run, Settings, trained
from trainers import Descent, Noisy

from dynhp import (
    BestByMargin,
    Float,
    Int,
    Interpolation,
    Neighbors,
    Ordered,
    Placebo,
    Racing,
    Space,
    highest,
    lowest,
    smoothed,
)

REFUSED: dict[str, Callable[[], dict[str, Any]]] = {
    "try_for above adapt_every": lambda: {"try_for": 5},
    "try_for 0": lambda: {"try_for": 0},
    "try_for below 0": lambda: {"try_for": -1},
    "try_for a word": lambda: {"try_for": "one"},
    "try_for 1.5": lambda: {"try_for": 1.5},
    "adapt_every 0": lambda: {"adapt_every": 0},
    "adapt_every and when": lambda: {"adapt_every": 4, "when": public("Every")(4)},
    "neither adapt_every nor when": lambda: {"adapt_every": None},
    "when a number": lambda: {"when": 3},
    "empty space": lambda: {"space": {}},
    "empty list": lambda: {"space": {"lr": []}},
    "duplicate value": lambda: {"space": {"lr": [0.1, 0.1]}},
    "not a space": lambda: {"space": 3},
    "reversed bounds": lambda: {"space": {"lr": Float(1.0, 0.1)}},
    "no points": lambda: {"space": {"lr": Float(0.1, 1.0, points=0)}},
    "log of zero": lambda: {"space": {"lr": Float(0.0, 1.0, log=True)}},
    "reversed ints": lambda: {"space": {"decay": Int(3, 1)}},
    "no values": lambda: {"space": {"lr": Ordered()}},
    "unknown hyperparameter": lambda: {"space": {"rate": [0.1, 0.2]}},
    "no criterion": lambda: {"minimize": None},
    "two criteria": lambda: {"minimize": "loss", "maximize": "auc"},
    "criterion a word": lambda: {"criterion": "loss"},
    "no such metric": lambda: {"minimize": "no_such_metric"},
    "no such metric, nearly": lambda: {"criterion": highest("acu")},
    "smoothed by 0": lambda: {"criterion": smoothed(lowest("loss"), 0)},
    "proposer a class": lambda: {"proposer": Neighbors},
    "selection a word": lambda: {"selection": "best"},
    "executor a word": lambda: {"executor": "serial"},
    "batched without a pass": lambda: {"executor": public("Batched")()},
    "racing 0": lambda: {"selection": Racing(0)},
    "racing 2": lambda: {"selection": Racing(2.0)},
    "margin of nothing": lambda: {"selection": BestByMargin()},
    "neighbours 0": lambda: {"proposer": Neighbors(0)},
    "placebo 0": lambda: {"proposer": Placebo(0)},
    "placebo, common": lambda: {"proposer": Placebo(2), "randomness": "common"},
    "interpolation of words": lambda: {
        "proposer": Interpolation(),
        "space": {"kind": ["plain", "sign"]},
    },
    "ladder of words": lambda: {
        "proposer": public("Ladder")(),
        "space": {"kind": ["plain", "sign"]},
    },
    "tail of another": lambda: {"tail": public("annealed")("rate")},
    "tail of ints": lambda: {"tail": public("annealed")("lr"), "space": {"lr": [1, 2]}},
    "tail a word": lambda: {"tail": "annealed"},
    "keep a word": lambda: {"keep": "loser"},
    "then a number": lambda: {"then": 3},
    "then another": lambda: {"then": public("scale")(0.3, "rate")},
    "randomness a word": lambda: {"randomness": "some"},
    "check a word": lambda: {"check": "sometimes"},
    "tolerance below 0": lambda: {"tolerance": -1.0},
    "tolerance nan": lambda: {"tolerance": float("nan")},
    "seed below 0": lambda: {"seed": -1},
    "seed a word": lambda: {"seed": "one"},
    "initial off the grid": lambda: {"initial": {"lr": 0.2}},
    "initial of another": lambda: {"initial": {"rate": 0.1}},
    "initial incomplete": lambda: {
        "initial": {"lr": 0.1},
        "space": {"lr": [0.1], "momentum": [0.5]},
    },
    "start_from a word": lambda: {"start_from": "there"},
    "start_from best, every": lambda: {"start_from": "best"},
    "max_rounds below 0": lambda: {"max_rounds": -1},
    "max_rescues below 0": lambda: {"max_rescues": -1},
    "record_every 0": lambda: {"record_every": 0},
    "snapshots a number": lambda: {"snapshots": 2},
    "snapshots of none": lambda: {"snapshots": public("Snapshots")(k=0)},
    "callbacks a number": lambda: {"callbacks": [3]},
    "epochs 0": lambda: {"epochs": 0},
    "unknown keyword": lambda: {"adapt_evry": 3},
    "dry run with then": lambda: {"dry_run": True, "then": public("scale")(0.3)},
    "independent without reseed": lambda: {"randomness": "independent"},
    "large grid": lambda: {"space": Space({"lr": [0.1, 0.2], "momentum": [0.1, 0.2, 0.3]})},
    "one candidate": lambda: {"space": {"lr": [0.1]}},
}


def refused() -> Iterator[tuple[str, Run]]:
    """What must be an error, or a hint, on a trainer with and without powers."""
    for name, make in REFUSED.items():
        yield name, trained(Noisy, _ignoring_folder(make))
    for name in ("independent without reseed", "placebo, common", "large grid", "one candidate"):
        make = REFUSED[name]
        yield f"{name}, descent", trained(Descent, _ignoring_folder(make))
    for epochs in (0, -1, 2.5, "ten", None):
        yield f"run for {epochs!r}", trained(Noisy, {}, epochs)  # type: ignore[arg-type]


def _ignoring_folder(make: Callable[[], dict[str, Any]]) -> Settings:
    return lambda folder: make()


KINDS = {"settings": refused}
