"""Workers as the pool sees them: slow, late, lost, starting, on other machines."""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from dynhp.errors import SettingsError
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool import workers
from dynhp.executors.pool.processes import ProcessChannel
from dynhp.executors.pool.shared_memory import Segments
from dynhp.executors.pool.transport import Began, Lost, Raised, Ready, TrainRequest
from dynhp.executors.pool.workers import WorkerHandle, WorkerPool
from tests.support.messages import raises
from tests.support.puppets import (
    REPORT,
    STATE,
    Puppet,
    PuppetPool,
    PuppetTransport,
    RemotePuppets,
    Wire,
    asked_of,
    dispatcher_of,
    dying,
    job,
    outcomes_of,
    prompt,
    puppet_of,
    silent,
    wire_of,
)


@pytest.fixture(autouse=True)
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass but what a test takes from ``since``."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    # The class has remembered the real clock.
    monkeypatch.setattr(workers, "WorkerHandle", partial(WorkerHandle, since=now))


def worker(limit_passed: float = 0.0, **settings: Any) -> WorkerHandle:
    process: Any = Puppet()
    wire: Any = Wire(silent)
    since = time.monotonic() - limit_passed
    return WorkerHandle(ProcessChannel(process, wire, Segments()), since=since, **settings)


def test_when_a_worker_is_overdue() -> None:
    assert worker(99.0, ready=True).overdue(None) is None
    assert worker(99.0, ready=False).overdue(5.0) is None  # it is still starting
    assert worker(1.0, ready=True).overdue(5.0) is None
    late = worker(6.0, ready=True)
    assert late.overdue(5.0) == Lost("it took longer than time_limit=5.0 s")
    assert not late.channel.is_alive()
    dead = worker(ready=True)
    puppet_of(dead).kill()
    assert dead.overdue(None) == Lost("it was killed by SIGKILL")


def test_the_clock_of_a_worker_starts_when_it_is_ready() -> None:
    starting = worker(100.0)
    wire_of(starting).waiting += [Ready()]
    assert starting.receive() == Ready()
    assert starting.seconds_left(10.0) == 10.0


