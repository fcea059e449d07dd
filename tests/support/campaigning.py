"""Functions that campaigns call in their workers, and executors to carry them out."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynhp import DynamicGridAdapter, spent
from dynhp.executors import Processes, Serial
from dynhp.executors.contract import Job, Outcome
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, OnPlateau, OnSpike
from tests.support.processes import pids_of
from tests.support.waiting import hang, wait_until


def serial(make_trainer: Callable[[], Any]) -> Serial:
    """One run after the other, in this process."""
    return Serial()


class Reaper:
    """Kills its only worker when a run has ended and its result has not been handed over."""

    def __init__(self, make_trainer: Callable[[], Any]) -> None:
        self.inner = Processes(make_trainer, workers=1, retries=0)

    def run(self, trainer: Any, jobs: Sequence[Job], *, at: Any) -> Iterator[Outcome]:
        raise AssertionError("as_completed must be used instead")

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        for place, outcome in self.inner.as_completed(jobs):
            if place == 0:
                (pid,) = pids_of(self.inner)
                os.kill(pid, signal.SIGKILL)
            yield place, outcome

    def close(self) -> None:
        self.inner.close()


def note(*words: object) -> None:
    """Leave a line in the file that the environment names, if it does."""
    if "CAMPAIGN_NOTES" in os.environ:
        with open(os.environ["CAMPAIGN_NOTES"], "ab", buffering=0) as file:
            file.write((" ".join(map(str, words)) + "\n").encode())


def noted(path: Path) -> list[str]:
    """What was noted, in any order."""
    return sorted(path.read_text().splitlines()) if path.exists() else []


def scored(*, method: str = "grid", seed: int = 0) -> dict[str, Any]:
    """A run like any other: numbers that follow from its settings, and a curve."""
    note(method, seed)
    rng = random.Random(f"{method}-{seed}")
    return {"auc": rng.random(), "epochs": seed + 1, "curve": [rng.random()], "best": None}


def picky(*, seed: int, bad: bool = False, **others: Any) -> dict[str, Any]:
    """A run that gives its settings back, or fails."""
    note(seed)
    if bad:
        raise ValueError(f"seed {seed} is a bad one,\nas was said")
    return {
        "seen": seed,
        "others": others,
        **{f"{name}_too": each for name, each in others.items()},
    }


def spoiling(*, values: list[int]) -> dict[str, Any]:
    """A run that writes into its settings."""
    values.append(99)
    return {"count": len(values)}


def waiting(*, seed: int) -> dict[str, Any]:
    """Seed 0 waits until a file is there, the others do not."""
    patient = Path(os.environ["CAMPAIGN_GO"])
    if seed == 0:
        wait_until(patient.exists)
    return {"released": patient.exists()}


def bulky(*, seed: int, size: int = 3000) -> dict[str, Any]:
    """A run with a long line."""
    note(seed)
    return {"seed_too": seed, "curve": ["#" * size]}


def slow(*, seed: int) -> dict[str, Any]:
    """A run that hangs from seed 2 on, unless the environment says to hurry."""
    note(seed, os.getpid())
    if seed >= 2 and "CAMPAIGN_HURRY" not in os.environ:
        hang()
    return {"half": seed / 2}


class Unruly(BaseException):
    """Not an Exception."""


class MuteError(Exception):
    """Cannot be written as text."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def fated(*, fate: str) -> Any:
    """A run that ends as its setting says, unless the environment says that all is fixed."""
    note(fate)
    if "CAMPAIGN_FIXED" in os.environ:
        return {"fate": "averted"}
    _RAISED.get(fate, lambda: None)()
    return _RETURNED.get(fate, {"value": fate})


def once(*, fate: str) -> dict[str, Any]:
    """A run that ends as its setting says the first time only."""
    marker = Path(os.environ["CAMPAIGN_GO"])
    if not marker.exists():
        marker.touch()
        fated(fate=fate)
    return {"value": fate}


def _raise(error: BaseException) -> None:
    raise error


def _with_a_note() -> None:
    error = KeyError("missing")
    if hasattr(error, "add_note"):
        error.add_note("look elsewhere")
    raise error


_RAISED: dict[str, Callable[[], object]] = {
    "raises": lambda: _raise(ValueError("no luck")),
    "rambles": lambda: _raise(ValueError("#" * 1_000_000)),
    "asserts": lambda: _raise(AssertionError()),
    "notes": _with_a_note,
    "unruly": lambda: _raise(Unruly("out of line")),
    "mute": lambda: _raise(MuteError()),
    "leaves": lambda: sys.exit(3),
    "exits": lambda: os._exit(4),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hangs": hang,
    "interrupts": lambda: _raise(KeyboardInterrupt()),
}
_RETURNED: dict[str, Any] = {
    "nothing": None,
    "number": 0.5,
    "nan": {"loss": 1.0, "auc": float("nan")},
    "infinite": {"curve": [1.0, {"deep": float("-inf")}]},
    "numpy": {"auc": np.float32(0.5)},
    "array": {"curve": np.arange(3)},
    "numbered": {"by": {1: "one"}},
    "nameless": {2: "two"},
    "set": {"kinds": {1}},
    "endless": {"number": 1 << 1001},
    "large": {"text": "#" * 33_600_000},
}


def rescued(trigger: str, seed: int) -> dict[str, Any]:
    """A run whose rounds come when they are due; the rate at the start is far too high."""
    when: dict[str, Any] = {
        "plateau": OnPlateau("loss", patience=2),
        "spike": OnSpike("loss", window=3, factor=20.0),
        "moments": At([0.25, 0.5]),
    }
    trainer = NoisyQuadratic(noise=0.3, seed=seed)
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.5, 3.0]},
        minimize="loss",
        when=when[trigger],
        try_for=1,
        start_from="before",
        max_rounds=3,
        max_rescues=9,
        initial={"lr": 3.0},
    )
    history = adapter.run(20)
    cost = spent(history)
    return {"loss": trainer.metrics()["loss"], "total": cost.total, "abandoned": cost.abandoned}
