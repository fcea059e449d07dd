"""``as_completed``: outcomes as they end, with all else as in ``run``."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import ContractError, MetricError
from dynhp.executors import Processes, Serial
from dynhp.executors.contract import UNKNOWN_STATE, CompletesAnyOrder, Job, Outcome
from dynhp.executors.pool.transport import Packed
from dynhp.executors.pool.workers import WorkerHandle
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, difference
from tests.support.messages import raises
from tests.support.processes import pids_of, process_of, workers_of

GATE, OPENS = 0.2, 0.25  # the learning rates with which a try waits, and lets that one through
SHARED = Path("/dev/shm")


class GatedInProcesses(NoisyQuadratic):
    """Waits at a gate with one learning rate, is killed once with another, raises with a third."""

    def __init__(self, folder: Path) -> None:
        super().__init__(dimensions=6000)
        self.folder = folder

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        (self.folder / f"pid-{os.getpid()}").touch()
        super().train_k(k, hyperparameters)
        rate = hyperparameters["lr"]
        if rate == OPENS:
            (self.folder / "open").touch()
        while rate == GATE and not (self.folder / "open").exists():
            time.sleep(0.01)
        if rate == 0.3 and not (self.folder / "killed").exists():
            (self.folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if rate == 0.4:
            raise ArithmeticError("too fast")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def executor(folder: Path) -> Iterator[Processes]:
    with Processes(functools.partial(GatedInProcesses, folder), workers=2) as processes:
        yield processes


@pytest.fixture(autouse=True)
def clean(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def jobs(*rates: float, **settings: Any) -> list[Job]:
    origin = NoisyQuadratic(dimensions=6000).get_state()
    given: dict[str, Any] = {"origin": origin, "epochs": 2, "watch": ("loss",)} | settings
    return [Job(candidate=Candidate({"lr": rate}), **given) for rate in rates]


def by_serial(folder: Path, asked: list[Job]) -> list[Any]:
    """What Serial gives, with the gate open and no worker killed."""
    for name in ("open", "killed"):
        (folder / name).touch()
    trainer = GatedInProcesses(folder)
    seen = [
        (outcome.series, outcome.epochs, outcome.error, outcome.keep())
        for outcome in Serial().run(trainer, asked, at=UNKNOWN_STATE)
    ]
    for path in folder.iterdir():
        path.unlink()
    return seen


def test_the_first_to_end_comes_first_and_all_are_those_of_serial(
    executor: Processes, folder: Path
) -> None:
    assert isinstance(executor, CompletesAnyOrder)
    assert not isinstance(Serial(), CompletesAnyOrder)
    asked = jobs(GATE, 0.01, 0.3, 0.4, 0.05)
    expected = by_serial(folder, asked)
    places = []
    for place, outcome in executor.as_completed(asked):
        places.append(place)
        seen = (outcome.series, outcome.epochs, outcome.error, outcome.keep())
        assert difference(expected[place], seen) is None
        if len(places) == 4:  # all except the one at the gate, which never held up the others
            (folder / "open").touch()
    assert places[-1] == 0
    assert places[:-1] == [1, 2, 3, 4]  # one worker does them in turn, the killed one once more
    assert (folder / "killed").exists()
    assert expected[3][2] == "ArithmeticError: too fast"


def test_a_lost_try_fails_in_the_end(folder: Path) -> None:
    make = functools.partial(GatedInProcesses, folder)
    with Processes(make, workers=2, retries=0) as executor:
        outcomes = dict(executor.as_completed(jobs(0.3, 0.01)))
    assert str(outcomes[0].error).startswith("WorkerLost: its worker was lost 1 times, last in ")
    assert outcomes[1].error is None


def test_a_broken_contract_ends_it(executor: Processes) -> None:
    with raises(MetricError):
        list(executor.as_completed(jobs(0.01, 0.02, watch=("missing",))))
    assert list(executor.as_completed([])) == []


def test_one_run_at_a_time_and_states_in_time(executor: Processes) -> None:
    first, other = (executor.as_completed(jobs(0.01, 0.02, 0.05)) for _ in range(2))
    _, outcome = next(first)
    next(first)
    with raises(ContractError):
        outcome.keep()
    next(other)
    with raises(ContractError):
        next(first)
    assert len(list(other)) == 2


def run_ahead(executor: Processes, asked: list[Job]) -> Iterator[Outcome]:
    """Outcomes of a run whose second worker does two jobs more before the first of all ends."""
    assert (asked[0].candidate["lr"], asked[2].candidate["lr"]) == (GATE, OPENS)
    return executor.run(NoisyQuadratic(), asked, at=UNKNOWN_STATE)


@pytest.mark.parametrize("kept", [0, 2])
def test_only_states_that_are_kept_are_sent(
    executor: Processes, folder: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    sent = []
    receive = WorkerHandle.receive
    monkeypatch.setattr(
        WorkerHandle, "receive", lambda worker: sent.append(receive(worker)) or sent[-1]
    )
    asked = jobs(GATE, 0.01, OPENS, 0.02, 0.05)
    expected = by_serial(folder, asked)
    for place, outcome in enumerate(run_ahead(executor, asked)):
        if place == kept:
            assert difference(expected[place][3], outcome.keep()) is None
    assert len([answer for answer in sent if isinstance(answer, Packed)]) == 1


def test_states_held_by_a_worker_that_dies_are_made_again(
    executor: Processes, folder: Path
) -> None:
    asked = jobs(GATE, 0.01, OPENS, 0.02)
    expected = by_serial(folder, asked)
    outcomes = run_ahead(executor, asked)
    arrived = [next(outcomes)]
    # How many each of them holds depends on which was faster.
    assert sum(len(worker.states) for worker in workers_of(executor)) >= 2
    for pid in pids_of(executor):
        os.kill(pid, signal.SIGKILL)
    states = [arrived[0].keep()]
    for outcome in outcomes:
        arrived.append(outcome)
        states.append(outcome.keep())
    seen = [(each.series, each.epochs, each.error) for each in arrived]
    assert difference([each[:3] for each in expected], seen) is None
    assert difference([each[3] for each in expected], states) is None


def late(outcome: Outcome) -> None:
    with raises(ContractError):
        outcome.keep()


def test_a_state_of_another_run_is_never_handed_out(executor: Processes) -> None:
    first = executor.run(NoisyQuadratic(), jobs(0.01, 0.02), at=UNKNOWN_STATE)
    other = executor.run(NoisyQuadratic(), jobs(0.05, 0.1), at=UNKNOWN_STATE)
    earlier, present = next(first), next(other)
    late(earlier)  # though there is a job of that number
    present.keep()
    assert len(list(other)) == 1
    late(earlier)
    late(present)


def test_a_state_asked_for_after_the_end_is_told(executor: Processes) -> None:
    for outcome in dict(executor.as_completed(jobs(0.01, 0.02))).values():
        late(outcome)
    outcomes: Any = executor.run(NoisyQuadratic(), jobs(0.01, 0.02), at=UNKNOWN_STATE)
    outcome = next(outcomes)
    outcomes.close()
    late(outcome)
    outcomes = executor.run(NoisyQuadratic(), jobs(0.01, 0.02), at=UNKNOWN_STATE)
    outcome = next(outcomes)
    executor.close()
    late(outcome)
    with raises(ContractError):
        next(outcomes)


def test_a_second_thread_is_refused_while_the_first_goes_on(executor: Processes) -> None:
    outcomes: Any = executor.run(NoisyQuadratic(), jobs(0.01, 0.02), at=UNKNOWN_STATE)
    kept = next(outcomes).keep()
    raised: list[BaseException] = []

    def second() -> None:
        try:
            next(executor.as_completed(jobs(0.05)))
        except ContractError as error:
            raised.append(error)

    thread = threading.Thread(target=second, name="another")
    thread.start()
    thread.join()
    assert len(raised) == 1
    assert "one run at a time, and that of MainThread is under way while another" in str(raised[0])
    assert difference(kept, by_rate(0.01)) is None
    assert len(list(outcomes)) == 1  # the first has noticed nothing
    assert len(list(executor.as_completed(jobs(0.05)))) == 1


def test_a_run_that_a_thread_left_behind_stops_nobody(executor: Processes) -> None:
    begun: list[Any] = []

    def leaves() -> None:
        begun.append(executor.as_completed(jobs(0.01, 0.02)))
        next(begun[0])

    thread = threading.Thread(target=leaves)
    thread.start()
    thread.join()
    assert len(list(executor.as_completed(jobs(0.05)))) == 1
    begun[0].close()


def by_rate(rate: float) -> Any:
    trainer = NoisyQuadratic(dimensions=6000)
    trainer.train_k(2, {"lr": rate})
    return trainer.get_state()


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("closed", ["the outcomes", "the executor"])
def test_closed_in_the_middle_nothing_is_left(folder: Path, closed: str) -> None:
    before = set(SHARED.glob(f"dynhp-{os.getpid()}-*"))
    processes = Processes(functools.partial(GatedInProcesses, folder), workers=2)
    outcomes: Any = processes.as_completed(jobs(GATE, 0.01, 0.02, 0.05))
    assert next(outcomes)[0] == 1
    while len(list(folder.glob("pid-*"))) < 2:  # until the other one waits at the gate
        time.sleep(0.01)
    pool = processes._pooled._pool
    assert pool is not None
    (busy,) = [process_of(worker).pid or 0 for worker in pool.workers if worker.number == 0]
    if closed == "the outcomes":
        outcomes.close()
        assert is_gone(busy)
        assert [worker.request for worker in pool.workers] == [None]
    processes.close()
    assert all(is_gone(int(path.name[4:])) for path in folder.glob("pid-*"))
    assert not pool.workers
    assert pool.transport.segments._used == {}
    assert set(SHARED.glob(f"dynhp-{os.getpid()}-*")) <= before
