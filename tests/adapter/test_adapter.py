"""The adapter: its rounds, what it tells, what it keeps, and what it saves."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    Categorical,
    DynamicGridAdapter,
    Float,
    FullGrid,
    History,
    Interpolation,
    Neighbors,
    Placebo,
    Racing,
    Serial,
    Space,
    highest,
    lowest,
    phased,
    plan_for,
    smoothed,
    spent,
)
from dynhp.criteria import score
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.proposers import Known
from dynhp.records import Candidate, Progress, Round, RoundStarted, Try
from dynhp.rounds.read_back import same_value
from dynhp.rounds.tries import CarryOutTries, TrainStretch
from dynhp.testing import NoisyQuadratic
from tests.support.reference import Diary, Settings, Toy, bits, without_times

SPACE = Space({"lr": [0.01, 0.05, 0.2, 0.6], "momentum": [0.0, 0.5]})


def toy_settings(**changes: Any) -> Settings:
    given: dict[str, Any] = {
        "space": SPACE,
        "criterion": lowest("loss"),
        "adapt_every": 5,
        "try_for": 2,
    }
    return Settings(**(given | changes))


def diary_adapter(trainer: Diary, values: Sequence[Any] | None = None, **more: Any) -> Any:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2}
    return DynamicGridAdapter(trainer, {"x": list(values or trainer.losses)}, **(given | more))


# The rounds


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
    assert 0 < round_.seconds < 60
    assert all(0 < try_.seconds < round_.seconds for try_ in round_.tries)


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
    with pytest.raises(SettingsError) as caught:
        adapter.step()
    assert str(caught.value) == (
        "the main line has its 6 planned epochs; call run(n) with a larger n"
    )
    adapter.run(7)
    assert adapter.epoch == 7


def test_a_try_leaves_no_trace() -> None:
    """With one candidate, the value in force, the run is the plain loop."""
    adapted, plain = Toy(3), Toy(3)
    adapter = toy_settings(space=Space({"lr": [0.1]})).adapter(adapted)
    adapter.run(17)
    plain.train_k(17, {"lr": 0.1})
    assert bits(adapted.get_state()) == bits(plain.get_state())
    assert adapted.trained == 17


def test_losing_tries_leave_no_trace() -> None:
    adapted, plain = Toy(3), Toy(3)
    never = BestByMargin(delta=1e9)
    toy_settings(selection=never).adapter(adapted).run(17)
    plain.train_k(17, SPACE.start())
    assert bits(adapted.get_state()) == bits(plain.get_state())
    assert adapted.trained > 17


# Where a run starts


@pytest.mark.parametrize(
    ("told_by_trainer", "initial", "start"),
    [
        (None, None, {"x": 2, "act": "relu"}),  # the middle of the list, the first of the words
        ({"x": 4, "act": "tanh"}, None, {"x": 4, "act": "tanh"}),
        ({"x": 4}, None, {"x": 4, "act": "relu"}),
        ({"x": 5, "act": "none"}, None, {"x": 2, "act": "relu"}),  # not on the grid
        ({"x": 4}, {"x": 1, "act": None}, {"x": 1, "act": None}),
    ],
)
def test_the_first_value_in_force(told_by_trainer: Any, initial: Any, start: Any) -> None:
    trainer: Any = Diary({1: 1})
    if told_by_trainer is not None:
        trainer.hyperparameters = lambda: told_by_trainer
    adapter = DynamicGridAdapter(
        trainer,
        {"x": [1, 2, 4], "act": Categorical("relu", "tanh", None)},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        initial=initial,
    )
    assert adapter.current == start


def test_the_initial_value_has_the_type_of_its_axis() -> None:
    adapter = diary_adapter(Diary({0.5: 1, 1.0: 2}), initial={"x": 1})
    assert type(adapter.current["x"]) is float


def test_a_space_may_be_given_ready() -> None:
    adapter = toy_settings().adapter(Toy())
    assert adapter.space is SPACE
    assert isinstance(adapter.proposer, FullGrid)
    assert isinstance(adapter.selection, Best)
    assert isinstance(adapter.executor, Serial)


# What callbacks are told


def test_callbacks_are_told_in_order() -> None:
    events: list[Any] = []
    trainer = Diary({0: 3, 1: 2, 2: 4})
    adapter = diary_adapter(trainer, callbacks=[events.append])
    history = adapter.run(6)
    first, second = history
    assert events == [
        RoundStarted(index=0, start=0, epochs=4),
        *first.tries,
        first,
        RoundStarted(index=1, start=4, epochs=2),
        *second.tries,
        second,
    ]
    assert len(events) == 10


def test_in_a_race_tries_are_told_as_they_end() -> None:
    events: list[Any] = []
    trainer = Diary({0: 3, 1: 2, 2: 4, 3: 1})
    callbacks = [events.append]
    adapter = diary_adapter(
        trainer, try_for=3, selection=Racing(), callbacks=callbacks, initial={"x": 0}
    )
    round_ = adapter.step()
    assert [event.candidate["x"] for event in events[1:-1]] == [0, 2, 1, 3]
    assert sorted(map(id, events[1:-1])) == sorted(map(id, round_.tries))


def test_all_callbacks_are_told_each_in_turn() -> None:
    events: list[Any] = []
    callbacks = [lambda event: events.append((1, event)), lambda event: events.append((2, event))]
    diary_adapter(Diary({0: 3}), callbacks=callbacks).step()
    assert [number for number, _ in events] == [1, 2] * 3
    assert all(one[1] is two[1] for one, two in zip(events[::2], events[1::2], strict=True))


@pytest.mark.parametrize("selection", [Best(), Racing(), BestByMargin(noise=1.0)], ids=repr)
@pytest.mark.parametrize("proposer", [FullGrid(), Interpolation(), Neighbors()], ids=repr)
def test_results_do_not_depend_on_callbacks(selection: Any, proposer: Any) -> None:
    chosen = toy_settings(selection=selection, proposer=proposer, randomness="independent")
    quiet, loud = Toy(1), Toy(1)
    first = chosen.adapter(quiet).run(22)
    second = chosen.adapter(loud, callbacks=[lambda event: None, repr]).run(22)
    assert without_times(first) == without_times(second)
    assert bits(quiet.get_state()) == bits(loud.get_state())
    assert quiet.trained == loud.trained


@pytest.mark.parametrize("kind", [RoundStarted, Try, Round])
def test_a_callback_that_raises_leaves_everything_as_before_the_round(kind: type) -> None:
    def refuse(event: Any) -> None:
        if isinstance(event, kind) and adapter.epoch == 5:
            raise RuntimeError("disk full")

    chosen = toy_settings(randomness="independent")
    trainer, twin = Toy(1), Toy(1)
    adapter = chosen.adapter(trainer, callbacks=[refuse])
    adapter.step()
    before, state = adapter.state_dict(), bits(trainer.get_state())
    with pytest.raises(RuntimeError, match="disk full"):
        adapter.step()
    assert adapter.state_dict() == before
    assert bits(trainer.get_state()) == state
    adapter.callbacks = ()
    adapter.run(20)
    chosen.adapter(twin).run(20)
    assert bits(trainer.get_state()) == bits(twin.get_state())


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
    assert adapter.randomness == "independent"
    (round_,) = adapter.run(5)
    assert len({try_.score for try_ in round_.tries}) == 3
    assert {try_.candidate for try_ in round_.tries} == {adapter.current}
    assert round_.winner.score == max(try_.score for try_ in round_.tries)
    assert round_.reason == "the value in force scored best"
    assert not round_.changed


# Who is asked what


def test_a_criterion_sees_every_epoch_of_a_try_and_how_far_the_run_is() -> None:
    seen: list[Any] = []

    def criterion(series: Any, progress: Any) -> float:
        seen.append((len(series), progress))
        return 0.0

    diary_adapter(Diary({0: 1}), criterion=criterion).run(6)
    assert seen == [(2, Progress(0, 6)), (2, Progress(4, 6))]
    seen.clear()
    diary_adapter(Diary({0: 1}), criterion=criterion).step()
    assert seen == [(2, Progress(0, None))]


def test_phased_changes_its_mind_at_the_round_that_starts_there() -> None:
    criterion = phased(highest("loss"), lowest("loss"), at=0.5)
    history = diary_adapter(Diary({0: 1, 1: 2}), criterion=criterion).run(16)
    assert [round_.candidate["x"] for round_ in history] == [1, 1, 0, 0]


def test_phased_needs_to_know_the_planned_epochs() -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = diary_adapter(trainer, criterion=phased(lowest("loss"), lowest("loss")))
    with pytest.raises(SettingsError, match=r"phased needs to know the planned epochs; use run"):
        adapter.step()
    assert trainer.diary == ()


@pytest.mark.parametrize(
    ("criterion", "kind", "message"),
    [
        (lambda series, progress: series[-1]["los"], MetricError, "there is no metric 'los'; did"),
        (lambda series, progress: 1 / 0, ContractError, "raised ZeroDivisionError: division by"),
        (lambda series, progress: "high", ContractError, "must return a number, got 'high'"),
    ],
)
def test_a_criterion_that_fails_stops_the_run(criterion: Any, kind: Any, message: str) -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = diary_adapter(trainer, criterion=criterion)
    with pytest.raises(kind, match=message):
        adapter.step()
    assert trainer.diary == ()
    assert score(lowest("loss"), [{"loss": 1.0}], Progress(0)) == -1.0


class Proposes:
    """A proposer of one's own."""

    def __init__(self, *waves: Any) -> None:
        self.proposed = list(waves)
        self.known: list[Any] = []

    def propose(self, known: Any, rng: Any) -> Any:
        self.known.append(known)
        place = len(self.known) - 1
        return self.proposed[place] if place < len(self.proposed) else []

    def waves(self, space: Any, current: Any) -> Any:
        return FullGrid().waves(space, current)


