"""Origins are used where they lie in shared memory, and copied for who goes on to refer to them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, Processes, Serial, lowest
from dynhp.executors.contract import Job
from dynhp.executors.pool.shared_memory import PackedState, Segments, lend, load, pack
from dynhp.executors.pool.transport import PackRequest, Raised, TrainRequest, TryReport
from dynhp.executors.pool.worker import WorkerLoop
from dynhp.records import Candidate

SIZE = 10_000  # numbers, too many for a message


class Copies:
    """Copies what it is given, and writes into its own."""

    def __init__(self) -> None:
        self.weights, self.fixed = np.ones(SIZE), np.arange(float(SIZE))

    def get_state(self) -> Any:
        return self.weights.copy(), self.fixed.copy()

    def set_state(self, state: Any) -> None:
        self.weights, self.fixed = (array.copy() for array in state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.weights *= 1 - hyperparameters["lr"]

    def metrics(self) -> dict[str, float]:
        return {"loss": float(abs(self.weights).sum() + self.fixed.sum())}


class Refers(Copies):
    """Refers to what it is given, and never writes into it: as functional code does."""

    def get_state(self) -> Any:
        return self.weights, self.fixed

    def set_state(self, state: Any) -> None:
        self.weights, self.fixed = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.weights = self.weights * (1 - hyperparameters["lr"])


class Breaks(Copies):
    """Cannot take a state back."""

    def set_state(self, state: Any) -> None:
        raise ValueError("not this one")


class Worker:
    """A worker's loop in this process, and how often an origin was lent to it or copied."""

    def __init__(self, trainer: Any) -> None:
        self.segments, self.log = Segments(), []
        self.loop = WorkerLoop(trainer, pack=pickle.dumps, load=self._load, lend=self._lend)

    def _load(self, packed: PackedState) -> Any:
        self.log.append("copied")
        return load(packed, self.segments)

    def _lend(self, packed: PackedState, use: Any) -> bool:
        self.log.append("lent")
        return lend(packed, self.segments, use)

    def train(self, number: int, origin: PackedState | None) -> Any:
        job = Job(origin=None, candidate=Candidate({"lr": 0.5}), epochs=1)
        return [*self.loop.answers(TrainRequest(number, job, origin))][-1]

    def state(self, number: int) -> Any:
        (answer,) = self.loop.answers(PackRequest(number, ()))
        return pickle.loads(answer.state)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "log"),
    [(Copies, ["lent"] * 3), (Refers, ["lent", "copied", "copied"])],
)
def test_an_origin_is_copied_only_for_who_refers_to_it(kind: Any, log: list[str]) -> None:
    worker = Worker(kind())
    packed = pack(Copies().get_state(), worker.segments)
    for number, origin in enumerate([packed, None, packed]):
        assert isinstance(worker.train(number, origin), TryReport)
    assert worker.log == log
    worker.segments.buffer(packed.segment or "")[:] = bytes(sum(packed.sizes))
    weights, fixed = worker.state(2)
    assert (weights[0], fixed[-1]) == (0.5, SIZE - 1)
    worker.segments.clear()


def test_what_a_set_state_raises_is_an_answer_and_the_memory_can_be_freed() -> None:
    worker = Worker(Breaks())
    packed = pack(Copies().get_state(), worker.segments)
    answer = worker.train(0, packed)
    assert isinstance(answer, Raised)
    assert str(answer.error) == "not this one"
    del answer
    worker.segments.clear()


def test_a_small_state_comes_in_the_message_and_may_be_referred_to() -> None:
    seen: list[Any] = []
    segments = Segments()
    assert lend(pack([1.0, 2.0], segments), segments, seen.append)
    assert seen == [[1.0, 2.0]]


@pytest.mark.parametrize("kind", [Copies, Refers])
def test_both_kinds_come_to_what_serial_comes_to(kind: Any) -> None:
    with Processes(kind, workers=2) as executor:
        ends = []
        for one in (Serial(), executor):
            trainer = kind()
            adapter = DynamicGridAdapter(
                trainer,
                {"lr": [0.1, 0.2, 0.5]},
                criterion=lowest("loss"),
                adapt_every=2,
                try_for=1,
                executor=one,
            )
            adapter.run(6)
            ends.append((trainer.weights.tobytes(), trainer.fixed.tobytes()))
    assert ends[0] == ends[1]
    left = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    assert not [name for name in left if name.startswith(f"dynhp-{os.getpid()}-")]
