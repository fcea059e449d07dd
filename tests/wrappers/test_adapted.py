"""adapt_trainer: a whole run of a trainer with the options of adapt."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, KeepBest, lowest, phased, plateau
from dynhp.advice import hints_for
from dynhp.errors import SettingsError
from dynhp.loops import LoopOptions
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.wrappers import adapt_trainer, require_onward
from tests.support.messages import raises

ROUNDS: dict[str, Any] = {"space": {"lr": [0.1, 0.5, 2.5]}, "adapt_every": 3, "try_for": 1}


def test_it_does_what_the_adapter_does() -> None:
    trainer, other = NoisyQuadratic(), NoisyQuadratic()
    history = adapt_trainer(trainer, 9, minimize="loss", seed=3, **ROUNDS)
    adapter = DynamicGridAdapter(
        other, ROUNDS["space"], adapt_every=3, try_for=1, minimize="loss", seed=3
    )
    assert [r.candidate for r in history] == [r.candidate for r in adapter.run(9)]
    assert trainer.metrics() == other.metrics()


def test_every_option_of_adapt_is_one_of_the_adapter_or_handled() -> None:
    taken = set(inspect.signature(DynamicGridAdapter.__init__).parameters)
    taken |= set(inspect.signature(DynamicGridAdapter.run).parameters)
    assert set(LoopOptions.__annotations__) - taken == {"steps", "keep_best", "unit"}


@pytest.mark.parametrize("keep_best", [False, True])
def test_what_looks_at_each_epoch_may_end_the_run(keep_best: bool) -> None:
    looked: list[int] = []

    def look(epoch: int, metrics: Any) -> bool:
        looked.append(epoch)
        return epoch == 4

    trainer = TurnsBad()
    options: dict[str, Any] = {"minimize": "loss", "check": "off", **ROUNDS}
    history = adapt_trainer(trainer, 9, look=look, keep_best=keep_best, **options)
    assert (history.epochs, looked) == (5, [0, 1, 2, 3, 4])
    assert [round_.epochs for round_ in history] == [3, 2]
    assert trainer.trained == (4 if keep_best else 5)


def test_what_cannot_go_back_is_refused_where_the_run_does() -> None:
    back = plateau("lr", default=0.1, loss="loss")
    onward = replace(back, start_from="here", max_rescues=0)
    require_onward(back, [])
    require_onward(onward, [print])
    with raises(SettingsError):
        require_onward(back, [print])


class TurnsBad(Quadratic):
    """Goes well for four epochs."""

    trained = 0

    def train_k(self, k: int, hyperparameters: Any) -> None:
        for _ in range(k):
            self.trained += 1
            super().train_k(1, {"lr": 0.5 if self.trained <= 4 else 2.5})

    def get_state(self) -> Any:
        return super().get_state(), self.trained

    def set_state(self, state: Any) -> None:
        super().set_state(state[0])
        self.trained = state[1]


@pytest.mark.parametrize("keep_best", [True, lowest("loss")])
def test_the_best_state_is_delivered_where_that_is_asked_for(keep_best: Any) -> None:
    kept, last = TurnsBad(), TurnsBad()
    options: dict[str, Any] = {"minimize": "loss", "check": "off", **ROUNDS}
    adapt_trainer(kept, 9, keep_best=keep_best, **options)
    adapt_trainer(last, 9, keep_best=False, **options)
    assert kept.trained == 4
    assert last.trained == 9


class Silent(Quadratic):
    """Measures nothing before it has trained."""

    def metrics(self) -> Any:
        return super().metrics() if self.x != Quadratic().x else {}


def test_a_trainer_that_measures_nothing_at_first_can_keep_its_best() -> None:
    trainer = Silent()
    assert adapt_trainer(trainer, 3, minimize="loss", keep_best=True, **ROUNDS).epochs == 3


def test_what_makes_no_sense_is_refused() -> None:
    with raises(SettingsError):
        adapt_trainer(Quadratic(), 9, steps=9, minimize="loss", **ROUNDS)
    changing = phased(lowest("loss"), lowest("loss"), at=0.5)
    with raises(SettingsError):
        adapt_trainer(Quadratic(), 9, criterion=changing, keep_best=True, **ROUNDS)


def test_a_wrapped_trainer_says_of_itself_what_it_said_before() -> None:
    trainer: Any = Quadratic()
    trainer.kinds, trainer.tolerance = {"lr": "dropout"}, 0.5
    trainer.driven_by = {"lr": "a schedule"}
    kept: Any = KeepBest(trainer, lowest("loss"))
    assert (kept.kinds, kept.tolerance) == ({"lr": "dropout"}, 0.5)
    assert kept.driven_by == trainer.driven_by
    assert not hasattr(KeepBest(Quadratic(), lowest("loss")), "kinds")


def test_the_learning_rate_of_a_booster_gets_the_advice_for_boosters_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hints = hints_for(["learning_rate"], lowest("loss"), {"learning_rate": "shrinkage"})
    assert len(hints) == 1
    assert "short tries prefer large steps" in hints[0]
