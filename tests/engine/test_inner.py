"""The best state inside a try: when it is taken, what is handed out, and what is dropped."""

from __future__ import annotations

import math
import weakref
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Policy, Racing, lowest
from dynhp.best import BestEpoch, BestKeeper, BestRule
from dynhp.engine.memory import Held, StateRef
from dynhp.engine.tries import RunningTry, Setup, drop_states, next_job, note_inner_end
from dynhp.executors.attempt import attempt
from dynhp.executors.contract import Job, TryStates, states_of
from dynhp.records import Candidate, Try
from dynhp.selfcheck.difference import difference
from tests.support.losses import LossTable, settings_of

TWO, THREE = Candidate({"x": 2}), Candidate({"x": 3})


def rule(**changes: Any) -> BestRule:
    known: dict[str, Any] = {"criterion": lowest("loss"), "planned": 20, "bar": -4.0}
    return BestRule(**(known | changes))


def inner(epoch: int, loss: float, *state: int) -> BestEpoch:
    return BestEpoch(epoch=epoch, metrics={"loss": loss}, score=-loss, state=state)


def with_inner(kept: Any, best: BestEpoch, end: Any = None) -> TryStates:
    return TryStates(kept=kept, end=kept if end is None else end, inner=best)


@pytest.mark.parametrize(
    ("losses", "kept", "gets"),
    [
        ((1.0, 2.0, 3.0), with_inner((2, 2, 2), inner(5, 1.0, 2)), 2),
        ((2.0, 1.0, 3.0), with_inner((2, 2, 2), inner(6, 1.0, 2, 2)), 3),
        ((1.0, 1.0, 1.0), with_inner((2, 2, 2), inner(5, 1.0, 2)), 2),
        ((3.0, 2.0, 1.0), (2, 2, 2), 3),  # two were taken, and are no longer wanted
        ((2.0, 3.0, 1.0), (2, 2, 2), 2),
        ((4.0, 5.0, 3.0), (2, 2, 2), 1),
        ((5.0, 4.5, 6.0), (2, 2, 2), 1),
    ],
)
def test_a_job_hands_out_the_best_state_inside_of_it(losses: Any, kept: Any, gets: int) -> None:
    trainer = LossTable(dict(zip(("2", "22", "222"), losses, strict=True)))
    job = Job(origin=(), candidate=TWO, epochs=3, inner_rule=rule(), start=5)
    outcome = attempt(trainer, job, at=())
    assert outcome.in_place == (kept == (2, 2, 2))
    assert difference(outcome.keep(), kept) is None
    assert trainer.calls.count("get") == gets


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ({"compared": True}, with_inner((2, 2), inner(5, 1.0, 2), (2, 2, 3, 3))),
        ({}, with_inner((2, 2), inner(5, 1.0, 2))),
    ],
)
def test_a_job_with_a_tail_hands_out_the_state_before_it_and_the_end(
    wanted: dict[str, Any], kept: Any
) -> None:
    trainer = LossTable({"2": 1.0, "22": 2.0, "223": 0.5, "2233": 0.1})
    job = Job(
        origin=(), candidate=TWO, epochs=2, tail=(THREE,) * 2, inner_rule=rule(), start=5, **wanted
    )
    outcome = attempt(trainer, job, at=())
    assert difference(outcome.keep(), kept) is None
    assert not outcome.in_place


@pytest.mark.parametrize("loss", [math.nan, ValueError("no")])
def test_a_failed_try_hands_out_no_state_inside_of_it(loss: Any) -> None:
    trainer = LossTable({"2": 1.0, "22": math.nan})
    if isinstance(loss, Exception):
        trainer.train_k = raising_after(trainer, loss)  # type: ignore[method-assign]
    job = Job(origin=(), candidate=TWO, epochs=3, inner_rule=rule(), watch=("loss",))
    outcome = attempt(trainer, job, at=())
    assert outcome.error
    assert outcome.in_place
    assert outcome.keep() == trainer.diary


def raising_after(trainer: Any, failure: Exception) -> Any:
    train_k = trainer.train_k

    def train(k: int, values: Any) -> None:
        if trainer.diary:
            raise failure
        train_k(k, values)

    return train


