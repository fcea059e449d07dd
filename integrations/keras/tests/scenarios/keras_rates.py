"""A search for the rate, and a schedule of it; ``test_keras_backends.py`` runs it for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import pytest
from keras_shared import TIES, TORCH, adapt, bits, callbacks, fit, make, torch_is_enough

from dynhp import plan_for, recommended, spent
from dynhp.errors import ContractError, SettingsError, ValueNotInForce
from dynhp.planning import rate_search
from dynhp.records import Candidate
from dynhp.tails import annealed, scheduled, wsd
from dynhp.tails.contract import tail_values
from dynhp.triggers import At
from dynhp_keras import Adapt
from dynhp_keras.schedule import FitSchedule
from tests.support.messages import raises

BATCHES, EPOCHS = 4, 4
INPUTS = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
TARGETS = (INPUTS @ np.ones((4, 1))).astype("float32")


def linear(rate: float) -> Any:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), "mse")
    return model


def search(**options: Any) -> Adapt:
    return Adapt(policy=recommended("learning_rate", loss="loss"), **options)


class FitPlan(callbacks.Callback):
    """What the run will cost, said before its first epoch."""

    def __init__(self, ours: Adapt) -> None:
        super().__init__()
        self.ours = ours

    def on_train_begin(self, logs: Any = None) -> None:
        assert self.ours.loop is not None
        self.plan = plan_for(self.ours.loop)


STARTS = [0.03, 0.1 / 17.8, 0.1 * 17.8, 31.6228]


@pytest.mark.parametrize("rate", STARTS if TORCH else STARTS[1:2])
def test_the_preset_finds_the_same_rate_from_anywhere(rate: float) -> None:
    """Also from starts between two rates of its grid, and with a schedule per batch."""
    found, weights = [], []
    for start in (0.1, rate):
        model, ours = linear(start), search(schedule=wsd)
        ahead = FitPlan(ours)
        history = model.fit(
            INPUTS, TARGETS, batch_size=16, epochs=10, verbose=0, callbacks=[ours, ahead]
        )
        assert history.epoch == list(range(10))
        loop = ours.loop
        assert loop is not None
        rates = rate_search(loop)
        assert rates.start == pytest.approx(start, rel=1e-6)
        assert float(model.optimizer.learning_rate) == pytest.approx(rates.rate)  # the height
        assert {round_.candidate["learning_rate"] for round_ in ours.history} == {rates.rate}
        assert history.history["loss"][-1] < 1e-2 < history.history["loss"][0]
        cost, tried = spent(loop), [each.epochs for each in ours.history[0].tries]
        assert ahead.plan.least.overhead <= cost.overhead <= ahead.plan.most.overhead
        assert plan_for(loop).least == plan_for(loop).most == cost
        assert cost.overhead == sum(tried) + 2 * tried[0], "the check carries out the first twice"
        found.append(rates.rate)
        weights.append(bits(model))
    assert 0.01 < found[0] == found[1] < 1
    assert weights[0] == weights[1]


class WeightBeforeBatch(callbacks.Callback):
    """What the one weight was before each batch, which is the loss of that batch."""

    passes: ClassVar[list[list[float]]] = []  # of the class: what it keeps itself is put back

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.passes.append([])
        self.sum = 0.0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        total = (batch + 1) * logs["loss"]  # Keras gives the mean over the epoch so far
        self.passes[-1].append(total - self.sum)
        self.sum = total


def rates_used(ours: Any, spy: Any) -> tuple[Any, list[list[float]]]:
    """Fit a weight whose gradient is 1 in every batch: what it moves by are the rates used."""
    keras.utils.set_random_seed(0)
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    model.compile(keras.optimizers.SGD(0.1), lambda _, output: keras.ops.mean(output))
    ones = np.ones((4 * BATCHES, 1), "float32")
    spy.passes.clear()
    model.fit(ones, ones, batch_size=4, epochs=EPOCHS, verbose=0, callbacks=[ours, spy])
    return model, [list(-np.diff(weights)) for weights in spy.passes]


def of_the_main_line(height: float, epoch: int) -> list[float]:
    """The rates of an epoch but its last batch, whose move the next epoch shows."""
    middles = [(epoch + (batch + 0.5) / BATCHES) / EPOCHS for batch in range(BATCHES - 1)]
    return [height * wsd(progress, warm_up=0.2) for progress in middles]


def slow_wsd(progress: float) -> float:
    return wsd(progress, warm_up=0.2)


def test_batches_of_the_main_line_follow_the_schedule_and_those_of_tails_the_tail() -> None:
    spy, tail = WeightBeforeBatch(), annealed("learning_rate", epochs=3)
    ours = Adapt(
        {"learning_rate": [0.1, 0.3]}, when=At([0]), try_for=0, tail=tail, keep="value",
        minimize="loss", schedule=slow_wsd, acting=[spy], check="off",
    )  # fmt: skip
    model, rates = rates_used(ours, spy)
    tails = []
    for value in (0.1, 0.3):
        along = tail_values(tail, Candidate({"learning_rate": value}), 3, BATCHES)
        by_batch = [each["learning_rate"] for each in along]
        tails += [by_batch[first : first + BATCHES - 1] for first in range(0, 12, BATCHES)]
    assert ours.history[0].candidate["learning_rate"] == 0.3
    wanted = [*tails, *(of_the_main_line(0.3, epoch) for epoch in range(EPOCHS))]
    assert len(rates) == len(wanted) == 6 + EPOCHS
    for got, expected in zip(rates, wanted, strict=True):
        assert got == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.3)


OWN: list[dict[str, Any]] = [
    {"schedule": slow_wsd},
    {"course": scheduled("learning_rate", "wsd", warm_up=0.2)},
]
"""A schedule of the fit, and one of the policy: both are followed batch by batch."""


@pytest.mark.parametrize("own", OWN if TORCH else OWN[1:])
def test_a_try_without_a_tail_is_a_piece_of_the_scheduled_run(own: dict[str, Any]) -> None:
    spy = WeightBeforeBatch()
    ours = Adapt(
        {"learning_rate": [0.1, 0.3]}, adapt_every=2, try_for=1, minimize="loss",
        acting=[spy], check="off", **own,
    )  # fmt: skip
    rates = rates_used(ours, spy)[1]
    order = [(0.1, 0), (0.3, 0), (0.3, 1), (0.3, 2), (0.1, 2), (0.3, 3)]
    assert len(rates) == len(order)
    for got, (height, epoch) in zip(rates, order, strict=True):
        assert got == pytest.approx(of_the_main_line(height, epoch), rel=1e-3, abs=1e-5)


class ScheduleByHand(callbacks.Callback):
    """The same schedule without us, on a rate of 0.01 and two batches in each of five epochs."""

    def __init__(self, *, stays: bool) -> None:
        super().__init__()
        self.stays = stays  # what the rate was last, or the height again

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        getattr(self.model, "jax_state_sync", int)()
        rate = 0.01 * wsd((self.epoch + (batch + 0.5) / 2) / 5)
        self.model.optimizer.learning_rate = rate

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not self.stays:
            self.model.optimizer.learning_rate = 0.01


@pytest.mark.parametrize("how", [{"dry_run": True}, TIES] if TORCH else [{"dry_run": True}])
@pytest.mark.parametrize("own", [{"schedule": wsd}, {"course": scheduled("learning_rate")}])
def test_a_dry_run_is_bit_identical_to_the_same_schedule_without_us(how: Any, own: Any) -> None:
    plain = make()
    wanted = fit(plain, ScheduleByHand(stays="course" in own)).history
    bits_wanted = bits(plain)
    model, ours = make(), adapt(try_for=2, **own, **how)
    assert fit(model, ours).history == wanted
    assert bits(model) == bits_wanted
    assert len(ours.history[0].tries) == 3


class KilledInEpoch5(callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch == 5:
            raise RuntimeError("killed")


@pytest.mark.parametrize("own", [{"schedule": wsd}, {}] if TORCH else [{}])
def test_a_scheduled_search_that_was_killed_goes_on_to_the_bit(tmp_path: Path, own: Any) -> None:
    file = tmp_path / "fit.zip"
    whole, ours = make(), search(**own)
    wanted = fit(whole, ours, epochs=8).history
    bits_wanted = bits(whole)
    with pytest.raises(RuntimeError, match="killed"):
        fit(make(), search(checkpoint=file, **own), KilledInEpoch5(), epochs=8)
    model, again = make(), search(checkpoint=file, **own)
    history = fit(model, again, epochs=8)
    assert history.epoch == [5, 6, 7]
    assert history.history["loss"] == wanted["loss"][5:]
    assert again.history == ours.history
    assert bits(model) == bits_wanted


def sets_the_rate(hook: str) -> Any:
    """A callback that sets the rate in one of its hooks, in the first epoch or batch alone."""

    def overwrite(self: Any, number: int, logs: Any = None) -> None:
        if number == 0:
            self.model.optimizer.learning_rate = 0.5

    return type("SetsTheRate", (callbacks.Callback,), {hook: overwrite})()


@torch_is_enough
@pytest.mark.parametrize("hook", ["on_epoch_begin", "on_train_batch_begin", "on_train_batch_end"])
@pytest.mark.parametrize("schedule", [wsd, lambda progress: 1.0, lambda progress: 1 - progress])
def test_a_rate_that_somebody_else_sets_is_still_noticed(hook: str, schedule: Any) -> None:
    other = sets_the_rate(hook)
    with raises(ValueNotInForce):
        fit(make(), adapt(schedule=schedule, acting=[other]), other)


@torch_is_enough
@pytest.mark.parametrize("hook", ["on_epoch_begin", "on_train_batch_begin", "on_train_batch_end"])
def test_it_is_where_the_policy_moves_the_rate(hook: str) -> None:
    other = sets_the_rate(hook)
    with raises(ValueNotInForce):
        fit(make(), adapt(course=scheduled("learning_rate", "linear"), acting=[other]), other)


@pytest.mark.skipif(TORCH, reason="torch trains one batch at a time")
def test_batches_that_are_trained_at_once_have_the_rate_of_the_middle_one() -> None:
    ours = Adapt(
        {"learning_rate": [0.1]}, adapt_every=2, try_for=1, minimize="loss", check="off",
        course=scheduled("learning_rate", "linear", warm_up=0.0),
    )  # fmt: skip
    model, seen = linear(0.1), []
    model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution=3)
    noting = callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(float(model.optimizer.learning_rate))
    )
    model.fit(INPUTS, TARGETS, batch_size=10, epochs=2, verbose=0, callbacks=[ours, noting])
    wanted = [0.1 * (1 - (7 + step + 0.5) / 14) for step in (1, 4, 6)]
    assert seen[3:] == pytest.approx(wanted, rel=1e-5)  # the first epoch was a try


@torch_is_enough
def test_a_schedule_of_the_fit_and_one_of_the_policy_for_something_else() -> None:
    ours = adapt(
        {"learning_rate": [0.01, 0.03], "beta_1": [0.9, 0.5]}, schedule=wsd,
        course=scheduled("beta_1", "linear"),
    )  # fmt: skip
    model = make()
    fit(model, ours)
    height = ours.history[-1].candidate["beta_1"]
    assert model.optimizer.beta_1 == pytest.approx(
        height * scheduled("beta_1", "linear").factor(0.9)
    )


@torch_is_enough
def test_an_interrupted_epoch_leaves_the_schedule_until_it_is_closed_or_goes_on() -> None:
    class InterruptsScheduled(callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.last = epoch == 4

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if self.last:
                raise KeyboardInterrupt

    model, ours = make(), adapt(schedule=lambda progress: 1 - progress)
    with pytest.raises(KeyboardInterrupt):
        fit(model, ours, InterruptsScheduled())
    left = float(model.optimizer.learning_rate)
    ours.close()
    height = ours.history[-1].candidate["learning_rate"]
    assert left == pytest.approx(0.15 * height)
    assert float(model.optimizer.learning_rate) == pytest.approx(height)
    with pytest.raises(KeyboardInterrupt):
        fit(model, ours, InterruptsScheduled())
    left = float(model.optimizer.learning_rate)
    fit(model, ours, epochs=1)  # without a close
    assert ours.history[0].previous["learning_rate"] == pytest.approx(left / 0.15)


def test_progress_is_that_of_the_whole_training() -> None:
    model = make()
    later = FitSchedule(wsd, model, first=4, epochs=8, batches=5, at_once=2)
    assert [later.progress(0, batch) for batch in (0, 2, 4)] == [4.2 / 8, 4.6 / 8, 4.9 / 8]
    unknown = FitSchedule(wsd, model, first=0, epochs=2, batches=None)
    assert unknown.progress(1, 7) == 0.75
    assert FitSchedule(wsd, model, first=0, epochs=1, batches=2).progress(0, 9) == 1.0


@torch_is_enough
def test_what_is_no_schedule_is_refused_with_the_way_out() -> None:
    cosine = keras.optimizers.schedules.CosineDecay(0.01, 20)
    with raises(SettingsError):
        adapt(schedule=0.5)
    with raises(ContractError):
        fit(make(), adapt(schedule=cosine))
    with raises(ContractError):
        fit(make(), adapt(schedule=lambda progress: -1.0))
    with raises(SettingsError):
        fit(make(), adapt({"beta_1": [0.9, 0.5]}, schedule=wsd))
    by_epoch = callbacks.LearningRateScheduler(lambda epoch, rate: rate)
    with raises(SettingsError):
        fit(make(), by_epoch, search())
    with raises(SettingsError):
        fit(make(keras.optimizers.Adam(cosine)), search())


@torch_is_enough
def test_a_factor_may_be_a_number_of_numpy() -> None:
    model, ours = make(), adapt(schedule=lambda progress: np.float32(1 - progress))
    fit(model, ours)
    height = ours.history[-1].candidate["learning_rate"]
    assert float(model.optimizer.learning_rate) == pytest.approx(height)


@torch_is_enough
def test_the_preset_finds_the_same_fit_from_anywhere_and_ends_near_zero() -> None:
    """With the schedule that it brings, which is followed batch by batch."""
    ends = []
    for start in (0.03, 0.1 / 17.8, 0.1 * 17.8):
        model, ours = linear(start), search()
        model.fit(INPUTS, TARGETS, batch_size=16, epochs=10, verbose=0, callbacks=[ours])
        assert ours.loop is not None
        found = rate_search(ours.loop).rate
        steps = [values for each in ours.history for values in each.values_by_step]
        rates = [values["learning_rate"] for values in steps]
        assert len(set(rates)) > 10, "it falls within epochs"
        assert max(rates) == pytest.approx(found)
        assert rates[-1] == pytest.approx(float(model.optimizer.learning_rate), rel=1e-5)
        assert 0 < rates[-1] < found / 20
        ends.append((found, bits(model)))
    assert ends[0] == ends[1] == ends[2]


@torch_is_enough
def test_the_preset_may_bring_its_schedule() -> None:
    def fitted(ours: Adapt) -> Any:
        model = linear(0.1)
        model.fit(INPUTS, TARGETS, batch_size=16, epochs=10, verbose=0, callbacks=[ours])
        return model

    policy = recommended("learning_rate", loss="loss", schedule="linear")
    ours = Adapt(policy=policy)
    model = fitted(ours)
    height = ours.history[-1].candidate["learning_rate"]
    assert isinstance(height, float)
    last = height * scheduled("learning_rate", "linear").factor(1 - 0.5 / 40)
    assert float(model.optimizer.learning_rate) == pytest.approx(last)
    assert ours.history[-1].scheduled["learning_rate"][-1] == pytest.approx(last)

    both = Adapt(policy=policy, schedule=wsd)
    model = fitted(both)
    assert both.loop is not None
    assert both.loop.adapter.policy.course is None
    assert float(model.optimizer.learning_rate) == pytest.approx(rate_search(both.loop).rate)