def test_a_proposer_sees_the_tries_of_its_round_and_the_rounds_before() -> None:
    waves = [[Candidate({"x": 0})], [Candidate({"x": 1}), Candidate({"x": 0})], []]
    proposer = Proposes(*waves, *waves)
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, proposer=proposer, initial={"x": 0})
    history = adapter.run(8)
    assert [len(known.tries) for known in proposer.known] == [0, 1, 3, 0, 1, 3]
    assert [known.current["x"] for known in proposer.known] == [0, 0, 0, 1, 1, 1]
    assert all(known.space is adapter.space for known in proposer.known)
    assert proposer.known[2].tries == history[0].tries
    assert list(proposer.known[-1].history) == list(history)[: len(proposer.known[-1].history)]
    assert [round_.chosen for round_ in history] == [1, 1]


@pytest.mark.parametrize(
    ("waves", "message"),
    [
        ([], r"proposed nothing for a new round"),
        ([[Candidate({"x": 7})]], r"proposed Candidate\(x=7\), which is not in Space\(x=Ordered"),
        ([[Candidate({"y": 0})]], r"proposed Candidate\(y=0\), which is not in Space"),
        ([[Candidate({"x": 0})], [Candidate({"x": 7})]], r"proposed Candidate\(x=7\)"),
    ],
)
def test_a_proposer_must_stay_inside_the_space(waves: Any, message: str) -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, proposer=Proposes(*waves))
    with pytest.raises(ContractError, match=f"^<.*Proposes.*> {message}"):
        adapter.step()
    assert trainer.diary == ()


