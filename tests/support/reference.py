"""Algorithm 1 written down plainly: deep copies of everything, nothing lazy; and toys to run."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import lowest
from dynhp.criteria.contract import metrics_of
from dynhp.errors import AllTriesFailed
from dynhp.proposers import FullGrid, Known
from dynhp.read_back import read_metrics
from dynhp.records import Candidate, Metrics, Progress, Round, Try
from dynhp.records.plain import round_to_plain
from dynhp.selection import Best
from dynhp.spaces import Space
from dynhp.tails.contract import Searched

Values = Mapping[str, Any]

SPACE = Space({"lr": [0.01, 0.05, 0.2, 0.6], "momentum": [0.0, 0.5]})


@dataclass
class Entry:
    """One copy of the state that is tried."""

    candidate: Candidate
    seed: int | None
    state: Any
    series: list[Metrics] = field(default_factory=list)
    epochs: int = 0
    score: float = math.nan
    error: str | None = None
    tail: int = 0
    states: list[Any] = field(default_factory=list)  # after each epoch of the series

    def record(self) -> Try:
        series = tuple(self.series)
        return Try(
            candidate=self.candidate,
            series=series,
            epochs=self.epochs,
            score=self.score,
            error=self.error,
            seed=self.seed,
            tail=self.tail,
        )


@dataclass(kw_only=True)
class ReferenceSettings:
    """What both the adapter and the reference are given."""

    space: Space
    criterion: Any
    adapt_every: int
    try_for: int
    proposer: Any = field(default_factory=FullGrid)
    selection: Any = field(default_factory=Best)
    keep: Any = "winner"
    randomness: Any = "common"
    seed: int = 0
    tail: Any = None
    then: Any = None

    def adapter(self, trainer: Any, **more: Any) -> DynamicGridAdapter:
        return DynamicGridAdapter(trainer, **({"check": "off"} | vars(self) | more))


def reference(trainer: Any, given: ReferenceSettings, epochs: int) -> list[Round]:
    """Run Algorithm 1, and give its rounds; a round that fails leaves the trainer where it was."""
    rng, current = np.random.default_rng(given.seed), given.space.start()
    rounds: list[Round] = []
    while (epoch := sum(round_.epochs for round_ in rounds)) < epochs:
        origin = copy.deepcopy(trainer.get_state())
        try:
            length = min(given.adapt_every, epochs - epoch)
            rounds.append(
                _round(trainer, given, rng, rounds, current, Progress(epoch, epochs), length)
            )
        except (ArithmeticError, AllTriesFailed) as error:
            trainer.set_state(origin)
            trainer.error = error
            break
        current = rounds[-1].candidate
    return rounds


def _round(
    trainer: Any,
    given: ReferenceSettings,
    rng: np.random.Generator,
    rounds: list[Round],
    current: Candidate,
    progress: Progress,
    alpha: int,
) -> Round:
    origin = copy.deepcopy(trainer.get_state())
    entries, best = choose(
        trainer, given, rng, rounds, current, progress, min(given.try_for, alpha)
    )
    done, seed = go_on(trainer, given, rng, best, origin)
    corrected = None
    if given.then is not None:
        tries = tuple(entry.record() for entry in entries)
        corrected = given.space.cast(
            given.then(best.candidate, Searched(given.space, tries, progress.planned))
        )
    trainer.train_k(alpha - done, best.candidate if corrected is None else corrected)
    return Round(
        index=len(rounds),
        start=progress.epoch,
        epochs=alpha,
        previous=current,
        tries=tuple(entry.record() for entry in entries),
        chosen=next(place for place, entry in enumerate(entries) if entry is best),
        reason="",
        metrics=read_metrics(trainer),
        seed=seed,
        restarted=restarts(given),
        corrected=corrected,
    )


def restarts(given: ReferenceSettings) -> bool:
    """Whether the way back to the origin leads elsewhere than through the winner's copy again."""
    elsewhere = given.randomness == "independent" or given.then is not None
    return given.try_for == 0 or (given.keep == "value" and elsewhere)


