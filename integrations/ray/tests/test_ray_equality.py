"""The answer is that of Serial, whatever the number of actors, and only what is kept moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import ray

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import ContractError, SettingsError
from dynhp.executors import Serial
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, difference
from dynhp.testing.executors.check import check_executor
from dynhp_ray import RayExecutor
from tests.support.messages import raises

Make = Callable[..., RayExecutor]
RATES = (0.05, 0.02, 0.1, 0.5, 0.3)


def jobs_from(*origins: Any, epochs: int = 2) -> list[Job]:
    """A job per learning rate, from these origins in turn."""
    return [
        Job(origin=origins[place % len(origins)], candidate=Candidate({"lr": rate}), epochs=epochs)
        for place, rate in enumerate(RATES)
    ]


@pytest.mark.parametrize("actors", [1, 4])
def test_the_answer_is_that_of_serial(executor: Make, actors: int) -> None:
    report = check_executor(lambda make: executor(make, actors=actors))
    assert len(report.verdicts) >= 15


def test_a_trainer_of_the_users_script_needs_no_module(executor: Make) -> None:
    class Doubtful(NoisyQuadratic):
        def get_state(self) -> dict[str, Any]:
            return {**super().get_state(), "note": Note(self.steps)}

    class Note:
        def __init__(self, steps: int) -> None:
            self.steps = steps

    trainer, twin = Doubtful(), Doubtful()
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 3, "try_for": 2}
    on_ray = DynamicGridAdapter(
        trainer, {"lr": list(RATES)}, executor=executor(lambda: Doubtful()), **settings
    )
    here = DynamicGridAdapter(twin, {"lr": list(RATES)}, **settings)
    assert on_ray.run(6) == here.run(6)
    state, expected = trainer.get_state(), twin.get_state()
    assert isinstance(state["note"], Note)
    assert state.pop("note").steps == expected.pop("note").steps == 6
    assert difference(expected, state) is None


def test_an_origin_goes_into_the_store_once(
    executor: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[object] = []
    original = ray.put
    monkeypatch.setattr(ray, "put", lambda value: put.append(value) or original(value))
    on_ray, trainer = executor(NoisyQuadratic), NoisyQuadratic()
    origins = [trainer.get_state() for _ in range(3)]
    for starts, times in [(origins[:1], 1), (origins[1:], 3)]:
        outcomes = on_ray.run(trainer, jobs_from(*starts), at=UNKNOWN_STATE)
        assert len(list(outcomes)) == len(RATES)
        assert len(put) == times


def test_a_state_moves_only_where_it_is_kept(executor: Make) -> None:
    class Locked(NoisyQuadratic):
        def get_state(self) -> dict[str, Any]:
            lock = threading.Lock() if self.in_force["lr"] == 0.3 else None
            return {**super().get_state(), "lock": lock}

    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    on_ray = executor(lambda: Locked())
    assert len(list(on_ray.run(trainer, jobs_from(origin), at=origin))) == len(RATES)
    with raises(ContractError):
        [outcome.keep() for outcome in on_ray.run(trainer, jobs_from(origin), at=origin)]


def test_a_state_kept_is_the_callers_own(executor: Make) -> None:
    make = lambda: NoisyQuadratic(dimensions=20_000)  # noqa: E731 - pickle cannot, Ray can
    trainer = make()
    origin = trainer.get_state()
    on_ray = executor(make)
    kept = [outcome.keep() for outcome in on_ray.run(trainer, jobs_from(origin), at=origin)]
    here = [outcome.keep() for outcome in Serial().run(trainer, jobs_from(origin), at=origin)]
    assert difference(here, kept) is None
    for state in kept:
        state["weights"][:] = 0.0  # Ray's own arrays are read-only, and gone when Ray ends
    assert np.all(origin["weights"] == 1.0)


def test_a_factory_that_makes_no_trainer(executor: Make) -> None:
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    make = lambda: {}["data"]  # noqa: E731 - pickle cannot, Ray can
    with raises(SettingsError) as caught:
        list(executor(make).run(trainer, jobs_from(origin), at=origin))
    assert "in a worker:\nTraceback" in str(caught.value.__cause__.__cause__)  # where it happened


@pytest.mark.parametrize(
    "settings",
    [
        {"actors": 0},
        {"actors": True},
        {"retries": -1},
        {"num_cpus": -1},
        {"num_gpus": "all"},
        {"time_limit": 0},
        {"address": "ray://head:10001"},
        {"address": 6379},
    ],
)
def test_settings_that_cannot_work(settings: Mapping[str, Any]) -> None:
    with raises(SettingsError):
        RayExecutor(NoisyQuadratic, **settings)


def test_factories_that_cannot_work() -> None:
    with raises(SettingsError):
        RayExecutor(NoisyQuadratic())  # type: ignore[arg-type]
    lock = threading.Lock()
    with raises(SettingsError):
        RayExecutor(lambda: lock)  # type: ignore[arg-type, return-value]


def test_another_cluster_than_the_connected_one_is_refused(executor: Make) -> None:
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    # Not with the whole text, which has the address of this machine.
    with pytest.raises(SettingsError, match=r"address='10\.0\.0\.1:6379', but this process"):
        list(
            executor(NoisyQuadratic, address="10.0.0.1:6379").run(
                trainer, jobs_from(origin), at=origin
            )
        )
    assert len(
        list(executor(NoisyQuadratic, address="auto").run(trainer, jobs_from(origin), at=origin))
    ) == len(RATES)
