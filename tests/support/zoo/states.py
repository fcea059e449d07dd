"""Sound trainers, each with another form of state."""

from __future__ import annotations

import bz2
import copy
import enum
import functools
import gzip
import io
import lzma
import pickle
import tempfile
import threading
import weakref
import zlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.support.zoo.base import InPlace, Sgd


class Parameter:
    """Equal to itself only, as a tensor's hash is."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Optimizer:
    """Keeps its momentum by parameter, as torch's optimisers do."""

    def __init__(self, parameters: list[Parameter]) -> None:
        self.groups = [{"params": parameters}]
        self.state: dict[Parameter, Any] = {}

    def step(self, gradient: Any, lr: float) -> None:
        for parameter in self.groups[0]["params"]:
            old = self.state.get(parameter, {"v": np.zeros(3)})["v"]
            self.state[parameter] = {"v": 0.8 * old - lr * gradient}
            parameter.value = parameter.value + self.state[parameter]["v"]


class DeepCopied(Sgd):
    """Its state is a deep copy of model and optimiser, whose keys are equal to themselves only."""

    def __init__(self) -> None:
        super().__init__()
        self.model = [Parameter(np.zeros(3))]
        self.optimizer = Optimizer(self.model)

    def get_state(self) -> Any:
        return copy.deepcopy((self.model, self.optimizer, self.rng, set(self.model)))

    def set_state(self, state: Any) -> None:
        self.model, self.optimizer, self.rng, _ = copy.deepcopy(state)
        self.w = self.model[0].value

    def update(self, lr: float, gradient: Any) -> None:
        self.optimizer.step(gradient, lr)
        self.w = self.model[0].value


class Converted(Sgd):
    """A state of another form, made of the ordinary one by a function and back by another."""

    there: Callable[[Any], Any]
    back: Callable[[Any], Any]

    def get_state(self) -> Any:
        return type(self).there(super().get_state())

    def set_state(self, state: Any) -> None:
        super().set_state(type(self).back(state))


def converted(there: Callable[[Any], Any], back: Callable[[Any], Any]) -> type[Converted]:
    """A class of trainers whose states have another form."""
    return type(
        "ConvertedHere", (Converted,), {"there": staticmethod(there), "back": staticmethod(back)}
    )


def with_extra(make: Callable[[Any], Any]) -> type[Converted]:
    """States that hold one thing more, made of the ordinary state."""
    return converted(
        lambda state: {**state, "extra": make(state)},
        lambda state: {name: state[name] for name in ("w", "v", "rng", "epoch")},
    )


class PickledWhole(InPlace):
    """Its state is the pickled trainer; equal ones may be pickled to different bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def get_state(self) -> Any:
        return pickle.dumps(self.__dict__)

    def set_state(self, state: Any) -> None:
        self.__dict__ = pickle.loads(state)

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        # The same text as one object or as two: this is what makes the bytes differ.
        text = f"epoch {self.epoch}"
        self.log += [text, text]


class LogOfTwins(PickledWhole):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.log = ["".join(list(text)) for text in self.log]


class Files(Sgd):
    """Its state is the name of a file, a new one each time."""

    suffix = ".npz"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())

    def get_state(self) -> Any:
        name = tempfile.mktemp(dir=self.folder, suffix=self.suffix)
        Path(name).write_bytes(pickle.dumps(super().get_state()))
        return name

    def set_state(self, state: Any) -> None:
        super().set_state(pickle.loads(Path(state).read_bytes()))


class Folders(Files):
    def get_state(self) -> Any:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "state").write_bytes(Path(super().get_state()).read_bytes())
        return folder

    def set_state(self, state: Any) -> None:
        super().set_state(state / "state")


def restorer(state: Any) -> Any:
    def restore(trainer: Sgd) -> None:
        Sgd.set_state(trainer, state)

    return restore


class Closures(Sgd):
    """Its state is a function that restores it."""

    def get_state(self) -> Any:
        return restorer(super().get_state())

    def set_state(self, state: Any) -> None:
        state(self)


def into(state: Any, trainer: Sgd) -> None:
    Sgd.set_state(trainer, state)


class Partials(Closures):
    def get_state(self) -> Any:
        return functools.partial(into, Sgd.get_state(self))


class GeneratorObject(Sgd):
    """Its generator is not seeded, and is restored by its state: the seed stays another one."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = np.random.default_rng()

    def get_state(self) -> Any:
        return {**super().get_state(), "rng": copy.deepcopy(self.rng)}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "rng": state["rng"].bit_generator.state})