def choose(
    trainer: Any,
    given: ReferenceSettings,
    rng: np.random.Generator,
    rounds: list[Round],
    current: Candidate,
    progress: Progress,
    beta: int,
    common_seed: int | None = None,
) -> tuple[list[Entry], Entry]:
    """The tries of a round, and the one that is kept."""
    origin, entries, best = copy.deepcopy(trainer.get_state()), [], None
    rank = given.selection.ranking(rounds, current)
    while wave := given.proposer.propose(_known(given, rounds, current, entries), rng):
        seeds = [_seed(given, rng) or common_seed for _ in wave]
        racers = [
            Entry(each, seed, copy.deepcopy(origin)) for each, seed in zip(wave, seeds, strict=True)
        ]
        entries += racers
        *early, last = given.selection.stages(len(wave), beta)
        for stage in (*early, last):
            for racer in racers:
                _train(trainer, racer, stage.epochs, given, progress)
            ranked = [best, *racers] if best and stage is last else racers
            order = rank([each.record() for each in ranked])
            front = [ranked[place] for place in order][: stage.keep]
            racers = [racer for racer in racers if any(racer is each for each in front)]
        best = front[0] if front else None
    if best is None:
        raise AllTriesFailed
    return entries, best


def go_on(
    trainer: Any, given: ReferenceSettings, rng: np.random.Generator, best: Entry, origin: Any
) -> tuple[int, int | None]:
    """Bring the main line to where it goes on: the epochs it has of the round, and its seed."""
    done, seed, state = best.epochs - best.tail, best.seed, best.state
    if given.keep == "value" or not done:  # back to the origin, and all of it again
        done, seed, state = 0, _seed(given, rng), origin
    trainer.set_state(copy.deepcopy(state))
    if done == 0 and seed is not None:
        trainer.reseed(seed)
    return done, seed


def _known(
    given: ReferenceSettings, rounds: list[Round], current: Candidate, entries: list[Entry]
) -> Known:
    tries = [entry.record() for entry in entries]
    return Known(space=given.space, current=current, history=rounds, tries=tries)


def _seed(given: ReferenceSettings, rng: np.random.Generator) -> int | None:
    return int(rng.integers(2**63)) if given.randomness == "independent" else None


def _train(
    trainer: Any, entry: Entry, epochs: int, given: ReferenceSettings, progress: Progress
) -> None:
    trainer.set_state(copy.deepcopy(entry.state))
    if entry.seed is not None and not entry.epochs:
        trainer.reseed(entry.seed)
    values = [entry.candidate] * epochs
    length = 0 if given.tail is None else given.tail.length(progress.planned, "epochs")
    for place in range(length):  # the values in the middle of each epoch of the tail
        values.append(given.tail.at(entry.candidate, (place + 0.5) / length))
    before, in_tail = None, 0
    for number, value in enumerate(values, start=1):
        entry.epochs += 1
        if number == epochs + 1:
            before = copy.deepcopy(trainer.get_state())
        entry.tail += number > epochs
        try:
            trainer.train_k(1, value)
        except ArithmeticError as error:
            entry.error = f"{type(error).__name__}: {error}"
            break
        entry.series.append(read_metrics(trainer))
        entry.states.append(copy.deepcopy(trainer.get_state()))
        in_tail += number > epochs
        bad = [
            name
            for name in metrics_of(given.criterion)
            if not math.isfinite(entry.series[-1][name])
        ]
        if bad:
            entry.error = f"{bad[0]} is {entry.series[-1][bad[0]]} after epoch {number}"
            break
    progress = replace(progress, tail=in_tail)
    entry.score = math.nan if entry.error else float(given.criterion(entry.series, progress))
    entry.state = copy.deepcopy(trainer.get_state()) if before is None else before


def bits(state: Any) -> Any:
    """A state in a form that is equal exactly where all its bits are."""
    if isinstance(state, np.ndarray):
        return (state.dtype.str, state.shape, state.tobytes())
    if isinstance(state, Mapping):
        return tuple((name, bits(value)) for name, value in sorted(state.items()))
    if isinstance(state, tuple):
        return tuple(map(bits, state))
    if isinstance(state, float):
        return state.hex()
    return (type(state).__name__, state)


