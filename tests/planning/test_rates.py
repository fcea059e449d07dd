"""The search for a rate: the same from any start, exact in cost, and without a trace."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynhp import (
    DynamicGridAdapter,
    Processes,
    Serial,
    find_rate,
    plan_for,
    recommended,
    schedule_of,
    spent,
)
from dynhp.errors import AllTriesFailed, LoopError, SettingsError
from dynhp.loops import adapt
from dynhp.planning import RateFinder, rate_search
from dynhp.planning.rates import RateSearch
from dynhp.tails import wsd
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At
from tests.support.messages import raises, warns
from tests.support.reference import Toy, bits

STARTS = [1 / 30, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
RUNG = math.sqrt(10)


class Valley:
    """Noisy SGD in 20 dimensions of very different curvature."""

    def __init__(self, seed: int = 0) -> None:
        self.curvature = np.geomspace(0.01, 1.0, 20)
        self.weights = np.ones(20)
        self.rng = np.random.default_rng(seed)
        self.loss = 0.0

    def get_state(self) -> Any:
        return (self.weights.copy(), self.rng.bit_generator.state, self.loss)

    def set_state(self, state: Any) -> None:
        weights, self.rng.bit_generator.state, self.loss = state
        self.weights = weights.copy()

    def train_k(self, k: int, values: Any) -> None:
        for _ in range(k):
            self.loss = float(0.5 * self.curvature @ self.weights**2)
            noise = 0.3 * self.rng.standard_normal(20)
            with np.errstate(all="ignore"):
                gradient = self.curvature * (self.weights + noise)
                self.weights = self.weights - values["lr"] * gradient

    def metrics(self) -> dict[str, float]:
        return {"train_loss": self.loss}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_from_30_times_too_low_to_30_times_too_high_it_is_the_same_rate(seed: int) -> None:
    searches = [find_rate(Valley(seed), epochs=700, start=0.5 * times) for times in STARTS]
    assert len({search.rate for search in searches}) == 1
    # 21 steps of warm-up and annealing for each try, and for two repeats.
    assert [search.epochs for search in searches] == [21 * (len(s.rates) + 2) for s in searches]
    assert all(search.epochs <= 0.4 * 700 for search in searches)


@pytest.mark.parametrize("times", STARTS)
def test_a_whole_run_ends_the_same_from_any_start(times: float) -> None:
    trainer = Valley(3)
    policy = recommended("learning_rate", name="lr", default=0.5 * times)
    adapter = DynamicGridAdapter(trainer, policy=policy)
    history = adapter.run(700)
    search = rate_search(history)
    assert history[0].corrected == {"lr": search.rate}
    assert max(values["lr"] for _, values in schedule_of(history).as_list()) == search.rate
    share = 21 / 700
    assert RUNG**-0.5 < search.rate / (search.best * math.sqrt(share)) < RUNG**0.5
    # One that is left alone is worse by a factor of ten and more where it starts far off.
    assert trainer.metrics()["train_loss"] < 0.08
    assert spent(history).runs <= 1.4


def test_a_search_without_checks_trains_the_tries_alone() -> None:
    search = find_rate(Valley(), epochs=700, check="off")
    assert search.epochs == 21 * len(search.rates)
    assert replace(search, epochs=search.epochs + 2 * 21) == find_rate(Valley(), epochs=700)


class FailsAbove(Quadratic):
    """Raises at rates above 0.5."""

    def train_k(self, k: int, values: Any) -> None:
        if values["lr"] > 0.5:
            raise ArithmeticError("too high")
        super().train_k(k, values)


def test_a_search_tells_all_that_was_tried_and_which_failed() -> None:
    search = find_rate(FailsAbove(), epochs=100, start=0.03, loss="loss")
    assert (search.name, search.unit) == ("lr", "epochs")
    assert search.rates == (0.0316228, 0.1, 0.316228, 1.0)
    assert [math.isnan(score) for score in search.scores] == [False, False, False, True]
    assert search.best == 0.316228
    assert max(search.scores[:3]) == search.scores[search.rates.index(search.best)]


def test_a_search_in_a_loop_over_steps_is_told_in_steps() -> None:
    model = Quadratic()
    policy = recommended("lr", default=0.1, loss="loss")
    for epoch in (loop := adapt(steps=1000, state=[model], policy=policy)):
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
    assert rate_search(loop).unit == "steps"


def test_a_rate_that_diverges_everywhere_is_left_downwards() -> None:
    search = find_rate(Valley(), epochs=700, start=3e4)
    assert search.rates[-1] == pytest.approx(316_228)  # the rung next to it, and two steps up
    assert search.rate < 5


def test_the_limit_of_rungs_is_said() -> None:
    with warns(UserWarning):
        find_rate(Quadratic(), epochs=100, start=1e-7, loss="loss")


def test_an_ending_that_keeps_the_rate_takes_a_lower_one() -> None:
    falling = find_rate(Valley(), epochs=700)
    averaged = find_rate(Valley(), epochs=700, ending="average")
    constant = find_rate(Valley(), epochs=700, ending=None)
    assert averaged == falling
    assert constant.rate == pytest.approx(0.56 * falling.rate, rel=1e-5)


def test_it_leaves_no_trace() -> None:
    trainer = Toy(3)
    trainer.train_k(4, {"lr": 0.05})
    before = bits(trainer.get_state())
    search = find_rate(trainer, epochs=100, loss="loss")
    assert search.start == 0.05  # the trainer's own
    assert bits(trainer.get_state()) == before
    assert trainer.hyperparameters()["lr"] == 0.05
    assert trainer.trained == 4 + search.epochs


def test_workers_find_the_same() -> None:
    with Processes(NoisyQuadratic, workers=2) as executor:
        pooled = find_rate(NoisyQuadratic(), epochs=60, start=0.01, loss="loss", executor=executor)
    assert pooled == find_rate(NoisyQuadratic(), epochs=60, start=0.01, loss="loss")


def test_what_is_no_search_is_refused() -> None:
    with raises(SettingsError):
        rate_search([])
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.1], "momentum": [0.5]}, minimize="loss", adapt_every=2, try_for=1
    )
    with raises(SettingsError):
        rate_search(adapter.run(2))
    with raises(SettingsError):
        find_rate(Toy(), epochs=0)


def test_a_finder_that_is_left_early_has_no_result_and_no_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())  # a hint is given once
    model = Toy(2)
    before = bits(model.get_state())
    finder = RateFinder(adapt(40, state=[model], policy=recommended("lr", loss="loss")))
    passes = iter(finder)
    model.train_k(1, next(passes).values)
    passes.close()  # type: ignore[attr-defined]
    assert bits(model.get_state()) == before
    with raises(LoopError):
        finder.result  # noqa: B018


def test_a_finder_refuses_a_loop_that_would_keep_the_state_of_a_try() -> None:
    loop = adapt(
        4, state=[Toy(2)], space={"lr": [0.1, 0.2]}, minimize="loss", adapt_every=1, try_for=1
    )
    with raises(SettingsError):
        RateFinder(loop)


def test_a_finder_refuses_a_loop_that_begins_with_its_run() -> None:
    model = Toy(2)
    before = bits(model.get_state())
    later = adapt(40, state=[model], policy=recommended("lr", loss="loss"), when=At([5]))
    with raises(LoopError):
        list(RateFinder(later))
    assert bits(model.get_state()) == before


class FailsAlways:
    """A trainer whose every epoch raises, after its rate was set."""

    def __init__(self) -> None:
        self.rate = 0.25

    def get_state(self) -> int:
        return 0

    def set_state(self, state: int) -> None:
        pass

    def train_k(self, k: int, values: Any) -> None:
        self.rate = values["lr"]
        if k:
            raise ArithmeticError("never learns")

    def metrics(self) -> dict[str, float]:
        return {"loss": 1.0}

    def hyperparameters(self) -> dict[str, float]:
        return {"lr": self.rate}


def test_the_rate_is_put_back_where_all_tries_fail() -> None:
    trainer = FailsAlways()
    with pytest.raises(AllTriesFailed):
        find_rate(trainer, epochs=100, loss="loss")
    assert trainer.hyperparameters() == {"lr": 0.25}


def test_a_search_that_is_interrupted_ends_its_workers() -> None:
    closed = []

    class ClosesToo(Serial):
        def close(self) -> None:
            closed.append(True)

    def interrupted(k: int, values: Any) -> None:
        raise KeyboardInterrupt

    model: Any = Toy(2)
    model.train_k = interrupted
    with pytest.raises(KeyboardInterrupt):
        find_rate(model, epochs=100, loss="loss", executor=ClosesToo())
    assert closed == [True]


def test_a_finder_finds_what_find_rate_finds() -> None:
    model = Toy(2)
    policy = recommended("lr", default=0.01, loss="loss")
    finder = RateFinder(adapt(100, state=[model], policy=policy))
    before = bits(model.get_state())
    for epoch in finder:
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
    assert finder.result == find_rate(Toy(2), epochs=100, start=0.01, loss="loss")
    assert bits(model.get_state()) == before
    assert not finder.loop.history


def test_nothing_that_works_is_an_error_and_no_trace() -> None:
    class RaisesAlways(Toy):
        def train_k(self, k: int, values: Any) -> None:
            raise ArithmeticError("no")

    trainer = RaisesAlways(2)
    before = bits(trainer.get_state())
    with raises(AllTriesFailed):  # to the last rung
        find_rate(trainer, epochs=60, start=0.1, loss="loss")
    assert bits(trainer.get_state()) == before


def test_a_search_as_text() -> None:
    assert str(SEARCH) == "\n".join(
        [
            "lr = 0.0316, after 20 epochs in 4 tries",
            "lr    score",
            "0.01  -2      start",
            "0.1   -1      best",
            "1.0   -1.5",
            "10.0  failed",
        ]
    )


SEARCH = RateSearch(
    name="lr",
    rates=(0.01, 0.1, 1.0, 10.0),
    scores=(-2.0, -1.0, -1.5, math.nan),
    start=0.01,
    best=0.1,
    rate=0.0316,
    epochs=20,
)


def test_the_best_of_a_dry_run_is_what_scored_best() -> None:
    policy = recommended("lr", default=0.001, loss="loss")
    search = rate_search(DynamicGridAdapter(Quadratic(), policy=policy, dry_run=True).run(100))
    taken = rate_search(DynamicGridAdapter(Quadratic(), policy=policy).run(100))
    assert search.best == taken.best == 1.0
    assert search.rate == 0.001, "it takes none"
    assert taken.rate < 1.0


def test_a_dry_run_is_the_plain_run_under_the_same_ending_at_the_start() -> None:
    policy = recommended("lr", name="lr", default=0.05)
    dry, plain = Valley(5), Valley(5)
    DynamicGridAdapter(dry, policy=policy, dry_run=True).run(700)
    for step in range(700):
        plain.train_k(1, {"lr": 0.05 * wsd((step + 0.5) / 700)})
    assert bits(dry.get_state()) == bits(plain.get_state())


def test_a_loop_and_a_trainer_each_have_their_own_search() -> None:
    loop = adapt(100, state=[Quadratic()], policy=recommended("lr", loss="loss"))
    with raises(SettingsError):
        find_rate(loop, epochs=100)  # type: ignore[arg-type]
    with raises(SettingsError):
        RateFinder(Quadratic())  # type: ignore[arg-type]


@pytest.mark.parametrize("start", [0, -1.0, math.nan, "0.1", True, 10**400, math.inf])
def test_a_bad_start_is_named_as_it_was_given(start: Any) -> None:
    with raises(SettingsError):
        find_rate(Quadratic(), epochs=100, start=start)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize(("epochs", "runs"), [(6, 4.0), (10, 2.8), (40, 1.45), (100, 1.18)])
def test_what_short_runs_cost_is_what_the_guide_says(epochs: int, runs: float) -> None:
    """``docs/learning-rate.md``: a try has three epochs at least."""
    adapter = DynamicGridAdapter(Quadratic(), policy=recommended("lr", loss="loss"))
    assert plan_for(adapter, epochs).least.runs == pytest.approx(runs)