def test_another_driver_may_carry_out_the_work_and_stop_early() -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = diary_adapter(trainer, initial={"x": 0})
    for work in adapter.round_steps():
        if isinstance(work, CarryOutTries):
            for outcome in Serial().run(trainer, work.stage.jobs(), at=work.at):
                work.stage.take_outcome(outcome)
        else:
            assert isinstance(work, TrainStretch)
            assert (work.candidate, work.epochs, work.metrics) == ({"x": 1}, 2, {})
            trainer.train_k(1, work.candidate)
            work.epochs, work.metrics = 1, {"loss": 7.0}
    (round_,) = adapter.history
    assert (round_.epochs, round_.metrics, adapter.epoch) == (3, {"loss": 7.0}, 3)
    assert adapter.step().start == 3


# What is saved


def a_criterion(series: Any, progress: Any) -> float:
    return -float(series[-1]["loss"])


class WithoutRepr:
    """A criterion whose repr is its address."""

    def __call__(self, series: Any, progress: Any) -> float:
        return a_criterion(series, progress)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lowest("loss"),
        lambda: a_criterion,
        lambda: smoothed(a_criterion),
        lambda: smoothed(lambda series, progress: 0.0),
        lambda: phased(WithoutRepr(), a_criterion),
        lambda: functools.partial(a_criterion),
        WithoutRepr,
    ],
)
def test_a_state_goes_through_json_into_a_new_object(make: Any) -> None:
    whole, first, second = Toy(1), Toy(1), Toy(1)
    chosen = {"randomness": "independent", "selection": BestByMargin(noise=1.0)}
    toy_settings(criterion=make(), **chosen).adapter(whole).run(23)
    keep_alive = make()  # so that the next one has another address
    adapter = toy_settings(criterion=keep_alive, **chosen).adapter(first)
    for round_ in adapter.rounds(23):
        if round_.index == 2:
            break
    saved = json.dumps(adapter.state_dict(), allow_nan=False)
    second.set_state(first.get_state())
    resumed = toy_settings(criterion=make(), **chosen).adapter(second)
    resumed.load_state_dict(json.loads(saved))
    assert resumed.state_dict() == adapter.state_dict()
    assert (resumed.epoch, resumed.current) == (15, adapter.current)
    while resumed.epoch < 23:
        resumed.step()  # it knows the planned epochs
    assert bits(second.get_state()) == bits(whole.get_state())


