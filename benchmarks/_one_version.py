"""Times of one version, which is on PYTHONPATH: a process for each measurement.

Run by ``_side_by_side.py`` as ``python benchmarks/_one_version.py WHAT ...``; prints JSON. It uses
only what all versions have: ``DynamicGridAdapter``, ``adapt``, proposers, ``run_with_checkpoints``.
All times are of the processor, so that a busy machine disturbs them less.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import itertools
import json
import os
import statistics
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import dynhp.proposers
from dynhp import DynamicGridAdapter, adapt, attribute, lowest
from dynhp.records import Round
from dynhp.storage import run_with_checkpoints

__all__ = ["proposers"]

SIZES = (1, 3, 9, 27, 81)
_STEPS = 50_000
_FLOATS = 5_000_000  # 40 MB: what Python holds besides is then less than a hundredth of it
_EVERY = 2
_WINDOW = 50  # rounds on either side of the one that is measured
_VALUES = (0.01, 0.03, 0.1)


class Idle:
    """A trainer that does nothing, as fast as possible; 0.03 scores best."""

    def __init__(self) -> None:
        self.lr = 1.0
        self.trained = 0

    def get_state(self) -> float:
        return self.lr

    def set_state(self, state: float) -> None:
        self.lr = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.lr = hyperparameters["lr"]
        self.trained += k

    def metrics(self) -> dict[str, float]:
        return {"loss": abs(self.lr - 0.03)}

    def reseed(self, seed: int) -> None:
        pass

    state_dict = get_state
    load_state_dict = set_state


def rounds() -> dict[str, float]:
    """The fastest round by the number of its tries, in microseconds."""
    fastest = {}
    for size in SIZES:
        adapter = _adapter(list(range(1, size + 1)))
        times = []
        for _ in range(max(100, 2000 // size)):
            began = time.process_time()
            adapter.step()
            times.append(time.process_time() - began)
        fastest[str(size)] = min(times) * 1e6
    return fastest


def step() -> dict[str, float]:
    """A step of a loop whose body does nothing, in microseconds; the fastest of three loops."""
    times = []
    for _ in range(3):
        model = Idle()
        loop = adapt(
            steps=_STEPS,
            state=[model],
            space={"lr": [1.0, 2.0]},
            bind={"lr": attribute(model, "lr")},
            minimize="loss",
            adapt_every=_STEPS,
            try_for=1,
            check="off",
        )
        began = time.process_time()
        for each in loop:
            if each == 0:
                each.report(loss=0.5)
        times.append((time.process_time() - began) / _STEPS * 1e6)
    return {"step": min(times)}


class OneArray:
    """A trainer whose state is one large array; a value is its own score."""

    def __init__(self) -> None:
        self.array = np.zeros(_FLOATS)

    def get_state(self) -> np.ndarray:
        return self.array.copy()

    def set_state(self, state: np.ndarray) -> None:
        np.copyto(self.array, state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.array[0] = hyperparameters["lr"]

    def metrics(self) -> dict[str, float]:
        return {"loss": float(self.array[0])}


def states() -> dict[str, float]:
    """The most states alive in three rounds, whichever try wins; the trainer's own is one."""
    _adapter(trainer=OneArray()).step()  # what is imported late is no state
    peaks = []
    for order in ((1, 2, 3, 4, 5), (2, 3, 4, 5, 1), (3, 2, 1, 4, 5), (5, 4, 3, 2, 1)):
        tracemalloc.start()  # numpy tells it every array
        try:
            adapter = _adapter(order, trainer=OneArray(), initial={"lr": order[0]})
            for _ in range(3):
                adapter.step()
            peaks.append(tracemalloc.get_traced_memory()[1] / (8 * _FLOATS))
        finally:
            tracemalloc.stop()
    return {"states": max(peaks)}


def checkpoints(folder: str, *measured: str) -> dict[str, float]:
    """What a round with a checkpoint takes about each of these rounds, in milliseconds."""
    clock: list[float] = []
    adapter = _adapter(callbacks=[_on_rounds(lambda: clock.append(time.process_time()))])
    marks = [int(each) for each in measured]
    run_with_checkpoints(adapter, _EVERY * (max(marks) + _WINDOW), checkpoint=folder)
    times = [after - before for before, after in itertools.pairwise(clock)]
    return {
        str(mark): statistics.median(times[mark - _WINDOW : mark + _WINDOW]) * 1e3 for mark in marks
    }


def save(folder: str, proposer: str, rounds: str) -> dict[str, float]:
    """Save a run of so many rounds, of which only the last is carried out with checkpoints."""
    adapter = _adapter(proposer=proposers()[proposer]())
    adapter.run(_EVERY * (int(rounds) - 1))
    history = run_with_checkpoints(adapter, _EVERY * int(rounds), checkpoint=folder)
    return {"rounds": len(history)}


def resume(folder: str, proposer: str, rounds: str) -> dict[str, float]:
    """Go on with such a run for one round, in seconds."""
    trainer = Idle()
    adapter = _adapter(trainer=trainer, proposer=proposers()[proposer]())
    began = time.process_time()
    history = run_with_checkpoints(adapter, _EVERY * (int(rounds) + 1), checkpoint=folder)
    seconds = time.process_time() - began
    if len(history) != int(rounds) + 1 or trainer.trained > 100:
        raise AssertionError(f"{len(history)} rounds, of which {trainer.trained} epochs trained")
    return {"seconds": seconds}


def names() -> list[str]:
    """The proposers that this version has."""
    return list(proposers())


def proposers() -> dict[str, Callable[[], Any]]:
    """All proposers of the core, and Optuna's if it is installed, by what is shown of them."""
    made: dict[str, Callable[[], Any]] = {}
    for name in dynhp.proposers.__all__:
        kind = getattr(dynhp.proposers, name)
        if not hasattr(kind, "propose") or getattr(kind, "_is_protocol", False):
            continue
        parameters = inspect.signature(kind).parameters.values()
        required = sum(each.default is each.empty for each in parameters)
        made[name] = functools.partial(kind, *[3] * required)
    if {"OneAxis", "Interpolation"} <= made.keys():
        one_axis, along = made["OneAxis"], made["Interpolation"]
        made["OneAxis(Interpolation())"] = lambda: type(one_axis())(along())
    if importlib.util.find_spec("optuna") is not None:
        made["OptunaProposer(TPESampler)"] = _optuna
    return made


def _optuna() -> Any:
    from optuna.samplers import TPESampler

    from dynhp_optuna import OptunaProposer

    return OptunaProposer(TPESampler, k=1)


def _adapter(values: Any = _VALUES, *, trainer: Any = None, **settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Idle() if trainer is None else trainer,
        {"lr": list(values)},
        criterion=lowest("loss"),
        adapt_every=_EVERY,
        try_for=1,
        check="off",
        **settings,
    )


def _on_rounds(act: Callable[[], object]) -> Callable[[Any], None]:
    def callback(event: Any) -> None:
        if isinstance(event, Round):
            act()

    return callback


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.fsync = lambda descriptor: None  # type: ignore[assignment]  # no waiting for the disk
    measure = {
        each.__name__: each for each in (rounds, step, states, checkpoints, save, resume, names)
    }
    json.dump(measure[sys.argv[1]](*sys.argv[2:]), sys.stdout)
