"""``as_completed`` on Ray: outcomes as they end, with all else as in ``run``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dynhp.executors import Serial
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, difference
from dynhp_ray import RayExecutor

Make = Callable[..., RayExecutor]
GATE, KILLED, RAISES = 0.2, 0.3, 0.4


def gated(folder: Path) -> Callable[[], Any]:
    """Trainers that wait at a gate, are killed once or raise, as their learning rate says."""

    class GatedOnRay(NoisyQuadratic):  # local, so that it travels to the actors by value
        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            (folder / f"pid-{os.getpid()}").touch()
            super().train_k(k, hyperparameters)
            rate = hyperparameters["lr"]
            while rate == GATE and not (folder / "open").exists():
                time.sleep(0.01)
            if rate == KILLED and not (folder / "killed").exists():
                (folder / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if rate == RAISES:
                raise ArithmeticError("too fast")

    return GatedOnRay


def jobs(*rates: float) -> list[Job]:
    origin = NoisyQuadratic().get_state()
    return [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in rates]


def by_serial(asked: list[Job], folder: Path) -> list[Any]:
    """What Serial gives, with the gate open and no actor killed."""
    folder.mkdir()
    for name in ("open", "killed"):
        (folder / name).touch()
    return [
        (outcome.series, outcome.epochs, outcome.error, outcome.keep())
        for outcome in Serial().run(gated(folder)(), asked, at=UNKNOWN_STATE)
    ]


def test_the_first_to_end_comes_first_and_all_are_those_of_serial(
    executor: Make, tmp_path: Path
) -> None:
    asked = jobs(GATE, 0.01, KILLED, RAISES, 0.05)
    expected = by_serial(asked, tmp_path / "serial")
    places = []
    for place, outcome in executor(gated(tmp_path)).as_completed(asked):
        places.append(place)
        seen = (outcome.series, outcome.epochs, outcome.error, outcome.keep())
        assert difference(expected[place], seen) is None
        if len(places) == 4:  # all except the one at the gate, which never held up the others
            (tmp_path / "open").touch()
    assert places == [1, 2, 3, 4, 0]
    assert (tmp_path / "killed").exists()
    assert expected[3][2] == "ArithmeticError: too fast"


def test_closed_in_the_middle_no_actor_is_left(
    executor: Make, tmp_path: Path, wait_until_gone: Callable[[Path], None]
) -> None:
    on_ray = executor(gated(tmp_path))
    outcomes: Any = on_ray.as_completed(jobs(GATE, 0.01, 0.02, 0.05))
    assert next(outcomes)[0] == 1
    while len(list(tmp_path.glob("pid-*"))) < 2:  # until the other one waits at the gate
        time.sleep(0.01)
    outcomes.close()
    assert on_ray._pooled._pool is not None
    assert len(on_ray._pooled._pool.workers) == 1  # the one at the gate is ended
    on_ray.close()
    wait_until_gone(tmp_path)