@dataclass
class StateRecord:
    w: Any
    v: Any
    rng: Any
    epoch: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    w: Any
    v: Any
    rng: Any
    epoch: int


Named = namedtuple("Named", "w v rng epoch")


class Color(enum.Enum):
    RED = 1


class Annotated(dict[str, Any]):
    """A dictionary with an attribute."""

    note = ""


def annotated(state: Any) -> Annotated:
    made = Annotated(state)
    made.note = f"epoch {state['epoch']}"
    return made


def cyclic(state: Any) -> Any:
    state["self"] = state
    return state


TABLE = np.dtype([("w", float), ("v", float)])


def as_table(state: Any) -> Any:
    table = np.zeros(3, TABLE)
    table["w"], table["v"] = state["w"], state["v"]
    return table


def referring(state: Any) -> Any:
    target = Parameter(state["w"])
    return target, weakref.ref(target)


def masked(state: Any) -> Any:
    return np.ma.masked_array(np.append(state["w"], np.random.random()), [0, 0, 0, 1])


ODD_THINGS: dict[str, Callable[[Any], Any]] = {
    "deque": lambda state: deque([state["epoch"]], maxlen=3),
    "ordered": lambda state: OrderedDict(b=state["w"].copy(), a=1),
    "defaultdict": lambda state: defaultdict(lambda: 0, a=state["epoch"]),
    "table": as_table,
    "objects": lambda state: np.array([state["epoch"], None, "x", [1.0]], dtype=object),
    "masked": masked,
    "view": lambda state: memoryview(state["w"].tobytes()),
    "huge": lambda state: 7 ** (10_000 + state["epoch"]),
    "things": lambda state: [Color.RED, datetime(2020, 1, 1), Path("a"), Decimal("0.1")],
    "numbers": lambda state: (Fraction(1, 3), complex(0, -0.0), float("nan"), None, ...),
    "sets": lambda state: {"a", "b", f"epoch {state['epoch']}", float("nan")},
    "namespace": lambda state: SimpleNamespace(x=float("nan"), w=state["w"].copy()),
    "reference": referring,
    "stream": lambda state: io.BytesIO(pickle.dumps(state)),
    "function": lambda state: lambda x, y=state["epoch"]: x + y,
    "method": lambda state: StateRecord(**state).notes.append,
    "error": lambda state: ValueError("kept", state["epoch"]),
    "lock": lambda state: threading.Lock(),
    "generator object": lambda state: (i for i in range(3)),
    "half": lambda state: state["w"].astype(np.float16),
    "time": lambda state: np.array(["NaT", "2020-01-01"], "M8[s]"),
}


def _unzip(state: bytes) -> Any:
    return pickle.loads(gzip.decompress(state))


STATES: dict[str, Callable[[], Any]] = {
    "an ordinary state": Sgd,
    "updates in place": InPlace,
    "a deep copy with keys by identity": DeepCopied,
    "a pickled trainer": PickledWhole,
    "a pickled trainer with other shared texts": LogOfTwins,
    "pickled": converted(pickle.dumps, pickle.loads),
    "gzipped": converted(lambda s: gzip.compress(pickle.dumps(s)), _unzip),
    "compressed": converted(
        lambda s: zlib.compress(pickle.dumps(s)), lambda s: pickle.loads(zlib.decompress(s))
    ),
    "bz2": converted(
        lambda s: bz2.compress(pickle.dumps(s)), lambda s: pickle.loads(bz2.decompress(s))
    ),
    "lzma": converted(
        lambda s: bytearray(lzma.compress(pickle.dumps(s))),
        lambda s: pickle.loads(lzma.decompress(s)),
    ),
    "names of files": Files,
    "names of folders": Folders,
    "a closure": Closures,
    "a partial": Partials,
    "a generator that was not seeded": GeneratorObject,
    "a dataclass": converted(
        lambda s: StateRecord(**s), lambda s: {n: getattr(s, n) for n in ("w", "v", "rng", "epoch")}
    ),
    "frozen slots": converted(
        lambda s: Frozen(**s), lambda s: {n: getattr(s, n) for n in ("w", "v", "rng", "epoch")}
    ),
    "a named tuple": converted(lambda s: Named(**s), lambda s: s._asdict()),
    "a dictionary with an attribute": converted(annotated, lambda s: s),
    "a cycle": converted(cyclic, lambda s: s),
    **{f"with {name}": with_extra(make) for name, make in ODD_THINGS.items()},
}
