"""Every task is deterministic and obeys the laws of trainers."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from benchmarks.arena.plan import read_arena
from benchmarks.arena.runs.factors import FACTORS
from benchmarks.arena.stepped import SteppedTrainer
from benchmarks.arena.tasks.contract import DATA, DataMissing
from benchmarks.arena.tasks.registry import TASKS, WITHOUT_DATA, make_trainer
from benchmarks.arena.tracked import Tracked
from dynhp import Ordered
from dynhp.testing import check_trainer
from tests.support.messages import raises

HERE = Path(__file__).parent


def made(task: str, *, steps: int = 1, factors: list[float] | None = None) -> Tracked:
    if task not in WITHOUT_DATA and not os.environ.get(DATA):
        pytest.skip(f"{task} needs the data that {DATA} names")
    return make_trainer(task, seed=0, steps=steps, factors=factors)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("task", TASKS)
def test_a_task_obeys_the_laws(task: str) -> None:
    made(task)
    make = partial(make_trainer, task, seed=0, steps=1)
    check_trainer(make, {"lr": Ordered(0.001, 0.03)}, epochs=1, another_process=False)


@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_run_and_another_one_another(task: str) -> None:
    first, second = made(task, steps=2), made(task, steps=2)
    other = make_trainer(task, seed=1, steps=2)
    for trainer in (first, second, other):
        trainer.train_k(2, {"lr": 0.01})
    assert first.metrics() == second.metrics() != other.metrics()
    assert first.best == second.best


@pytest.mark.parametrize("task", ["links-cora", "boosting-diabetes"])
def test_a_factor_is_that_of_the_step(task: str) -> None:
    scheduled, by_hand = made(task, factors=[1.0, 0.5, 0.25]), made(task)
    scheduled.train_k(3, {"lr": 0.04})
    for rate in (0.04, 0.02, 0.01):
        by_hand.train_k(1, {"lr": rate})
    assert scheduled.metrics() == by_hand.metrics()


def test_the_checkpoint_is_the_best_by_validation_and_goes_back_with_the_state() -> None:
    trainer = made("links-cora")
    origin = trainer.get_state()
    seen = [trainer.best]
    for _ in range(4):
        trainer.train_k(1, {"lr": 0.05})
        seen.append((trainer.metrics()["val"], trainer.trainer.measure("test").score))  # type: ignore[arg-type]
    assert trainer.best == max(seen, key=lambda each: each[0])
    trainer.set_state(origin)
    assert trainer.best == seen[0]
    assert trainer.trained == 4, "what was trained is counted, whatever becomes of it"


@pytest.mark.parametrize("task", ["digits-mlp", "links-cora"])
def test_what_is_lost_costs_no_time_and_ends_the_same(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained() -> tuple[object, int]:
        trainer = made(task, steps=2)
        trainer.train_k(2, {"lr": 0.01})
        trainer.train_k(8, {"lr": 1e30})
        assert trainer.trained == 10, "lost epochs are paid for all the same"
        return (trainer.best, str(trainer.metrics())), trainer.trainer._step  # type: ignore[attr-defined]

    result, steps = trained()
    monkeypatch.setattr(SteppedTrainer, "_is_lost", lambda self: False)
    assert trained() == (result, 20)
    assert steps < 20


@pytest.mark.parametrize("name", FACTORS)
def test_a_schedule_warms_up_and_ends_near_zero(name: str) -> None:
    factors = FACTORS[name](1000)
    assert len(factors) == 1000
    assert factors[0] < 0.05
    assert max(factors) == pytest.approx(1, abs=0.01)
    assert factors[-1] < 0.01


def test_the_arena_has_two_halves_and_long_runs_in_both() -> None:
    arena = read_arena(HERE.parent / "tasks.toml")
    halves = [task.half for task in arena.tasks]
    assert (halves.count("development"), halves.count("confirmation")) == (15, 7)
    assert {task.name for task in arena.tasks} == set(TASKS)
    assert {task.half for task in arena.tasks if task.epochs * task.steps >= 3000} == set(halves)


def test_a_task_without_its_data_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA, raising=False)
    with raises(DataMissing):
        make_trainer("clothes-mlp", seed=0, steps=1)
