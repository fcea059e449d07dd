"""What a method comes to, read from the runs: one of them, or the best of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.arena.plan import START_ARMS, SWEEPS, Good, good_of, start_rate, sweep_rates
from benchmarks.arena.runs.arms import WITHOUT_START
from benchmarks.arena.runs.open_loop import RUNGS
from dynhp.campaign.results import Finished

__all__ = ["METHODS", "OURS", "OUR_ARM", "OUR_SWEEP", "MethodResult", "Method", "Runs", "entries"]
__all__ += ["gather"]

OURS = "dynhp's preset"
OUR_ARM, OUR_SWEEP = "preset-schedule", "wsd"
"""The arm with the preset's own ending, and the sweep with the same ending."""


class MethodResult(NamedTuple):
    """What a method came to on one seed: the test value, its cost in runs, and in seconds."""

    value: float
    runs: float
    seconds: float


Runs = Mapping[tuple[str, str, float, int], Finished]
"""The runs that have a result, by task, arm, rate and seed."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method: how it reads its entry for a task, the task's good rate, a start and a seed.

    ``starts`` is empty where it does not depend on one.
    """

    read: Callable[[Runs, str, Good, str, int], MethodResult | None]
    starts: tuple[str, ...] = ()


def gather(ended: Iterable[Finished]) -> Runs:
    """The runs that have a result, by what they are."""
    return {
        tuple(run.settings[name] for name in ("task", "arm", "rate", "seed")): run  # type: ignore[misc]
        for run in ended
        if run.result is not None
    }


def entries(
    runs: Runs, method: Method, task: str, *, good: Good, start: str, seeds: int
) -> dict[int, MethodResult]:
    """The entries of a method by seed, those that are there."""
    each = {seed: method.read(runs, task, good, start, seed) for seed in range(seeds)}
    return {seed: entry for seed, entry in each.items() if entry is not None}


def _from_start(arm: str) -> Method:
    def read(runs: Runs, task: str, good: Good, start: str, seed: int) -> MethodResult | None:
        return _entry(runs.get((task, arm, start_rate(good[task, "constant"], start), seed)))

    return Method(read, tuple(START_ARMS[arm]))


def _without_start(arm: str) -> Method:
    return Method(lambda runs, task, good, start, seed: _entry(runs.get((task, arm, 1.0, seed))))


def _sweep(arm: str) -> Method:
    """The run of a sweep that validates best; all of them are paid for."""

    def read(runs: Runs, task: str, good: Good, start: str, seed: int) -> MethodResult | None:
        swept = _swept(runs, task, arm, good, seed)
        if swept is None:
            return None
        best = max(swept, key=lambda run: _result(run, "val"))
        return MethodResult(
            _result(best, "value"),
            sum(_result(run, "runs") for run in swept),
            sum(run.seconds for run in swept),
        )

    return Method(read)


def _halving() -> Method:
    """All constants for a quarter of the run, the better two for another, the best to the end."""

    def read(runs: Runs, task: str, good: Good, start: str, seed: int) -> MethodResult | None:
        swept = _swept(runs, task, "constant", good, seed)
        if swept is None:
            return None
        first, second = RUNGS
        ordered = sorted(swept, key=lambda run: -_rung(run, 0))
        best = max(ordered[:2], key=lambda run: _rung(run, 1))
        shares = {id(run): first for run in swept} | {id(run): second for run in ordered[:2]}
        shares[id(best)] = 1.0
        return MethodResult(
            _result(best, "value"),
            sum(shares.values()),
            sum(shares[id(run)] * run.seconds for run in swept),
        )

    return Method(read)


def _swept(runs: Runs, task: str, arm: str, good: Good, seed: int) -> list[Finished] | None:
    rates = sweep_rates(good_of(good, task, arm), arm)
    swept = [runs.get((task, arm, rate, seed)) for rate in rates]
    there = [run for run in swept if run is not None]
    return there if len(there) == len(swept) else None


def _entry(run: Finished | None) -> MethodResult | None:
    if run is None:
        return None
    return MethodResult(_result(run, "value"), _result(run, "runs"), run.seconds)


def _result(run: Finished, name: str) -> float:
    assert run.result is not None
    return float(run.result[name])


def _rung(run: Finished, place: int) -> float:
    assert run.result is not None
    return float(run.result["rungs"][place])


_NAMES = {
    "preset-schedule": "dynhp, schedule",
    "preset-average": "dynhp, averaged weights",
    "preset-none": "dynhp, no ending",
    "preset-shifted": "dynhp, grid shifted by half a rung",
    "constant": "leave alone",
    "wsd": "WSD alone",
    "average": "averaged weights alone",
    "schedule-free": "Schedule-Free",
    "plateau": "ReduceLROnPlateau",
    "greedy": "GreedyLR",
    "ema-race": "dynhp's EMA race",
    "adagrid": "AdaGrid's settings",
    "placebo": "placebo",
    "random": "random rates",
    "tpe": "Optuna, then WSD",
    "pbt": "PBT, 1.4 runs",
    "pbt-whole": "PBT, a run a member",
    "pb2": "PB2, 1.4 runs",
    "range-test": "range test, then WSD",
    "one-cycle": "one-cycle, range test",
    "prodigy": "Prodigy, cosine",
    "cosine": "cosine",
} | {OUR_ARM: OURS}
_ALONE = ("search", "scan")  # no run follows these
METHODS: Mapping[str, Method] = {
    **{_NAMES[arm]: _from_start(arm) for arm in START_ARMS if arm not in _ALONE},
    **{_NAMES[arm]: _without_start(arm) for arm in WITHOUT_START if arm not in _ALONE},
    **{
        f"best {_NAMES[arm].removesuffix(' alone')} of {len(SWEEPS[arm])}"
        if arm != "constant"
        else f"best constant of {len(SWEEPS[arm])}": _sweep(arm)
        for arm in SWEEPS
    },
    "successive halving of 6": _halving(),
}
"""All methods by the names that tables call them."""