def test_what_is_kept_and_what_is_compared() -> None:
    assert states_of("end") == TryStates(kept="end", end="end", inner=None)
    both = with_inner("before the tail", inner(1, 1.0), "end")
    assert states_of(both) is both


def test_what_an_epoch_is_worth() -> None:
    assert rule().worth(1, {"loss": 3.0}) == -3.0
    assert rule().worth(1, {"loss": 4.0}) is None
    assert rule().worth(1, {"loss": 3.0}, -3.5) == -3.0
    assert rule().worth(1, {"loss": 3.0}, -3.0) is None
    for loss in (math.nan, math.inf, -math.inf):
        assert rule(bar=-math.inf).worth(1, {"loss": loss}) is None
    now = rule(criterion=lambda series, progress: progress.epoch + progress.planned / 100)
    assert now.worth(8, {}) == 8.2


class CountedState:
    """A state that can be watched."""

    diary: tuple[Any, ...] = ()


def test_the_old_best_is_dropped_before_the_new_one_is_taken() -> None:
    alive: weakref.WeakSet[CountedState] = weakref.WeakSet()

    def get_state() -> CountedState:
        assert not alive
        state = CountedState()
        alive.add(state)
        return state

    keeper = BestKeeper(rule())
    for epoch, loss in enumerate((3.0, 2.0, 1.0)):
        keeper.judge(epoch, {"loss": loss}, get_state)
        assert keeper.best is not None
        assert (keeper.best.epoch, keeper.best.score, len(alive)) == (epoch, -loss, 1)
    keeper.judge(3, {"loss": 0.5}, None)
    assert keeper.best is None
    assert not alive


END, INSIDE = StateRef(1), StateRef(2)


def begun(*losses: float, **more: Any) -> RunningTry:
    series = tuple({"loss": loss} for loss in losses)
    known: dict[str, Any] = {"candidate": TWO, "series": series, "epochs": len(losses), **more}
    running = RunningTry(TWO, None, 0, END, epochs_done=known["epochs"])
    running.record = Try(score=0.0, **known)
    return running


@pytest.mark.parametrize(
    ("running", "before", "after"),
    [
        (begun(), None, None),
        (begun(3.0), None, Held(6, -3.0, END)),
        (begun(4.0), None, None),
        (begun(5.0, 3.0), Held(6, -3.5, INSIDE), Held(7, -3.0, END)),
        (begun(5.0, 3.0), Held(6, -3.0, INSIDE), Held(6, -3.0, INSIDE)),
        (begun(3.0, epochs=2), None, None),  # its last epoch was not measured
        (begun(3.0, epochs=2, reported=(2,)), None, Held(7, -3.0, END)),
    ],
)
def test_if_another_stage_follows_the_end_of_this_one_is_inside(
    running: RunningTry, before: Held | None, after: Held | None
) -> None:
    running.inner = before
    note_inner_end(running, rule(), 5 + running.epochs_done)
    assert running.inner == after


def test_a_try_whose_state_is_gone_has_nothing_inside() -> None:
    running = begun(3.0)
    running.state = None
    note_inner_end(running, rule(), 5 + running.epochs_done)
    assert running.inner is None


@pytest.mark.parametrize(
    ("running", "inside", "epochs", "hold"),
    [
        (RunningTry(TWO, None, 0, END), None, 1, None),  # with nothing inside of it
        (RunningTry(TWO, None, 0, END), None, 2, rule()),
        (begun(5.0), None, 2, rule()),
        (begun(5.0, 5.0), Held(6, -3.0, INSIDE), 2, rule(bar=-3.0)),
        (begun(3.0), None, 2, rule(bar=-3.0)),
        (begun(3.0), None, 1, None),
    ],
)
def test_a_job_is_asked_for_what_is_better_than_all_before(
    running: RunningTry, inside: Held | None, epochs: int, hold: BestRule | None
) -> None:
    running.inner = inside
    known: dict[str, Any] = {"memory": None, "unit": "epochs", "rng": None, "check": None}
    setup = Setup(
        policy=Policy(**settings_of()),
        origin=Held(5, -math.inf, END),
        planned=20,
        try_for=3,
        seed=None,
        inner_rule=rule(),
        **known,
    )
    assert next_job(setup, running, epochs).inner_rule == hold
    assert next_job(setup._replace(inner_rule=None), running, epochs).inner_rule is None