class Toy:
    """Momentum SGD on a noisy quadratic, with arrays, a counter and a generator in its state.

    Values in ``raising`` raise and values in ``blind`` measure nan in every third epoch.
    ``trained`` counts the epochs begun, and is no part of the state.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        noise: float = 0.3,
        raising: Sequence[float] = (),
        blind: Sequence[float] = (),
    ) -> None:
        start = np.random.default_rng(seed)
        self.curvature = start.uniform(0.1, 2.0, 3)
        self.weights = start.standard_normal(3)
        self.velocity = np.zeros(3)
        self.steps = 0
        self.rng = np.random.default_rng(start.integers(2**32))
        self.noise, self.raising, self.blind = noise, raising, blind
        self.values: Values = {}
        self.trained = 0
        self.error: Exception | None = None

    def get_state(self) -> dict[str, Any]:
        return {
            "weights": self.weights.copy(),
            "velocity": self.velocity.copy(),
            "steps": self.steps,
            "generator": self.rng.bit_generator.state,
        }

    def set_state(self, state: Values) -> None:
        self.weights = state["weights"].copy()
        self.velocity = state["velocity"].copy()
        self.steps = state["steps"]
        self.rng.bit_generator.state = state["generator"]

    def train_k(self, k: int, values: Values) -> None:
        self.values = dict(values)
        for _ in range(k):
            self.trained += 1
            if values["lr"] in self.raising and self.steps % 3 == 1:
                raise ArithmeticError(f"step {self.steps} with {values['lr']}")
            noise = self.noise * self.rng.standard_normal(3)
            gradient = self.curvature * self.weights + noise
            self.velocity = values.get("momentum", 0.5) * self.velocity - values["lr"] * gradient
            self.weights = self.weights + self.velocity
            self.steps += 1

    def metrics(self) -> dict[str, float]:
        loss = float(0.5 * np.sum(self.curvature * self.weights**2))
        if self.values.get("lr") in self.blind and self.steps % 3 == 1:
            loss = math.nan
        return {"loss": loss, "norm": float(np.abs(self.weights).sum())}

    def hyperparameters(self) -> Values:
        return self.values

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)


def without_times(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """What rounds say, as plain data that compares (nan equals nan), except clock and check."""
    plain = [round_to_plain(round_) for round_ in rounds]
    for round_ in plain:
        round_.pop("checked", None)  # a resumed run checks once more
        round_.pop("tolerance", None)
        for part in (round_, *round_["tries"]):
            del part["seconds"]
    return plain


class Diary:
    """A trainer whose state is the values it was trained with, and whose loss is a table.

    ``losses`` maps a value to its loss; where that is an exception, training raises it. ``calls``
    lists every call as it comes, and ``trained`` counts the epochs begun.
    """

    def __init__(self, losses: Mapping[Any, Any]) -> None:
        self.losses = dict(losses)
        self.diary: tuple[Any, ...] = ()
        self.calls: list[str] = []
        self.trained = 0

    def get_state(self) -> tuple[Any, ...]:
        self.calls.append("get")
        return self.diary

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.calls.append("set")
        self.diary = state

    def train_k(self, k: int, values: Values) -> None:
        self.calls.append(f"train {k} {values['x']}")
        self.trained += k
        if isinstance(self.losses[values["x"]], BaseException):
            raise self.losses[values["x"]]
        self.diary += (values["x"],) * k

    def metrics(self) -> dict[str, float]:
        return {"loss": float(self.losses[self.diary[-1]]) if self.diary else 0.0}


def toy_settings(**changes: Any) -> ReferenceSettings:
    given: dict[str, Any] = {
        "space": SPACE,
        "criterion": lowest("loss"),
        "adapt_every": 5,
        "try_for": 2,
    }
    return ReferenceSettings(**(given | changes))


def diary_adapter(trainer: Diary, values: Sequence[Any] | None = None, **more: Any) -> Any:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2}
    return DynamicGridAdapter(trainer, {"x": list(values or trainer.losses)}, **(given | more))
