"""Broken trainers: shared states, impure methods, calls that do not compose, seeds and batches."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.zoo.base import InPlace, Sgd


class LiveDeep(InPlace):
    def get_state(self) -> Any:
        return {**super().get_state(), "deep": ([{"w": self.w}],)}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "w": state["deep"][0][0]["w"]})


class LiveView(InPlace):
    def get_state(self) -> Any:
        return {**super().get_state(), "w": self.w[:]}


class LiveGenerator(Sgd):
    def get_state(self) -> Any:
        return {**super().get_state(), "rng": self.rng}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "rng": state["rng"].bit_generator.state})
        self.rng = state["rng"]


@dataclass(slots=True)
class Slots:
    w: Any
    v: Any
    rng: Any
    epoch: int


class LiveSlots(InPlace):
    def get_state(self) -> Any:
        return Slots(self.w, self.v, self.rng.bit_generator.state, self.epoch)

    def set_state(self, state: Any) -> None:
        self.w, self.v, self.epoch = state.w.copy(), state.v.copy(), state.epoch
        self.rng.bit_generator.state = state.rng


class LiveDeque(Sgd):
    def __init__(self) -> None:
        super().__init__()
        self.last: deque[float] = deque(maxlen=3)

    def get_state(self) -> Any:
        return {**super().get_state(), "last": self.last}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.last = deque(state["last"], maxlen=3)

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.last.append(self.loss())


class SharedWeights(InPlace):
    """Its weights belong to the class until a state is set."""

    shared = np.zeros(3)

    def __init__(self) -> None:
        super().__init__()
        self.w = self.shared


class ShallowCopy(InPlace):
    def get_state(self) -> Any:
        return copy.copy(self.__dict__)

    def set_state(self, state: Any) -> None:
        self.__dict__ = copy.deepcopy(state)


class TakesAsItIs(InPlace):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.w = state["w"]


class Pops(Sgd):
    def set_state(self, state: Any) -> None:
        self.epoch = state.pop("epoch", 0)
        super().set_state({**state, "epoch": self.epoch})


class WritesOnRestore(InPlace):
    """Hands out copies, but writes what it is handed into the last of them."""

    def get_state(self) -> Any:
        self.last = super().get_state()
        return self.last

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        if hasattr(self, "last"):
            self.last["w"][:] = state["w"]


class DrawsAfterHandingOut(Sgd):
    def get_state(self) -> Any:
        state = super().get_state()
        self.rng.random()
        return state


class GetStateRounds(Sgd):
    def get_state(self) -> Any:
        self.w = np.round(self.w, 6)
        return super().get_state()


class MetricsDraw(Sgd):
    def metrics(self) -> Any:
        return {"loss": self.loss(), "noise": float(self.rng.random() > 2)}


class MetricsUpdate(Sgd):
    """As batch normalisation that is left in training mode while measuring."""

    def metrics(self) -> Any:
        loss = self.loss()
        self.v = 0.99 * self.v
        return {"loss": loss}


class ReadingMoves(Sgd):
    lr = 0.05

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.lr = lr

    def hyperparameters(self) -> Any:
        self.rng.random()
        return {"lr": self.lr}


def measuring(result: Any) -> Any:
    """A class of trainers with this as their metrics, from their second epoch on."""

    class MeasuresLater(Sgd):
        def metrics(self) -> Any:
            return result if self.epoch > 1 else {"loss": self.loss()}

    return MeasuresLater


class MeasuresNumpy(Sgd):
    def metrics(self) -> Any:
        return {"loss": np.float64(self.loss())}


class MeasuresArray(Sgd):
    def metrics(self) -> Any:
        return {"loss": np.array(self.loss())}


class MeasuresNumber(Sgd):
    def metrics(self) -> Any:
        return self.loss()


class MeasuresNothing(Sgd):
    def metrics(self) -> Any:
        return None


class MeasuresInt(Sgd):
    def metrics(self) -> Any:
        return {"loss": self.loss(), "epoch": self.epoch}


class CachesMetrics(Sgd):
    """What was measured is kept until the next epoch, also over set_state."""

    kept: Any = None

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.kept = None

    def metrics(self) -> Any:
        self.kept = self.kept or super().metrics()
        return self.kept


class CachesMetricsByEpoch(Sgd):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Any] = {}

    def metrics(self) -> Any:
        return self.kept.setdefault(self.epoch, super().metrics())


class AlwaysOneEpoch(Sgd):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(1, hyperparameters)


class CapsK(Sgd):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(min(k, 3), hyperparameters)


class DecaysInCall(Sgd):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for i in range(k):
            self.train_epoch(hyperparameters["lr"] * (1 - i / k))


class ShufflesOnce(Sgd):
    order: Any = None

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.order = np.split(self.rng.permutation(12), 3)
        super().train_k(k, hyperparameters)

    def batches(self) -> Any:
        return self.order


class ReseedCounts(Sgd):
    seeds = 0

    def reseed(self, seed: int) -> None:
        self.seeds += 1
        self.rng = np.random.default_rng([seed, self.seeds])


class ReseedAdds(Sgd):
    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, self.rng.integers(2**32)])

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.rng = copy.deepcopy(self.rng)


class ReseedOutside(Sgd):
    """Its seed goes to a generator that is not in the state."""

    noise = np.random.default_rng(0)

    def reseed(self, seed: int) -> None:
        self.noise = np.random.default_rng(seed)

    def train_epoch(self, lr: float) -> None:
        self.noise = copy.deepcopy(self.noise)
        super().train_epoch(lr + 1e-3 * self.noise.random())


class ReseedIgnores(Sgd):
    def reseed(self, seed: int) -> None:
        self.seed = seed


class TriesInOnePass(Sgd):
    """Sound, all tries in one pass."""

    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        answers = []
        for candidate in candidates:
            trainer = Sgd()
            trainer.set_state(origin)
            series = []
            for _ in range(self.epochs_of(k)):
                trainer.train_k(1, candidate)
                series.append(trainer.metrics())
            answers.append((series + series[-1:] * (k - len(series)), trainer.get_state()))
        return answers

    def epochs_of(self, k: int) -> int:
        return k


class BatchOfTwo(TriesInOnePass):
    def epochs_of(self, k: int) -> int:
        return min(k, 2)


class BatchOfThree(TriesInOnePass):
    def epochs_of(self, k: int) -> int:
        return min(k, 3)


class BatchWrites(TriesInOnePass):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        answers = super().try_batch(origin, candidates, k)
        origin["w"] += 1.0
        return answers


class BatchShares(TriesInOnePass):
    """All its answers hold the same array."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = np.zeros(3)

    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        answers = super().try_batch(origin, candidates, k)
        for _, state in answers:
            self.shared[:] = state["w"]
            state["w"] = self.shared if k == 1 else state["w"]
        return answers


class BatchLosesLast(TriesInOnePass):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        return super().try_batch(origin, candidates, k)[:3]


class BatchSorts(TriesInOnePass):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        ordered = sorted(candidates, key=lambda candidate: candidate["lr"])
        return super().try_batch(origin, ordered, k)


class ReseedStartsAnew(Sgd):
    def reseed(self, seed: int) -> None:
        self.__init__()  # type: ignore[misc]
        self.rng = np.random.default_rng(seed)
