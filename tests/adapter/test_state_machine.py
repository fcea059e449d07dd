"""Whatever happens in between, a run equals its uninterrupted twin."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Racing,
    Serial,
    lowest,
    phased,
)
from dynhp.drivers import TrainerDriver
from dynhp.executors.contract import Job, Outcome
from tests.support.reference import SPACE, ReferenceSettings, Toy, bits, without_times

EPOCHS = 40


class InjectedFailure(Exception):
    """What the tests make go wrong."""


class DyingExecutor:
    """An executor that dies after some jobs, with the trainer anywhere."""

    def __init__(self, after: int) -> None:
        self.after = after

    def run(self, trainer: Any, jobs: Sequence[Job], *, at: Any) -> Iterator[Outcome]:
        for number, outcome in enumerate(Serial().run(trainer, jobs, at=at)):
            if number == self.after:
                raise InjectedFailure("the executor died")
            yield outcome
        raise InjectedFailure("the executor died at the end")


class DisturbedRun(RuleBasedStateMachine):
    """One adapter that is disturbed, and a twin that is not."""

    @initialize(
        proposer=st.sampled_from([FullGrid(), Neighbors(), OneAxis(), Interpolation()]),
        selection=st.sampled_from([Best(), Racing(), BestByMargin(noise=1.0)]),
        keep=st.sampled_from(["winner", "value"]),
        randomness=st.sampled_from(["common", "independent"]),
        seed=st.integers(0, 2**31),
    )
    def start(self, **chosen: Any) -> None:
        self.settings = ReferenceSettings(
            space=SPACE,
            criterion=phased(lowest("norm"), lowest("loss"), at=0.5),
            adapt_every=6,
            try_for=2,
            **chosen,
        )
        self.trainer, self.twin_trainer = Toy(1), Toy(1)
        self.adapter = self.settings.adapter(self.trainer, epochs=EPOCHS)
        self.twin = self.settings.adapter(self.twin_trainer, epochs=EPOCHS)

    @precondition(lambda self: self.adapter.epoch < EPOCHS)
    @rule()
    def step(self) -> None:
        assert without_times([self.adapter.step()]) == without_times([self.twin.step()])

    @rule(announce=st.booleans())
    def save_and_load_in_a_new_object(self, announce: bool) -> None:
        saved = json.loads(json.dumps(self.adapter.state_dict(), allow_nan=False))
        state = copy.deepcopy(self.trainer.get_state())
        self.trainer = Toy(1)
        self.trainer.train_k(3, {"lr": 0.3})
        # Another executor, other callbacks, no epochs: none is the answer's business.
        self.adapter = DynamicGridAdapter(
            self.trainer,
            **vars(self.settings),
            callbacks=[lambda event: None] if announce else [],
        )
        self.adapter.load_state_dict(saved)
        self.trainer.set_state(state)

    @precondition(lambda self: self.adapter.epoch < EPOCHS)
    @rule(after=st.integers(0, 12), failure=st.sampled_from([KeyboardInterrupt, SystemExit]))
    def interrupt(self, after: int, failure: type[BaseException]) -> None:
        self.fail(after, failure, every=True)

    @precondition(lambda self: self.adapter.epoch < EPOCHS)
    @rule()
    def fail_in_the_stretch(self) -> None:
        self.fail(0, InjectedFailure, every=False)

    def fail(self, after: int, failure: type[BaseException], *, every: bool) -> None:
        train_k, left = self.trainer.train_k, [after]

        def failing(k: int, values: Any) -> None:
            train_k(k, values)
            left[0] -= every or k > 1
            if left[0] < 0:
                raise failure

        self.trainer.train_k = failing  # type: ignore[method-assign]
        try:
            self.adapter.step()
        except failure:
            pass
        else:  # the round was shorter than that: nothing was disturbed
            self.twin.step()
        finally:
            del self.trainer.train_k

    @precondition(lambda self: self.adapter.epoch < EPOCHS)
    @rule(after=st.integers(0, 8))
    def the_executor_dies(self, after: int) -> None:
        driver = self.adapter.driver
        assert isinstance(driver, TrainerDriver)
        executor, driver.executor = driver.executor, DyingExecutor(after)
        with pytest.raises(InjectedFailure):
            self.adapter.step()
        driver.executor = executor

    @precondition(lambda self: self.adapter.epoch < EPOCHS)
    @rule(after=st.integers(0, 4))
    def a_callback_fails(self, after: int) -> None:
        left = [after]

        def failing(event: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise InjectedFailure

        callbacks, self.adapter.callbacks = self.adapter.callbacks, (failing,)
        try:
            self.adapter.step()
        except InjectedFailure:
            pass
        else:
            self.twin.step()
        finally:
            self.adapter.callbacks = callbacks

    @rule(seed=st.integers(0, 9))
    def foreign_use_of_global_generators(self, seed: int) -> None:
        random.seed(seed)
        random.random()
        np.random.seed(seed)
        np.random.standard_normal(3)

    @invariant()
    def equal_to_the_twin(self) -> None:
        if hasattr(self, "twin"):
            assert without_times(self.adapter.history) == without_times(self.twin.history)
            assert self.adapter.current == self.twin.current
            assert self.adapter.epoch == self.twin.epoch
            assert bits(self.trainer.get_state()) == bits(self.twin_trainer.get_state())


TestInterrupted = pytest.mark.many(DisturbedRun.TestCase)
TestInterrupted.settings = settings(max_examples=40, stateful_step_count=14, deadline=None)