def test_what_was_answered_in_time_counts_however_late_one_listens(
    pool: PuppetPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.transport.script += [prompt]
    pool._time_limit = 5.0
    outcomes = outcomes_of(dispatcher_of(pool, [job(0)]))
    pool.start_workers(1)
    ask = WorkerHandle.ask

    def long_ago(self: WorkerHandle, request: Any) -> None:
        ask(self, request)
        self.since -= 100.0

    monkeypatch.setattr(WorkerHandle, "ask", long_ago)
    assert next(outcomes).error is None


def test_a_state_that_is_lost_on_its_way_leaves_no_memory(pool: PuppetPool) -> None:
    """The worker was given a segment to fill, and dies or raises."""
    channel = worker(ready=True).channel
    assert isinstance(channel, ProcessChannel)
    for answer in (Raised.of(ValueError("no memory")), "EOF"):
        channel._segment = channel._segments.make([10])
        wire_of(channel).waiting += [answer]
        if answer == "EOF":
            channel.end(0)
        else:
            assert channel.receive() is answer
        assert channel._segments._used == {}
    channel._segments.clear()


# Starting


def starting_pool(
    transport: PuppetTransport, **settings: Any
) -> tuple[WorkerPool, list[WorkerHandle]]:
    """Two puppets that have not got ready."""
    pool = WorkerPool(transport, size=2, **settings)
    pool.start_workers(2)
    return pool, pool.workers


def test_a_worker_killed_while_it_starts_is_bad_luck_one_that_ends_is_not(
    pool: PuppetPool,
) -> None:
    pool.transport.script += [prompt]
    pool.start_workers(1)
    (starting,) = pool.workers
    starting.ready, starting.number = False, 0
    for _ in range(9):  # its job is repeated, but not for ever
        pool._check_start(starting, Lost("killed"))
    with raises(SettingsError):
        pool._check_start(starting, Lost("it ended", by_itself=True))
    pool._check_start(starting, Began(0))


def test_workers_without_a_job_that_are_killed_while_they_start_are_not_replaced_for_ever() -> None:
    transport = PuppetTransport()
    transport.script += [dying] * 9
    pool, workers = starting_pool(transport)
    wire_of(workers[0]).waiting += ["EOF"]
    assert list(pool.receive()) == []
    wire_of(workers[0]).waiting += [Ready()]  # which ends the series
    assert list(pool.receive()) == []
    for _ in range(2):
        wire_of(workers[1]).waiting += ["EOF"]
        assert list(pool.receive()) == []
    wire_of(workers[1]).waiting += ["EOF"]
    with raises(SettingsError):
        list(pool.receive())
    pool.close()


@pytest.mark.parametrize(("limit", "allowed"), [(1.0, 60.0), (20.0, 200.0)])
def test_a_worker_that_does_not_get_ready_is_an_error_with_a_limit(
    limit: float, allowed: float
) -> None:
    transport = PuppetTransport()
    transport.script += [silent]
    pool = WorkerPool(transport, size=1, time_limit=limit)
    outcomes = outcomes_of(dispatcher_of(pool, [job(0)]))
    pool.start_workers(1)
    (starting,) = pool.workers
    starting.ask(TrainRequest(0, job(0), None))
    starting.since -= allowed - 5.0
    assert list(pool.receive()) == []
    starting.since -= 6.0
    with raises(SettingsError):
        next(outcomes)
    pool.close()


def test_without_a_limit_a_slow_start_is_told_once(
    pool: PuppetPool, caplog: pytest.LogCaptureFixture
) -> None:
    pool.transport.script += [silent]
    pool.start_workers(1)
    (starting,) = pool.workers
    starting.ready = False
    starting.ask(TrainRequest(0, job(0), None))
    for seconds, words in ((0.0, 0), (29.0, 0), (2.0, 1), (99.0, 1)):
        starting.since -= seconds
        assert list(pool.receive()) == []
        assert len(caplog.messages) == words
    assert caplog.messages[0].startswith("Processes: make_trainer has been building a trainer in ")


def test_the_origin_of_a_round_that_is_over_is_let_go(pool: PuppetPool) -> None:
    pool.transport.script += [prompt, prompt]
    first, second = ["first"], ["second"]
    assert len(list(outcomes_of(dispatcher_of(pool, [job(first), job(first)])))) == 2
    pool.reset()
    # A second wave may start from there.
    assert [each.origin for each in pool.workers] == [first, first]
    assert len(list(outcomes_of(dispatcher_of(pool, [job(second)])))) == 1
    assert {id(each.origin) for each in pool.workers} == {id(second), id(UNKNOWN_STATE)}


# On other machines


@pytest.fixture
def remote() -> Iterator[PuppetPool]:
    made = PuppetPool(RemotePuppets(), size=2, time_limit=1.0)
    yield made
    made.close()


def test_a_remote_worker_gets_its_first_job_when_it_is_ready(remote: PuppetPool) -> None:
    remote.transport.script += [prompt, prompt]
    remote.start_workers(2)
    for each in remote.workers:
        each.ready = False
    assert not remote.begin(0, job(0), ahead=True)
    assert list(remote.receive()) == []
    wire_of(remote.workers[1]).waiting += [Ready()]
    assert list(remote.receive()) == []
    assert remote.begin(0, job(0), ahead=False)
    assert [asked_of(each) for each in remote.workers] == [[], [TrainRequest]]


def test_a_remote_worker_may_take_long_to_start(remote: PuppetPool) -> None:
    remote.transport.script += [prompt, prompt]
    remote.start_workers(2)
    first, second = remote.workers
    second.ready = False
    second.since -= 9999.0
    assert list(remote.receive()) == []
    assert remote.transport.slow_starts == []  # there may be no room for it: the other one works
    first.ready = False
    for _ in range(2):
        assert list(remote.receive()) == []
    assert remote.transport.slow_starts == [30.0]


def test_a_remote_worker_runs_ahead_at_once() -> None:
    transport = RemotePuppets()
    transport.script += [prompt]
    pool = WorkerPool(transport, size=1)
    jobs = [job(0), job(0)]
    pool.begin_run(jobs)
    pool.start_workers(1)
    pool.workers[0].ready = True
    assert pool.begin(0, jobs[0], ahead=False)
    assert [news for _ in range(3) for news in pool.receive()] == [(0, REPORT)]
    assert pool._packing == 0.0
    assert not pool.begin(1, jobs[1], ahead=False)
    assert pool.begin(1, jobs[1], ahead=True)
    pool.close()


@pytest.mark.parametrize(
    ("answers", "stays"),
    [
        ([Began(0), REPORT], True),
        ([STATE], True),
        ([Began(0)], False),
        (["EOF"], False),
        (["dead", REPORT], False),
    ],
)
def test_a_remote_worker_may_finish_when_a_run_ends(
    remote: PuppetPool, answers: list[Any], stays: bool
) -> None:
    remote.transport.script += [silent]
    remote.start_workers(1)
    (busy,) = remote.workers
    assert remote.begin(0, job(0), ahead=False)
    puppet_of(busy).alive = "dead" not in answers
    wire_of(busy).waiting += answers
    remote.reset()
    assert remote.workers == ([busy] if stays else [])
    assert (busy.request is None, busy.states) == (stays, set())


def test_a_pool_whose_workers_are_all_gone_is_deserted(pool: PuppetPool) -> None:
    pool.transport.script += [prompt, prompt]
    assert not pool.is_deserted()
    pool.start_workers(2)
    puppet_of(pool.workers[0]).kill()
    assert not pool.is_deserted()
    puppet_of(pool.workers[1]).kill()
    assert pool.is_deserted()


def test_at_exit_interrupts_are_ignored_and_workers_closed_once(
    pool: PuppetPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", hooks.append)
    monkeypatch.setattr(
        atexit,
        "unregister",
        lambda gone: hooks.__setitem__(slice(None), [x for x in hooks if x != gone]),
    )
    handlers = []

    def close() -> None:
        signal.raise_signal(signal.SIGINT)
        handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    for _ in range(2):
        pool.transport.script += [silent]
        pool.start_workers(1)
        pool._end(pool.workers, 0)
    assert len(hooks) == 2  # Ctrl-C may break off the first
    with monkeypatch.context() as patch:
        patch.setattr(pool, "close", close)
        hooks[0]()
        other = threading.Thread(target=hooks[1])  # in which nothing is set, and nothing comes
        patch.setattr(signal, "raise_signal", lambda number: None)
        other.start()
        other.join()
    assert handlers == [signal.SIG_IGN, before]
    assert signal.getsignal(signal.SIGINT) is before
    pool.close()
    assert hooks == []


def test_a_worker_goes_beyond_its_bound_rather_than_wait_for_one_that_may_never_start() -> None:
    """As after the loss of a node: there is no room for the actor that replaces the lost one."""
    transport = RemotePuppets()
    transport.script += [silent, prompt]
    pool = WorkerPool(transport, size=2)
    jobs = [job(0) for _ in range(3)]
    pool.begin_run(jobs)
    pool.start_workers(2)
    pool.workers[1].ready = True
    pool.workers[1].states |= {1, 2}
    assert pool.begin(0, jobs[0], ahead=True)
    assert pool.workers[1].request is not None
    pool.close()
