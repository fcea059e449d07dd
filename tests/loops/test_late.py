"""State that begins after the first round is told of by its name, and no sound loop is accused."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp import Counter, adapt
from dynhp.errors import Hint
from dynhp.loops import Part
from tests.support.messages import warns

START = 10


class Model:
    """Four weights with noise."""

    def __init__(self) -> None:
        self.weights = np.ones(4)
        self.rng = np.random.default_rng(0)

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: Any) -> None:
        self.weights = state["weights"]
        self.rng.bit_generator.state = state["rng"]

    def train(self, rate: float) -> None:
        self.weights = self.weights - rate * (self.weights + 0.1 * self.rng.normal(size=4))

    @property
    def loss(self) -> float:
        return float((self.weights**2).sum())


class Momentum:
    """An optimiser with a memory."""

    def __init__(self, model: Model, share: float) -> None:
        self.model, self.share, self.memory = model, share, np.zeros(4)

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory}

    def load_state_dict(self, state: Any) -> None:
        self.memory = state["memory"]

    def step(self, rate: float) -> None:
        self.memory = self.share * self.memory + self.model.weights
        self.model.weights = self.model.weights - rate * self.memory


def loop_of(*state: Any, **settings: Any) -> Any:
    known = {"space": {"rate": [0.1, 0.2, 0.3]}, "minimize": "loss", "adapt_every": 5, "try_for": 2}
    return adapt(25, state=list(state), **{**known, **settings})


# ---- the four that were silent
def weights_averaged_by_hand() -> None:
    model, average = Model(), None
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            average = model.weights if average is None else 0.9 * average + 0.1 * model.weights
        epoch.report(loss=model.loss)


def a_generator_of_its_own() -> None:
    model, noise = Model(), None
    for epoch in loop_of(model):
        if epoch >= START and noise is None:
            noise = np.random.default_rng(3)
        model.train(epoch["rate"])
        if noise is not None:
            model.weights = model.weights + 0.01 * noise.normal(size=4)
        epoch.report(loss=model.loss)


def another_optimiser() -> None:
    model = Model()
    optimizer = Momentum(model, 0.5)
    for epoch in loop_of(model, optimizer):
        if epoch == START:
            optimizer = Momentum(model, 0.9)
        optimizer.step(epoch["rate"])
        epoch.report(loss=model.loss)


def patience_that_counts_later() -> None:
    model, bad = Model(), 0
    for epoch in loop_of(model):
        model.train(epoch["rate"] / (1 + bad))
        if epoch >= START and model.loss >= 0.0:
            bad += 1
        epoch.report(loss=model.loss)


# ---- others like them
def averages_in_a_dictionary_in_place() -> None:
    model, average = Model(), {"weights": np.ones(4)}
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            average["weights"] *= 0.9
            average["weights"] += 0.1 * model.weights
        epoch.report(loss=model.loss)


def averages_that_begin_with_a_copy() -> None:
    model = Model()
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch == START:
            average = copy.deepcopy(model)
        if epoch >= START:
            average.weights += 0.1 * (model.weights - average.weights)
        epoch.report(loss=model.loss)


def another_optimiser_on_the_main_line() -> None:
    model = Model()
    optimizer = Momentum(model, 0.5)
    for epoch in loop_of(model, optimizer):
        if epoch.main and epoch == START + 3:
            optimizer = Momentum(model, 0.9)
        optimizer.step(epoch["rate"])
        epoch.report(loss=model.loss)


def a_temperature_that_falls_later() -> None:
    model, temperature = Model(), 1.0
    for epoch in loop_of(model):
        model.train(epoch["rate"] * temperature)
        if epoch >= START:
            temperature *= 0.9
        epoch.report(loss=model.loss)


def the_best_loss_from_later_on() -> None:
    model, best_loss = Model(), 1e9
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            best_loss = min(best_loss, model.loss)
        epoch.report(loss=model.loss)


def a_second_optimiser() -> None:
    model, second = Model(), None
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            second = second or Momentum(model, 0.9)
            second.step(0.01)
        epoch.report(loss=model.loss)


def an_iterator_that_is_kept() -> None:
    model, batches = Model(), None
    for epoch in loop_of(model):
        if epoch >= START and batches is None:
            batches = iter([0.01 * n for n in range(1000)])
        model.train(epoch["rate"] if batches is None else epoch["rate"] * (1 + next(batches)))
        epoch.report(loss=model.loss)


LATE = [
    weights_averaged_by_hand,
    a_generator_of_its_own,
    another_optimiser,
    patience_that_counts_later,
    averages_in_a_dictionary_in_place,
    averages_that_begin_with_a_copy,
    another_optimiser_on_the_main_line,
    a_temperature_that_falls_later,
    the_best_loss_from_later_on,
    a_second_optimiser,
    an_iterator_that_is_kept,
]


@pytest.mark.parametrize("loop", LATE, ids=lambda loop: loop.__name__)
def test_what_begins_late_is_told_by_its_name(loop: Callable[[], None]) -> None:
    with warnings.catch_warnings(), warns(Hint) as caught:
        warnings.filterwarnings("ignore", "rate was best at its")  # it is of no interest here
        loop()
    assert len([each for each in caught if "began after" in str(each.message)]) == 1


# ---- sound ones
class Meter:
    """Reset in each epoch; it has a state of its own."""

    def __init__(self) -> None:
        self.total = 0.0

    def state_dict(self) -> dict[str, float]:
        return {"total": self.total}

    def load_state_dict(self, state: Any) -> None:
        self.total = state["total"]

    def reset(self) -> None:
        self.total = 0.0


def with_all_in_the_state() -> None:
    model, bad, noise = Model(), Counter(), np.random.default_rng(3)
    average = {"weights": np.ones(4)}

    def put(state: Any) -> None:
        average["weights"] = state.copy()

    part = Part(get=lambda: average["weights"].copy(), set=put)
    for epoch in loop_of(model, bad, noise, part):
        model.train(epoch["rate"])
        if epoch >= START:
            bad += 1
            average["weights"] = 0.9 * average["weights"] + 0.1 * model.weights
            model.weights = model.weights + 0.01 * noise.normal(size=4)
        epoch.report(loss=model.loss)


def with_what_each_epoch_makes_anew() -> None:
    model, meter, held = Model(), Meter(), None
    for epoch in loop_of(model):
        meter.reset()
        model.train(epoch["rate"])
        if epoch >= START:
            held = copy.deepcopy(model)
            best_guess = held.weights.copy()
            noise = random.Random(int(epoch))
            meter.total += model.loss + float(best_guess.sum()) + noise.random()
            count = 0
            for _ in range(epoch):
                count += 1
            late_loss, size = model.loss, held.weights.size
            assert late_loss * size * count >= 0
        epoch.report(loss=model.loss)


def with_what_belongs_to_the_main_line() -> None:
    model, best, bad, log = Model(), None, 0, []
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch.main and epoch >= START:
            best, bad = model.weights.copy(), bad + 1
            log.append((bad, best))
        epoch.report(loss=model.loss)


def with_names_that_are_used_again() -> None:
    model = Model()
    for epoch in loop_of(model):
        step = epoch * 4
        model.train(epoch["rate"])
        if epoch >= START:
            learned = model.weights - 1
            step += int(learned.size)
        epoch.report(loss=model.loss + 0 * step)


def with_a_try_that_fails() -> None:
    model = Model()
    for epoch in loop_of(model):
        with epoch:
            model.train(epoch["rate"])
            if epoch >= START and epoch["rate"] == 0.1 and epoch.trying:
                raise ValueError("no")
            epoch.report(loss=model.loss)


class Closed:
    """Something whose state cannot be asked for once it is closed."""

    def __init__(self) -> None:
        self.closed = False

    def state_dict(self) -> dict[str, Any]:
        if self.closed:
            raise RuntimeError("closed")
        return {"closed": self.closed}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def with_what_cannot_be_looked_at() -> None:
    model, late = Model(), None
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START and late is None:
            late = Closed()
            late.closed = True
        epoch.report(loss=model.loss)


def with_an_iterator_made_anew() -> None:
    model = Model()
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            late = iter([1, 2, 3])
            next(late)
        epoch.report(loss=model.loss)


def with_a_clock() -> None:
    model, elapsed = Model(), 0.0
    for epoch in loop_of(model):
        model.train(epoch["rate"])
        if epoch >= START:
            elapsed += 0.5
        epoch.report(loss=model.loss + 0 * elapsed)


SOUND = [
    with_what_cannot_be_looked_at,
    with_an_iterator_made_anew,
    with_a_clock,
    with_all_in_the_state,
    with_what_each_epoch_makes_anew,
    with_what_belongs_to_the_main_line,
    with_names_that_are_used_again,
    with_a_try_that_fails,
]


@pytest.mark.parametrize("loop", SOUND, ids=lambda loop: loop.__name__)
def test_a_sound_loop_is_not_accused(loop: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "rate was best at its", Hint)
        loop()
