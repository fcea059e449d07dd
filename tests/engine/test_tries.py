"""What a round asks of the trainer: as few states alive, taken and restored as can be."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import pytest

from dynhp import DynamicGridAdapter, Interpolation, Racing, lowest, plan_for
from dynhp.engine.commands import Train
from dynhp.engine.tries import RunningTry
from dynhp.errors import AllTriesFailed, ContractError
from dynhp.executors.contract import UNKNOWN_STATE, Job, Outcome
from dynhp.middleware import looking
from dynhp.proposers import Waves
from dynhp.records import Candidate, Try
from dynhp.selection import Stage, by_score
from tests.support.messages import raises
from tests.support.reference import Diary


class Box:
    """A state that can be counted."""

    alive: ClassVar[weakref.WeakSet[Box]] = weakref.WeakSet()

    def __init__(self, diary: tuple[Any, ...]) -> None:
        self.diary = diary
        Box.alive.add(self)


class Boxes(Diary):
    """A diary that hands out boxes, and notes how many there are at most."""

    most = 0

    def get_state(self) -> Any:
        box = Box(super().get_state())
        self.count()
        return box

    def set_state(self, state: Any) -> None:
        super().set_state(state.diary)
        self.count()

    def train_k(self, k: int, values: Any) -> None:
        self.count()
        super().train_k(k, values)

    def count(self) -> None:
        self.most = max(self.most, len(Box.alive))


def adapter_of(trainer: Diary, **settings: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 3}
    given["check"] = "off"  # what a round costs by itself
    return DynamicGridAdapter(trainer, {"x": list(trainer.losses)}, **(given | settings))


@pytest.mark.parametrize("losses", [range(9), range(9, 0, -1), [5, 3, 8, 2, 9, 1, 7, 4, 6]])
@pytest.mark.parametrize("keep", ["winner", "value"])
def test_origin_and_best_are_the_only_states_alive(losses: Any, keep: Any) -> None:
    assert not Box.alive
    trainer = Boxes(dict(enumerate(losses)))
    adapter_of(trainer, keep=keep).run(12)
    assert trainer.most == 2
    assert not Box.alive


@pytest.mark.parametrize(("selection", "survivors"), [(Racing(0.5), 4), (Racing(0.25), 2)])
def test_in_a_race_only_origin_and_survivors_are_alive(selection: Racing, survivors: int) -> None:
    trainer = Boxes(dict(enumerate([3, 1, 4, 1.5, 9, 2.6, 5, 3.5])))
    adapter_of(trainer, selection=selection).run(8)
    assert trainer.most == 1 + survivors
    assert not Box.alive


def test_while_the_stretch_trains_only_the_origin_is_alive() -> None:
    trainer = Boxes({0: 2, 1: 1, 2: 3})
    seen: list[int] = []
    train_k = trainer.train_k

    def spy(k: int, values: Any) -> None:
        if k == 4:
            seen.append(len(Box.alive))
        train_k(k, values)

    trainer.train_k = spy  # type: ignore[method-assign]
    adapter_of(trainer, adapt_every=7).run(7)
    assert seen == [1]


def calls_of(trainer: Diary, **settings: Any) -> list[str]:
    adapter = adapter_of(trainer, try_for=1, **settings)
    trainer.calls.clear()
    adapter.step()
    return trainer.calls


def test_first_try_restores_nothing_and_last_try_winning_takes_nothing() -> None:
    assert calls_of(Diary({0: 9, 1: 8, 2: 7}), initial={"x": 0}) == [
        "get",  # the origin
        "train 1 0",
        "get",  # the best so far
        "set",
        "train 1 1",
        "get",  # better
        "set",
        "train 1 2",  # best of all and still there: neither taken nor restored
        "train 3 2",
    ]


def test_a_loser_is_not_taken_and_an_early_winner_is_restored_once() -> None:
    assert calls_of(Diary({0: 1, 1: 8, 2: 7}), initial={"x": 0}) == [
        "get",
        "train 1 0",
        "get",
        "set",
        "train 1 1",
        "set",
        "train 1 2",
        "set",  # back to the winner
        "train 3 0",
    ]


def test_one_candidate_costs_one_copy() -> None:
    assert calls_of(Diary({0: 1})) == ["get", "train 1 0", "train 3 0"]


def test_a_failed_try_is_not_taken() -> None:
    losses = {0: ArithmeticError("no"), 1: 8, 2: ArithmeticError("no")}
    assert calls_of(Diary(losses), initial={"x": 0}) == [
        "get",
        "train 1 0",
        "set",
        "train 1 1",
        "get",
        "set",
        "train 1 2",
        "set",
        "train 3 1",
    ]


def test_a_try_as_long_as_its_round_leaves_no_stretch() -> None:
    assert calls_of(Diary({0: 1, 1: 0}), adapt_every=1, initial={"x": 0}) == [
        "get",
        "train 1 0",
        "get",
        "set",
        "train 1 1",
    ]


def test_a_race_takes_survivors_and_the_last_one_stays_where_it_is() -> None:
    trainer = Diary({0: 3, 1: 2, 2: 4, 3: 1})
    adapter = adapter_of(trainer, selection=Racing(), initial={"x": 0})
    trainer.calls.clear()
    round_ = adapter.step()
    assert trainer.calls == [
        "get",
        *("train 1 0", "get"),
        *("set", "train 1 1", "get"),
        *("set", "train 1 2"),
        *("set", "train 1 3", "get"),  # taken when the next stage begins
        *("set", "train 1 1", "get"),
        *("set", "train 1 3", "get"),
        "train 1 3",  # the only survivor is in place, and finishes there
        "train 1 3",
    ]
    assert [try_.epochs for try_ in round_.tries] == [1, 2, 1, 3]
    assert trainer.diary == (3, 3, 3, 3)


def test_the_second_wave_meets_the_winner_of_the_first() -> None:
    """The peak of the parabola loses here, so the first wave's winner must still be there."""
    trainer = Diary({0: 5.0, 10: 1.0, 20: 4.0})
    trainer.losses = {x: 6.0 for x in range(21)} | trainer.losses
    adapter = DynamicGridAdapter(
        trainer,
        {"x": [0, 10, 20]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
        proposer=Interpolation(),
    )
    round_ = adapter.step()
    assert [try_.candidate["x"] for try_ in round_.tries] == [10, 0, 20, 11]
    assert round_.chosen == 0
    assert trainer.diary == (10,) * 4


class TwoWaves:
    """A proposer of one's own: two candidates, then two more."""

    def propose(self, known: Any, rng: Any) -> list[Candidate]:
        done = len(known.tries)
        return [Candidate({"x": x}) for x in (done, done + 1)] if done < 4 else []

    def waves(self, space: Any, current: Any) -> Waves:
        return Waves((2, 2), (2, 2))


@pytest.mark.parametrize(
    ("losses", "epochs", "winner"),
    [
        # The first winner takes no place from the second wave before that has its own.
        ({0: 5, 1: 2, 2: 4, 3: 3}, [1, 3, 1, 3], 1),
        ({0: 5, 1: 4, 2: 3, 3: 2}, [1, 3, 1, 3], 3),
        ({0: 1, 1: 4, 2: 3, 3: 9}, [3, 1, 3, 1], 0),
    ],
)
def test_the_waves_of_a_race_meet_only_at_its_end(losses: Any, epochs: Any, winner: int) -> None:
    trainer = Diary(losses)
    adapter = adapter_of(trainer, selection=Racing(), proposer=TwoWaves())
    round_ = adapter.step()
    assert [try_.epochs for try_ in round_.tries] == epochs
    assert round_.chosen == winner
    assert trainer.diary == (winner,) * 4
    assert trainer.trained == plan_for(adapter, 4).most.total


class Same:
    """A selection of one's own, which says the same stage twice."""

    def stages(self, tries: int, epochs: int) -> Sequence[Stage]:
        return [Stage(1, 1)] * epochs

    def ranking(self, history: Any, current: Any) -> Any:
        return by_score


def test_equal_stages_are_still_different_stages() -> None:
    trainer = Diary({0: 3, 1: 2, 2: 4})
    events: list[Any] = []
    adapter = adapter_of(trainer, selection=Same(), callbacks=[events.append], initial={"x": 0})
    round_ = adapter.step()
    assert [try_.epochs for try_ in round_.tries] == [1, 3, 1]
    assert trainer.diary == (1,) * 4
    assert len(events) == 1 + 3 + 1


class Fickle(Same):
    """Falls back on the first try when a third one comes."""

    def stages(self, tries: int, epochs: int) -> Sequence[Stage]:
        return [Stage(epochs, 1)]

    def ranking(self, history: Any, current: Any) -> Any:
        return lambda tries: [0] if len(tries) == 3 else [len(tries) - 1]


def test_a_ranking_that_goes_back_to_a_dropped_try_is_refused() -> None:
    trainer = Diary({0: 3, 1: 2, 2: 4})
    adapter = adapter_of(trainer, selection=Fickle())
    with raises(ContractError):
        adapter.step()
    assert trainer.diary == ()


class WrongNumberOfOutcomes:
    """Gives another number of outcomes than it has jobs."""

    def __init__(self, more: int) -> None:
        self.more = more

    def run(self, trainer: Any, jobs: Sequence[Job], *, at: Any) -> Iterator[Outcome]:
        for number in range(len(jobs) + self.more):
            yield Outcome(series=({"loss": -number},), epochs=1, keep=lambda: ("far",))


@pytest.mark.parametrize(
    "more",
    [
        -1,
        -2,
        1,
    ],
)
def test_an_executor_must_give_one_outcome_per_job(more: int) -> None:
    trainer = Diary({0: 3, 1: 2})
    adapter = adapter_of(trainer, executor=WrongNumberOfOutcomes(more))
    with raises(ContractError):
        adapter.step()
    assert trainer.diary == ()
    assert len(adapter.history) == 0


def test_an_outcome_that_is_elsewhere_is_taken_even_if_it_is_the_last() -> None:
    trainer = Diary({0: 3, 1: 2, "far": 0})
    adapter = DynamicGridAdapter(
        trainer,
        {"x": [0, 1]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=1,
        executor=WrongNumberOfOutcomes(0),
    )
    round_ = adapter.step()
    assert round_.chosen == 1
    assert trainer.diary == ("far", 1, 1)


def test_if_all_fail_in_the_first_stage_of_a_race_there_is_no_second_one() -> None:
    trainer = Diary({x: ValueError("no") for x in range(4)})
    with pytest.raises(AllTriesFailed):
        adapter_of(trainer, selection=Racing(), proposer=TwoWaves()).step()
    assert trainer.trained == 4
    assert trainer.diary == ()


def test_a_later_stage_starts_where_each_survivor_is() -> None:
    """And nobody knows where the trainer is; in the first stage it is at the origin."""
    given: list[Any] = []

    class Noting:
        def run(self, trainer: Any, jobs: Sequence[Job], *, at: Any) -> Iterator[Outcome]:
            given.append((at, [(job.origin, job.epochs, job.watch) for job in jobs]))
            for job in jobs:
                series = ({"loss": job.candidate["x"]},) * job.epochs
                far = (*job.origin, "far")
                yield Outcome(series=series, epochs=job.epochs, keep=lambda far=far: far)

    trainer = Diary({0: 3, 1: 2, "far": 0})
    DynamicGridAdapter(
        trainer,
        {"x": [0, 1]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=3,
        selection=Racing(),
        executor=Noting(),
        check="off",
    ).step()
    (first, second) = given
    assert first == ((), [((), 1, ("loss",))] * 2)
    assert second == (UNKNOWN_STATE, [(("far",), 2, ("loss",))])
    assert repr(UNKNOWN_STATE) == "UNKNOWN_STATE"
    assert trainer.diary[:2] == ("far", "far")


@pytest.mark.parametrize(("settings", "kept"), [({}, 1), ({"dry_run": True}, None)])
def test_a_stretch_names_the_try_that_it_goes_on_from(settings: Any, kept: Any) -> None:
    adapter = adapter_of(Diary({0: 3, 1: 2}), initial={"x": 0}, **settings)
    stretches: list[Any] = []

    def note(command: Any) -> None:
        stretches.extend([command.from_try] if isinstance(command, Train) else [])

    with adapter.through(looking(before=note)):
        adapter.step()
    assert stretches == [kept]


@pytest.mark.parametrize("tries", [50, 100, 200])
@pytest.mark.parametrize("in_force", [True, False])
def test_the_work_of_a_race_besides_training_is_not_cubic(
    monkeypatch: pytest.MonkeyPatch, tries: int, in_force: bool
) -> None:
    """Counted, not timed: how often tries and values are compared, and how many are ranked."""
    counts: Counter[str] = Counter()

    def counted(self: object, other: object) -> bool:
        counts[type(self).__name__] += 1
        return same(self, other) if isinstance(self, Candidate) else self is other

    def ranked(records: Sequence[Try]) -> Sequence[int]:
        counts["ranked"] += len(records)
        return by_score(records)

    trainer = Diary({place: float(place) for place in range(tries)})
    adapter = adapter_of(trainer, selection=Racing(), initial={"x": 0 if in_force else tries - 1})
    same = Candidate.__eq__
    monkeypatch.setattr(RunningTry, "__eq__", counted)
    monkeypatch.setattr(Candidate, "__eq__", counted)
    monkeypatch.setattr(Racing, "ranking", lambda *_: ranked)
    (round_,) = adapter.run(4)
    assert round_.candidate == {"x": 0}
    assert counts["RunningTry"] <= 2 * tries  # none for each pair of them
    assert counts["Candidate"] <= 10 * tries
    assert counts["ranked"] <= tries**2


def test_a_job_with_the_state_itself_has_all_that_the_job_has() -> None:
    values = {field.name: f"the {field.name}" for field in fields(Job)}
    job: Any = Job(**values)
    assert job.from_state("a state") == Job(**{**values, "origin": "a state"})
    assert job.from_state("a state").beat == "the beat"
