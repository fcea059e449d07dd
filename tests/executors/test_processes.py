"""``Processes`` from outside: settings, sharing, closing, and whole runs."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.errors import ContractError, MetricError, NotRepeatable, SettingsError
from dynhp.executors import Processes, Serial
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool.shared_memory import load
from dynhp.executors.pool.transport import TrainRequest
from dynhp.executors.pool.workers import WorkerHandle
from dynhp.testing import NoisyQuadratic, difference
from tests.support.forgetful import ForgetsGenerator
from tests.support.messages import raises
from tests.support.processes import pids_of, process_of, workers_of
from tests.support.puppets import job

ROOT = Path(__file__).resolve().parents[2]
LARGE = functools.partial(NoisyQuadratic, dimensions=6000)


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 0},
        {"workers": True},
        {"workers": 1.0},
        {"retries": -1},
        {"time_limit": 0},
        {"time_limit": float("nan")},
        {"time_limit": "1"},
        {"time_limit": True},
        {"make_trainer": 3},
        {"make_trainer": lambda: LARGE()},
    ],
)
def test_what_cannot_work_is_refused_at_once(settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        Processes(**({"make_trainer": NoisyQuadratic} | settings))


def test_it_tells_what_it_is() -> None:
    assert repr(Processes(NoisyQuadratic, retries=0)) == (
        "Processes(NoisyQuadratic, workers=2, time_limit=None, retries=0)"
    )
    assert repr(Processes(LARGE)).startswith("Processes(functools.partial(")


def test_nothing_starts_before_it_is_needed() -> None:
    with Processes(NoisyQuadratic, time_limit=3.5, workers=3) as executor:
        executor.run(NoisyQuadratic(), [job(1)], at=UNKNOWN_STATE)
        assert list(executor.run(NoisyQuadratic(), [], at=UNKNOWN_STATE)) == []
        executor.close()
        assert executor._pooled._pool is None
        pool = executor._pooled._started_pool()
        assert (pool.workers, pool._time_limit, pool.size) == ([], 3.5, 3)


def test_importing_dynhp_does_not_import_multiprocessing() -> None:
    code = "import dynhp, dynhp.executors, sys; print('multiprocessing' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"


@pytest.fixture(scope="module")
def executor() -> Iterator[Processes]:
    with Processes(LARGE, workers=2) as processes:
        yield processes


def test_workers_are_reused_and_the_origin_is_sent_once_to_each(
    executor: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ask = WorkerHandle.ask
    monkeypatch.setattr(
        WorkerHandle, "ask", lambda self, request: asked.append(request) or ask(self, request)
    )
    origin = LARGE().get_state()
    waves = [[job(origin, rate) for rate in (0.01, 0.02, 0.05, 0.1)] for _ in range(2)]
    for jobs in waves:  # as a proposer with two waves makes them
        assert len(list(executor.run(LARGE(), jobs, at=UNKNOWN_STATE))) == 4
    pids = set(pids_of(executor))
    assert len(pids) == 2
    sent = [request.origin for request in asked if isinstance(request, TrainRequest)]
    assert len(sent) == 8
    assert len([packed for packed in sent if packed is not None]) == 2
    assert len({packed.segment for packed in sent if packed is not None}) == 1
    other = LARGE().get_state()
    list(executor.run(LARGE(), [job(other, rate) for rate in (0.01, 0.02, 0.05)], at=UNKNOWN_STATE))
    sent = [request.origin for request in asked[8:] if isinstance(request, TrainRequest)]
    assert len([packed for packed in sent if packed is not None]) == 2
    assert set(pids_of(executor)) == pids


def test_states_of_losers_stay_where_they_are(
    executor: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(
        "dynhp.executors.pool.shared_memory.load",
        lambda packed, buffer: loaded.append(packed) or load(packed, buffer),
    )
    trainer = LARGE()
    origin = trainer.get_state()
    jobs = [job(origin, rate) for rate in (0.01, 0.02, 0.05, 0.1)]
    for place, outcome in enumerate(executor.run(trainer, jobs, at=origin)):
        if place == 2:
            outcome.keep()
    assert len(loaded) == 1


def test_a_broken_contract_there_is_raised_here(executor: Processes) -> None:
    trainer = LARGE()
    origin = trainer.get_state()
    with raises(MetricError) as caught:
        list(executor.run(trainer, [job(origin, watch=("missing",))], at=origin))
    assert "in a worker:\nTraceback" in str(caught.value.__cause__)
    with pytest.raises(KeyError, match="weights"):
        list(executor.run(trainer, [job({})], at=UNKNOWN_STATE))


def test_a_state_that_cannot_travel_is_told(executor: Processes) -> None:
    with raises(ContractError):
        list(executor.run(LARGE(), [job({"hook": lambda: None})], at=UNKNOWN_STATE))


def no_trainer() -> Any:
    raise FileNotFoundError("the data")


def test_a_factory_that_fails_is_told() -> None:
    with (
        Processes(no_trainer, workers=1) as executor,
        raises(SettingsError) as caught,
    ):
        list(executor.run(LARGE(), [job(0)], at=UNKNOWN_STATE))
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_workers_end_with_the_executor() -> None:
    executor = Processes(NoisyQuadratic, workers=1)
    trainer = NoisyQuadratic()
    assert len(list(executor.run(trainer, [job(trainer.get_state())], at=UNKNOWN_STATE))) == 1
    pool = executor._pooled._pool
    assert pool is not None
    (worker,) = pool.workers
    pool._process, mine = -1, pool._process
    pool.close()  # as a fork of this process would do
    assert worker.channel.is_alive()
    pool._process = mine
    del executor
    gc.collect()
    assert process_of(worker).exitcode == 0
    assert pool.workers == []


def test_where_all_workers_are_gone_it_begins_anew() -> None:
    trainer = NoisyQuadratic()
    with Processes(NoisyQuadratic, workers=2) as executor:
        pools = []
        for _ in range(2):
            jobs = [job(trainer.get_state(), rate) for rate in (0.01, 0.02)]
            assert len(list(executor.run(trainer, jobs, at=UNKNOWN_STATE))) == 2
            pools.append(executor._pooled._pool)
            for worker in workers_of(executor):
                process = process_of(worker)
                process.kill()
                process.join()
    assert pools[0] is not pools[1]


@pytest.mark.parametrize("selection", [None, Racing()])
def test_a_whole_run_is_that_of_serial(executor: Processes, selection: Any) -> None:
    results = []
    for each in (Serial(), executor):
        trainer = LARGE()
        adapter = DynamicGridAdapter(
            trainer,
            {"lr": [0.01, 0.02, 0.05, 0.1, 0.2]},
            criterion=lowest("loss"),
            adapt_every=3,
            try_for=2,
            selection=selection,
            executor=each,
        )
        results.append((adapter.run(9), trainer.get_state()))
    assert results[0][0] == results[1][0]
    assert difference(results[0][1], results[1][1]) is None


def test_a_leak_in_a_worker_is_noticed_though_nobody_can_name_it_here() -> None:
    def message(executor: Any) -> str:
        adapter = DynamicGridAdapter(
            ForgetsGenerator(),
            {"lr": [0.1, 0.2]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
            executor=executor,
        )
        with pytest.raises(NotRepeatable) as caught:
            adapter.step()
        return str(caught.value)

    assert "In reach, the likeliest first:\n  1. trainer" in message(Serial())
    with Processes(ForgetsGenerator, workers=1) as executor:
        of_processes = message(executor)
    assert "run once with Serial() to be told what it is" in of_processes
    assert "In reach" not in of_processes
