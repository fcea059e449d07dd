"""Every arm trains through the tracked trainer, and its cost is what was trained."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from benchmarks.arena.runs import arms, setting
from benchmarks.arena.runs.arms import ARMS, TORCH_ONLY, arena_run
from benchmarks.arena.runs.setting import BUDGET
from benchmarks.arena.stepped import SteppedTrainer
from benchmarks.arena.tracked import Tracked

POPULATIONS = ("pbt", "pbt-whole", "pb2")
NEEDS = {"prodigy": "prodigyopt", "schedule-free": "schedulefree"} | dict.fromkeys(
    POPULATIONS, "pandas"
)
RUN: dict[str, Any] = {"task": "links-cora", "rate": 0.01, "seed": 0, "epochs": 20, "steps": 2}
IN_PROCESS = [name for name in ARMS if name not in POPULATIONS]
PRESETS = ("preset-schedule", "preset-average", "preset-none", "preset-shifted")
ALONE = ("search", "scan")
"""What is not followed by a run."""
STEPS_ALONE = (*PRESETS, *ALONE)
"""They train step by step, and not through the tracked trainer."""
LONG: dict[str, Any] = {**RUN, "epochs": 60, "steps": 10}
"""A try has 20 steps at least."""


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


@pytest.mark.parametrize("arm", [name for name in IN_PROCESS if name not in STEPS_ALONE])
def test_the_cost_is_what_was_trained(arm: str, trained: list[Tracked]) -> None:
    need(arm)
    result = arena_run(arm=arm, **RUN)
    counted = sum(trainer.trained for trainer in trained)
    if arm in ("one-cycle", "range-test"):  # they count steps, on a trainer of their own
        assert counted < result["epochs"] <= counted + 100 / RUN["steps"]
    else:
        assert result["epochs"] == counted
    assert result["runs"] == pytest.approx(result["epochs"] / RUN["epochs"])
    assert any((t.best.val, t.best.test) == pytest.approx((result["val"], result["value"]))
               for t in trained)  # fmt: skip


@pytest.mark.parametrize("arm", STEPS_ALONE)
def test_the_cost_of_a_search_is_all_steps_with_those_of_its_check(
    arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    one_step = SteppedTrainer.one_step

    def counting(self: SteppedTrainer) -> float:
        nonlocal counted
        counted += 1
        return one_step(self)

    monkeypatch.setattr(SteppedTrainer, "one_step", counting)
    result = arena_run(arm=arm, **LONG)
    assert round(result["epochs"] * LONG["steps"]) == counted
    assert result["runs"] == pytest.approx(result["epochs"] / LONG["epochs"])
    if arm != "scan":  # which is not checked
        checks, tries = 2, result["tries"]
        run = 600 * (arm not in ALONE)
        assert counted == run + 20 * (tries + checks)


@pytest.mark.parametrize("arm", ["constant", "preset-average", "tpe", "random", "placebo"])
def test_a_run_again_is_the_same(arm: str) -> None:
    need(arm)
    assert arena_run(arm=arm, **LONG) == arena_run(arm=arm, **LONG)


@pytest.mark.parametrize("arm", POPULATIONS)
def test_a_population_copies_its_best_and_a_run_again_is_the_same(arm: str) -> None:
    """Where no member ever copied another, the run would be an error."""
    need(arm)
    result = arena_run(arm=arm, **RUN)
    assert result == arena_run(arm=arm, **RUN)
    periods = 20 if arm == "pbt-whole" else 7
    assert result["epochs"] == 4 * periods, "four members, periods of one epoch"


@pytest.mark.parametrize("arm", [name for name in IN_PROCESS if name not in TORCH_ONLY])
def test_an_arm_needs_no_torch(arm: str) -> None:
    need(arm)
    result = arena_run(**{**LONG, "task": "boosting-diabetes", "arm": arm, "rate": 0.1})
    assert arm in ALONE or result["value"] > 0


@pytest.mark.parametrize("arm", IN_PROCESS)
def test_a_rate_that_explodes_is_a_result_and_no_failure(arm: str) -> None:
    need(arm)
    result = arena_run(arm=arm, **{**LONG, "rate": 1e6})
    assert arm in ALONE or result["value"] > 0


@pytest.mark.parametrize("arm", ["adagrid", "placebo", "tpe"])
def test_arms_with_tries_stay_in_their_budget(arm: str) -> None:
    assert arena_run(arm=arm, **RUN)["runs"] <= BUDGET


@pytest.mark.parametrize("start", [0.01 / 17.8, 0.01 * 17.8])
def test_the_preset_finds_the_same_rate_from_far_below_and_far_above(start: float) -> None:
    """To the last bit, and not only from starts on its grid."""
    good, far = (arena_run(arm="preset-schedule", **{**LONG, "rate": r}) for r in (0.01, start))
    assert (good["rate"], good["value"]) == (far["rate"], far["value"])


def test_a_grid_between_the_rungs_is_another_search() -> None:
    own, shifted = (arena_run(arm=f"preset-{name}", **LONG) for name in ("schedule", "shifted"))
    assert own["peak"] != shifted["peak"]
    assert own["rate"] == pytest.approx(shifted["rate"], rel=0.8)


def test_averaged_weights_are_what_is_measured() -> None:
    plain, averaged = (arena_run(arm=arm, **LONG) for arm in ("constant", "average"))
    assert plain["epochs"] == averaged["epochs"]
    assert plain["val"] != averaged["val"]


def test_every_arm_has_a_name_in_the_tables() -> None:
    from benchmarks.arena.methods import METHODS

    assert len(METHODS) >= len(ARMS) - len(ALONE)
    assert set(arms.COSTS) <= set(ARMS)
