"""What the adapter itself costs, seen with a trainer that does nothing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from _facts import Row

from dynhp import (
    BestByMargin,
    DynamicGridAdapter,
    Interpolation,
    OneAxis,
    Racing,
    adapt,
    attribute,
    lowest,
)
from dynhp.executors.attempt import advance
from dynhp.records import Candidate
from dynhp.triggers import OnPlateau, OnSpike, any_of

__all__ = ["rows"]

_SIZES = (1, 3, 9, 27, 81)
_ROUNDS = 3000
_STEPS = 50_000
_EPOCHS = 10_000


class Nothing:
    """A trainer that does nothing, as fast as possible."""

    lr = 1

    def get_state(self) -> int:
        return 0

    def set_state(self, state: int) -> None:
        pass

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        pass

    def metrics(self) -> dict[str, float]:
        return {"loss": 0.5}


def rows() -> list[Row]:
    """Overhead per try and per round, and how it grows with the rounds already done."""
    fastest = {size: _fastest_round(size) for size in _SIZES}
    times = np.array(list(fastest.values()))
    # Relative errors count, or the round with 81 tries would decide alone.
    per_try, per_round = np.polyfit(_SIZES, times, 1, w=1 / times)
    steepest = (times[-1] - times[-2]) / (_SIZES[-1] - _SIZES[-2])
    seen = ", ".join(f"{size}: {time_:.0f}" for size, time_ in fastest.items())
    return [
        Row("overhead per try", per_try, "µs", 50, "line through the fastest rounds"),
        Row("overhead per round", per_round, "µs", 200, f"µs of a round by its tries: {seen}"),
        Row("overhead per try from 27 to 81 tries", steepest, "µs", 50),
        _races(),
        Row("overhead per step of a loop", _fastest_step(), "µs", 5, "one bound value, no report"),
        Row("watching an epoch of the main line", _watching(), "µs", 20, "a plateau and a spike"),
        _growth("FullGrid, Best", 1.5),
        _growth("Racing", 1.5, selection=Racing()),
        _growth("BestByMargin(noise=2)", None, selection=BestByMargin(noise=2.0)),
        _growth("Interpolation", 1.5, proposer=Interpolation()),
        _growth("OneAxis", 1.5, proposer=OneAxis()),
    ]


def _adapter(size: int, **settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Nothing(),
        {"lr": list(range(1, size + 1))},
        criterion=lowest("loss"),
        **({"adapt_every": 2, "try_for": 1, "check": "off"} | settings),
    )


def _fastest_round(size: int) -> float:
    return min(_round_times(_adapter(size), max(100, 2000 // size)))


def _races() -> Row:
    """How the work of a race grows with its candidates; the fastest of three."""
    short, long = (min(_race(size) for _ in range(3)) for size in (500, 2000))
    note = f"n log n: 4.9, quadratic: 16; {short * 1e3:.0f} and {long * 1e3:.0f} ms of cpu"
    return Row("a race of 2000 tries / of 500", long / short, "", 7, note)


def _race(size: int) -> float:
    """A round of ``Racing`` with many candidates, in seconds of this process."""
    adapter = _adapter(size, selection=Racing(), adapt_every=8, try_for=8)
    began = time.process_time()
    adapter.step()
    return time.process_time() - began


def _fastest_step() -> float:
    """A step of the main line of ``adapt(steps=...)``: the passes of an otherwise empty body."""
    return min(_step_time() for _ in range(5))


def _step_time() -> float:
    model = Nothing()
    loop = adapt(
        steps=_STEPS,
        state=[model],
        space={"lr": [1, 2]},
        bind={"lr": attribute(model, "lr")},
        minimize="loss",
        adapt_every=_STEPS,
        try_for=1,
        check="off",
    )
    began = time.perf_counter()
    for step in loop:
        if step == 0:
            step.report(loss=0.5)
    return (time.perf_counter() - began) / _STEPS * 1e6


def _watching() -> float:
    """What an epoch takes more where two triggers look at it; the fastest of five runs."""
    return min(_watched_time() for _ in range(5)) - min(_plain_time() for _ in range(5))


def _watched_time() -> float:
    when = any_of(OnPlateau("loss", patience=_EPOCHS), OnSpike("loss", factor=3.0))
    adapter = _adapter(3, adapt_every=None, when=when)
    began = time.process_time()
    adapter.run(_EPOCHS)
    return (time.process_time() - began) / _EPOCHS * 1e6


def _plain_time() -> float:
    trainer, candidate = Nothing(), Candidate({"lr": 1})
    began = time.process_time()
    for _ in range(_EPOCHS):
        advance(trainer, candidate, 1)
    return (time.process_time() - began) / _EPOCHS * 1e6


def _growth(name: str, limit: float | None, **settings: Any) -> Row:
    """How much slower rounds are after thousands of them; 1 where the whole run is linear."""
    rounds = _ROUNDS if limit is not None else _ROUNDS // 6
    each = [_round_times(_adapter(3, **settings), rounds) for _ in range(3)]
    # The fastest of three runs: for a second another process may take the processor.
    early, late = (
        min(statistics.median(times[i : i + 200]) for times in each) for i in (0, rounds - 200)
    )
    note = f"{early:.0f} µs in rounds 1 to 200, {late:.0f} µs in the 200 up to {rounds}"
    return Row(f"late round / early round, {name}", late / early, "", limit, note)


def _round_times(adapter: DynamicGridAdapter, rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        adapter.step()
        times.append((time.perf_counter() - began) * 1e6)
    return times
