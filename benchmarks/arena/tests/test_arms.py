"""Every arm trains through the tracked trainer, and its cost is what was trained."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from benchmarks.arena.runs import arms, setting
from benchmarks.arena.runs.arms import ARMS, TORCH_ONLY, arena_run
from benchmarks.arena.runs.setting import BUDGET
from benchmarks.arena.tracked import Tracked

NEEDS = {"prodigy": "prodigyopt", "schedule-free": "schedulefree", "pbt": "pandas", "pb2": "pandas"}
RUN: dict[str, Any] = {"task": "links-cora", "rate": 0.01, "seed": 0, "epochs": 20, "steps": 2}
IN_PROCESS = [name for name in ARMS if name not in ("pbt", "pb2")]


def need(arm: str) -> None:
    package = NEEDS.get(arm, "torch")
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{arm} needs {package}, of the dependency group arena")


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Tracked]:
    """All trainers that a run makes: what they train is what it costs."""
    made: list[Tracked] = []
    make = setting.make_trainer

    def noted(*args: Any, **kwargs: Any) -> Tracked:
        made.append(make(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(setting, "make_trainer", noted)
    return made


@pytest.mark.parametrize("arm", IN_PROCESS)
def test_the_cost_is_what_was_trained(arm: str, trained: list[Tracked]) -> None:
    need(arm)
    result = arena_run(arm=arm, **RUN)
    counted = sum(trainer.trained for trainer in trained)
    if arm == "one-cycle":  # its range test counts steps, on a trainer of its own
        assert counted < result["epochs"] <= counted + 100 / RUN["steps"]
    else:
        assert result["epochs"] == counted
    assert result["runs"] == pytest.approx(result["epochs"] / RUN["epochs"])
    assert any((t.best.val, t.best.test) == pytest.approx((result["val"], result["value"]))
               for t in trained)  # fmt: skip


@pytest.mark.parametrize("arm", ["constant", "dynhp", "tpe", "random", "placebo"])
def test_a_run_again_is_the_same(arm: str) -> None:
    need(arm)
    assert arena_run(arm=arm, **RUN) == arena_run(arm=arm, **RUN)


@pytest.mark.parametrize("arm", ["pbt", "pb2"])
def test_a_population_copies_its_best_and_a_run_again_is_the_same(arm: str) -> None:
    """Where no member ever copied another, the run would be an error."""
    need(arm)
    result = arena_run(arm=arm, **RUN)
    assert result == arena_run(arm=arm, **RUN)
    assert result["epochs"] == 28, "four members, seven periods of one epoch"


@pytest.mark.parametrize("arm", [name for name in IN_PROCESS if name not in TORCH_ONLY])
def test_an_arm_needs_no_torch(arm: str) -> None:
    need(arm)
    result = arena_run(**{**RUN, "task": "boosting-diabetes", "arm": arm, "rate": 0.1})
    assert result["value"] > 0


@pytest.mark.parametrize("arm", IN_PROCESS)
def test_a_rate_that_explodes_is_a_result_and_no_failure(arm: str) -> None:
    need(arm)
    result = arena_run(arm=arm, **{**RUN, "rate": 1e6})
    assert result["value"] > 0


@pytest.mark.parametrize("arm", ["adagrid", "placebo", "tpe"])
def test_arms_with_tries_stay_in_their_budget(arm: str) -> None:
    assert arena_run(arm=arm, **RUN)["runs"] <= BUDGET


def test_the_preset_finds_the_same_rate_from_far_below_and_far_above() -> None:
    longer = {**RUN, "epochs": 60, "arm": "dynhp"}
    rates = [arena_run(**{**longer, "rate": 0.01 * far})["rate"] for far in (1 / 31.6228, 31.6228)]
    assert rates[0] == pytest.approx(rates[1], rel=0.01)


def test_every_arm_has_a_name_in_the_tables() -> None:
    from benchmarks.arena.methods import METHODS

    assert len(METHODS) >= len(ARMS)
    assert set(arms.COSTS) <= set(ARMS)
