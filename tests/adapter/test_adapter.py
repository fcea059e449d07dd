"""The adapter: its rounds, what it tells, what it keeps, and what it saves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    History,
    Interpolation,
    Placebo,
    Racing,
    lowest,
    plan_for,
    spent,
)
from dynhp.errors import SettingsError
from dynhp.records import Candidate, Round, Try
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises
from tests.support.reference import (
    SPACE,
    Diary,
    Toy,
    bits,
    diary_adapter,
    toy_settings,
    without_times,
)

# The rounds


@pytest.mark.usefixtures("ticking")
def test_a_round_tells_everything() -> None:
    trainer = Diary({0: 3, 1: 2, 2: 4})
    round_ = diary_adapter(trainer, initial={"x": 2}).step()
    assert round_ == Round(
        index=0,
        start=0,
        epochs=4,
        previous=Candidate({"x": 2}),
        tries=tuple(
            Try(
                candidate=Candidate({"x": x}),
                series=({"loss": loss}, {"loss": loss}),
                epochs=2,
                score=-loss,
            )
            for x, loss in ((2, 4.0), (0, 3.0), (1, 2.0))
        ),
        chosen=2,
        reason="scored 2 above the value in force",
        metrics={"loss": 2.0},
        seed=None,
        restarted=False,
    )
    assert trainer.diary == (1, 1, 1, 1)
    assert round_.changed
    assert [try_.seconds for try_ in round_.tries] == [1.0, 1.0, 1.0]
    assert round_.seconds > 3.0  # all of them, and more


def test_a_round_measures_after_its_stretch() -> None:
    class Ageing(Diary):
        def metrics(self) -> dict[str, float]:
            return {"loss": float(len(self.diary))}

    trainer = Ageing({0: 0})
    adapter = diary_adapter(trainer)
    assert [round_.metrics for round_ in adapter.run(10)] == [
        {"loss": 4.0},
        {"loss": 8.0},
        {"loss": 10.0},
    ]
    assert adapter.history[-1].reason == "the only candidate"


def test_step_rounds_and_run_are_one() -> None:
    trainers = [Toy(1), Toy(1), Toy(1)]
    adapters = [toy_settings().adapter(trainer) for trainer in trainers]
    history = adapters[0].run(20)
    listed = list(adapters[1].rounds(20))
    stepped = [adapters[2].step() for _ in range(4)]
    assert without_times(history) == without_times(listed) == without_times(stepped)
    assert isinstance(history, History)
    assert history == adapters[0].history
    assert history.epochs == adapters[0].epoch == 20
    assert len({bits(trainer.get_state()) for trainer in trainers}) == 1


def test_run_goes_on_from_where_it_is() -> None:
    split, whole = Toy(1), Toy(1)
    adapter = toy_settings().adapter(split)
    assert len(adapter.run(10)) == 2
    assert len(adapter.run(10)) == 2  # already there
    assert len(adapter.run(23)) == 5
    toy_settings().adapter(whole).run(23)
    assert bits(split.get_state()) == bits(whole.get_state())


def test_rounds_can_be_left_and_taken_up_again() -> None:
    adapter = toy_settings().adapter(Toy(1))
    for round_ in adapter.rounds(20):
        if round_.index == 1:
            break
    assert adapter.epoch == 10
    assert [round_.index for round_ in adapter.rounds(20)] == [2, 3]


def test_step_without_a_plan_goes_on_for_ever() -> None:
    adapter = diary_adapter(Diary({0: 1}))
    for _ in range(7):
        assert adapter.step().epochs == 4
    assert adapter.epoch == 28


def test_step_keeps_to_the_planned_epochs() -> None:
    adapter = diary_adapter(Diary({0: 1}), epochs=6)
    assert [adapter.step().epochs, adapter.step().epochs] == [4, 2]
    with raises(SettingsError):
        adapter.step()
    adapter.run(7)
    assert adapter.epoch == 7


def test_a_try_leaves_no_trace() -> None:
    """A dry run, in which all values are tried and the one in force is kept, is the plain loop."""
    adapted, plain = Toy(3), Toy(3)
    toy_settings().adapter(adapted, dry_run=True).run(17)
    plain.train_k(17, SPACE.start())
    assert bits(adapted.get_state()) == bits(plain.get_state())
    assert adapted.trained > 2 * 17


def test_losing_tries_leave_no_trace() -> None:
    adapted, plain = Toy(3), Toy(3)
    never = BestByMargin(delta=1e9)
    toy_settings(selection=never).adapter(adapted).run(17)
    plain.train_k(17, SPACE.start())
    assert bits(adapted.get_state()) == bits(plain.get_state())
    assert adapted.trained > 17


# What is kept


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([Best(), Racing(), BestByMargin(delta=0.01)]),
    st.sampled_from([FullGrid(), Interpolation()]),
    st.integers(1, 23),
    st.integers(0, 99),
)
def test_under_common_random_numbers_value_and_winner_are_the_same_trajectory(
    selection: Any, proposer: Any, epochs: int, seed: int
) -> None:
    winner, value = Toy(seed), Toy(seed)
    chosen = {"selection": selection, "proposer": proposer}
    first = toy_settings(keep="winner", **chosen).adapter(winner).run(epochs)
    second = toy_settings(keep="value", **chosen).adapter(value).run(epochs)
    assert without_times(first) == without_times(second)
    assert bits(winner.get_state()) == bits(value.get_state())
    assert winner.trained == value.trained == spent(second).total
    assert not any(round_.restarted for round_ in second)


def test_value_under_independent_randomness_returns_to_the_origin_with_fresh_randomness() -> None:
    trainer = Toy(4)
    chosen = toy_settings(keep="value", randomness="independent", seed=9)
    adapter = chosen.adapter(trainer)
    history = adapter.run(10)
    again = Toy(4)
    for round_ in history:
        assert round_.restarted
        assert round_.seed not in [try_.seed for try_ in round_.tries]
        assert round_.overhead == sum(try_.epochs for try_ in round_.tries) == 2 * 8
        again.reseed(round_.seed)
        again.train_k(5, round_.candidate)
    assert bits(again.get_state()) == bits(trainer.get_state())
    assert spent(history).total == trainer.trained == 10 + 2 * 16
    assert plan_for(adapter, 10).most == spent(history)


def test_winner_under_independent_randomness_goes_on_from_the_luckiest_copy() -> None:
    trainer = Toy(4)
    history = toy_settings(randomness="independent", seed=9).adapter(trainer).run(10)
    for round_ in history:
        assert not round_.restarted
        assert round_.seed == round_.winner.seed is not None
        assert round_.overhead == 2 * 7
    assert spent(history).total == trainer.trained == 10 + 2 * 14


def test_a_placebo_knows_that_it_needs_independent_randomness() -> None:
    adapter = toy_settings(proposer=Placebo(3), randomness=None).adapter(Toy(1))
    assert adapter.policy.randomness == "independent"
    (round_,) = adapter.run(5)
    assert len({try_.score for try_ in round_.tries}) == 3
    assert {try_.candidate for try_ in round_.tries} == {adapter.current}
    assert round_.winner.score == max(try_.score for try_ in round_.tries)
    assert round_.reason == "the value in force scored best"
    assert not round_.changed


def test_an_adapter_says_what_it_is_and_where() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    adapter.step()
    assert repr(adapter) == (
        "DynamicGridAdapter(Space(lr=Ordered(0.1, 0.2)), lowest('loss'), adapt_every=2, "
        "try_for=1, epoch=2)"
    )


def test_a_wrong_number_of_epochs_is_refused_before_the_first_round_is_asked_for() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    with raises(SettingsError):
        adapter.rounds(-1)