@pytest.mark.parametrize(
    ("state", "inner", "dropped"),
    [
        (END, None, [END]),
        (END, Held(6, -3.0, INSIDE), [END, INSIDE]),
        (END, Held(6, -3.0, END), [END]),
        (None, Held(6, -3.0, INSIDE), [INSIDE]),
        (None, None, []),
    ],
)
def test_the_states_of_a_try_are_dropped_once(
    state: StateRef | None, inner: Held | None, dropped: list[StateRef]
) -> None:
    running = begun(3.0)
    running.state, running.inner = state, inner
    assert [command.ref for command in drop_states(running)] == dropped  # type: ignore[union-attr]
    assert (running.state, running.inner) == (None, None)
    assert list(drop_states(running)) == list(drop_states(None)) == []


class CountedTable(LossTable):
    """Its states can be counted."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.alive: weakref.WeakSet[CountedState] = weakref.WeakSet()
        self.most = 0
        self.in_epochs: list[int] = []  # how many there are in each epoch that begins

    def train_k(self, k: int, values: Any) -> None:
        self.in_epochs.append(len(self.alive))
        super().train_k(k, values)

    def get_state(self) -> Any:
        state = CountedState()
        state.diary = super().get_state()
        self.alive.add(state)
        self.most = max(self.most, len(self.alive))
        return state

    def set_state(self, state: Any) -> None:
        super().set_state(state.diary)


BEFORE = {"1": 5.0, "11": 4.0}
FIRST, SECOND = {"111": 3.0, "11111": 8.0}, {"112": 2.0, "11222": 7.0}


@pytest.mark.parametrize(
    ("table", "most", "held"),
    [
        # The best so far, the origin and the leader.
        ({"11111": 8.0, "11222": 7.0}, 3, {(1, 1)}),
        (SECOND, 4, {(1, 1, 2)}),
        (FIRST, 4, {(1, 1, 1)}),
        # One of the leader, and one of the try under way.
        ({**FIRST, **SECOND}, 5, {(1, 1, 2)}),
    ],
)
def test_one_state_more_for_a_try_that_leads_or_is_under_way(
    table: dict[str, float], most: int, held: set[Any]
) -> None:
    trainer = CountedTable(BEFORE | table)
    adapter = DynamicGridAdapter(trainer, **settings_of(max_rounds=1))
    adapter.run(8)
    assert trainer.most == most
    assert {state.diary for state in trainer.alive} == held  # the best alone
    assert len(trainer.alive) == len(held)


def in_epochs(table: dict[str, float], **changes: Any) -> list[int]:
    trainer = CountedTable(BEFORE | table)
    DynamicGridAdapter(trainer, **settings_of(max_rounds=1, **changes)).run(8)
    return trainer.in_epochs


def test_a_state_inside_of_the_winner_is_let_go_once_a_better_one_is_held() -> None:
    alive = in_epochs({**SECOND, "112222": 1.0})
    # From the best before and the origin on; then the leader, and the best inside of the second.
    assert alive[2:8] == [2, 2, 2, 3, 4, 4]
    # In the stretch, the best before, the origin and the best now, whichever that is.
    assert alive[8:] == [3, 3, 3]


def test_a_state_inside_of_a_try_that_lost_a_race_is_let_go() -> None:
    race = {"space": {"x": [1, 2, 3]}, "try_for": 4, "selection": Racing(0.9, every=2)}
    table = {"111": 3.0, "1111": 3.5, "112": 3.0, "1122": 3.5, "113": 3.0, "1133": 3.5}
    alive = in_epochs({**table, "111111": 3.8}, **race)
    # The best before and the origin, and of each of three that go on, its end and the best inside.
    assert alive[2:8] == [2, 3, 4, 5, 6, 7]
    assert alive[8:14] == [8, 8, 8, 8, 6, 6]  # the second fell behind the first
    assert alive[14:] == [3, 3]
