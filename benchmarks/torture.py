"""Runs killed with SIGKILL at random moments and resumed until done: all must end the same."""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from _forks import forked

from dynhp import History, KeepBest, lowest
from dynhp.errors import Hint
from dynhp.records import Value
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import encode
from dynhp.storage.journal import Journal, history_from_journal
from tests.support.resuming import CASES, adapter_of

warnings.simplefilter("ignore", Hint)  # of a learning rate, which is not the point here

EPOCHS, ADAPT_EVERY, TRY_FOR = 37, 6, 3
RATES = (0.003, 0.01, 0.03, 0.1, 1.0)


class NoisyDescent:
    """A trainer in 500 dimensions, about a millisecond an epoch, that raises now and then."""

    def __init__(self, log: int) -> None:
        self.weights = np.linspace(-1, 1, 500)
        self.velocity = np.zeros((2, 250), order="F")
        self.rng = np.random.default_rng(3)
        self.log = log

    def get_state(self) -> dict[str, Any]:
        """A copy of all that decides the future."""
        parts = (self.weights.copy(), self.velocity.copy(order="F"))
        return {"parts": parts, "generator": self.rng.bit_generator.state}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take it back, copying."""
        weights, velocity = state["parts"]
        self.weights, self.velocity = weights.copy(), velocity.copy(order="F")
        self.rng.bit_generator.state = state["generator"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train, and leave a byte per epoch in the log, which outlives any kill."""
        for _ in range(k):
            os.write(self.log, b".")
            time.sleep(0.001)
            noise = self.rng.standard_normal((2, 250))
            if hyperparameters["lr"] == 1.0 and noise[0, 0] > 0.5:
                raise FloatingPointError("bad luck")
            gradient = self.weights.reshape(2, 250) + 0.3 * noise
            self.velocity = 0.5 * self.velocity - float(hyperparameters["lr"]) * gradient  # type: ignore[arg-type]
            self.weights = self.weights + self.velocity.reshape(-1)

    def metrics(self) -> dict[str, float]:
        """The mean square."""
        return {"loss": float(np.mean(self.weights**2))}

    def reseed(self, seed: int) -> None:
        """Start the generator anew."""
        self.rng = np.random.default_rng(seed)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What is left of a run when it is done."""

    digest: str
    journal: bytes
    trained: int


@dataclass(slots=True)
class RunKills:
    """What was done to the runs."""

    kills: int = 0
    in_a_write: int = 0
    in_a_round: int = 0
    again: int = 0


def run_on(folder: Path, case: Mapping[str, Any]) -> History:
    """Start or go on with the run in a folder, until its end if it is not killed before."""
    log = os.open(folder / "trained", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    trainer: Any = NoisyDescent(log)
    if case.get("keep_best"):
        trainer = KeepBest(trainer, lowest("loss"))
    if "when" in case:  # start where its trigger will see something: noise, or what raises
        case = {**case, "initial": {"lr": 1.0 if "bad" in case else 0.1}}
    adapter = adapter_of(
        trainer,
        case,
        [Journal(folder / "journal.jsonl", seconds=False)],
        rates=RATES,
        adapt_every=ADAPT_EVERY,
        try_for=TRY_FOR,
    )
    history = run_with_checkpoints(
        adapter, EPOCHS, checkpoint=folder / "saved", every=case.get("every", 1)
    )
    left = {"state": trainer.get_state(), "generator": adapter.state_dict()["generator"]}
    (folder / "end").write_text(hashlib.sha256(encode(left)).hexdigest())
    return history


def end_of(folder: Path) -> RunEnd:
    """Read what is left, and check that the journal holds a whole run."""
    journal = folder / "journal.jsonl"
    assert history_from_journal(journal).epochs == EPOCHS
    return RunEnd(
        (folder / "end").read_text(), journal.read_bytes(), (folder / "trained").stat().st_size
    )


def undisturbed(folder: Path, case: Mapping[str, Any]) -> tuple[RunEnd, float]:
    """A run that is not killed, and how long it took."""
    folder.mkdir()
    began = time.perf_counter()
    _, status = os.waitpid(forked(partial(run_on, folder, case)), 0)
    assert status == 0, f"an undisturbed run failed: {case}"
    return end_of(folder), time.perf_counter() - began


def tortured(
    folder: Path, case: Mapping[str, Any], expected: RunEnd, length: float, total: RunKills
) -> RunEnd:
    """A run that is killed at least once, at moments uniform over its length, until it is done."""
    folder.mkdir()
    kills = 0
    while True:
        child = forked(partial(run_on, folder, case))
        time.sleep(random.uniform(0, length))
        over, status = os.waitpid(child, os.WNOHANG)
        if over:
            assert status == 0, f"a resumed run failed: {case}"
            if kills:
                break
            shutil.rmtree(folder)  # it ended before it was killed
            folder.mkdir()
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        names = [path.name for path in folder.rglob("*")]
        total.in_a_write += any(name.endswith(".part") for name in names)
        total.in_a_round += any(name.startswith("try-") for name in names)
    total.kills += kills
    end = end_of(folder)
    # A kill costs at most the stretches since the checkpoint and the try that was being trained.
    again = kills * (case.get("every", 1) * ADAPT_EVERY + TRY_FOR)
    assert end.trained <= expected.trained + again, "tries were trained again"
    total.again += end.trained - expected.trained
    return end


def main() -> int:
    """Torture the runs, print how they ended, and fail where one ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="of the moments of the kills")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    total, same, cases = RunKills(), 0, list(CASES.values())
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        expected = [
            undisturbed(Path(name, f"undisturbed-{number}"), case)
            for number, case in enumerate(cases[: arguments.runs])
        ]
        for run in range(arguments.runs):
            case = cases[run % len(cases)]
            wanted, length = expected[run % len(cases)]
            end = tortured(Path(name, f"run-{run}"), case, wanted, length, total)
            if (end.digest, end.journal) == (wanted.digest, wanted.journal):
                same += 1
            else:
                print(f"run {run} ended otherwise: {case}")
    print(
        f"{same} of {arguments.runs} final states and journals are bit-identical; {total.kills} "
        f"kills, {total.in_a_write} inside a write, {total.in_a_round} inside a round; "
        f"{total.again / max(1, total.kills):.1f} epochs trained again per kill; "
        f"{time.perf_counter() - began:.0f} s"
    )
    return 0 if same == arguments.runs else 1


if __name__ == "__main__":
    sys.exit(main())