def test_a_state_says_all() -> None:
    adapter = diary_adapter(Diary({0: 3, 1: 2}), epochs=9, initial={"x": 1})
    adapter.step()
    state = adapter.state_dict()
    assert set(state) == {"version", "settings", "epochs", "current", "generator", "history"}
    assert (state["version"], state["epochs"], state["current"]) == (1, 9, {"x": 1})
    assert len(state["history"]) == 1
    assert state["settings"] == {
        "space": "Space(x=Ordered(0, 1))",
        "criterion": "lowest('loss')",
        "adapt_every": "4",
        "try_for": "2",
        "proposer": "FullGrid()",
        "selection": "Best()",
        "keep": "'winner'",
        "randomness": "'common'",
        "seed": "0",
        "initial": "{'x': 1}",
    }


def test_failed_tries_are_saved_too() -> None:
    trainer = Diary({0: float("nan"), 1: 2, 2: ValueError("no")})
    adapter = diary_adapter(trainer)
    adapter.run(8)
    resumed = diary_adapter(Diary(trainer.losses))
    resumed.load_state_dict(json.loads(json.dumps(adapter.state_dict(), allow_nan=False)))
    assert without_times(resumed.history) == without_times(adapter.history)
    assert resumed.history[0].tries[1].error == "loss is nan after epoch 1"


def test_a_round_cut_off_before_its_first_epoch_can_be_saved() -> None:
    adapter = toy_settings(keep="value", randomness="independent").adapter(Toy(1))
    for work in adapter.round_steps():
        if isinstance(work, CarryOutTries):
            for outcome in Serial().run(adapter.trainer, work.stage.jobs(), at=work.at):
                work.stage.take_outcome(outcome)
        else:
            work.epochs = 0
    assert adapter.history[0].epochs == 0
    adapter.load_state_dict(adapter.state_dict())
    assert adapter.epoch == 0


def test_the_space_may_be_a_range() -> None:
    adapter = toy_settings(
        space=Space({"lr": Float(0.01, 1.0, log=True)}), proposer=Interpolation()
    ).adapter(Toy(1))
    adapter.run(20)
    assert adapter.space.admits(adapter.current)
    adapter.load_state_dict(json.loads(json.dumps(adapter.state_dict())))


def test_a_value_in_force_that_a_float32_rounded_is_met_on_the_grid() -> None:
    trainer = NoisyQuadratic()
    trainer.in_force = {"lr": float(np.float32(0.3))}
    space = {"lr": [0.1, 0.2, 0.3]}
    adapter = DynamicGridAdapter(trainer, space, criterion=lowest("loss"), adapt_every=2, try_for=1)
    assert adapter.current == {"lr": 0.3}


def test_a_proposer_that_forgets_the_type_does_not_pass_it_on() -> None:
    class Sloppy(FullGrid):
        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            return [Candidate({"lr": 1})] if not known.tries else []

    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.5, 1.0]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        proposer=Sloppy(),
    )
    value = adapter.step().candidate["lr"]
    assert (value, type(value)) == (1.0, float)


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
    with pytest.raises(SettingsError, match="epochs must be a whole number above 0, got -1"):
        adapter.rounds(-1)


def test_large_whole_numbers_are_never_nearly_equal() -> None:
    assert not same_value(10_000_000, 10_000_001)
    assert same_value(0.1, 0.10000000149011612)
    assert not same_value("a", 0.1)
