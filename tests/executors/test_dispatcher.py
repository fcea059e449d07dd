"""Which worker gets which job, with workers that answer as the test says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool.dispatcher import Dispatcher
from dynhp.executors.pool.processes import Fill, Weighed
from dynhp.executors.pool.shared_memory import PackedState
from dynhp.executors.pool.transport import ForgetRequest, Packed, PackRequest, Raised, TrainRequest
from tests.support.puppets import (
    REPORT,
    STATE,
    PuppetPool,
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


def interrupted(*args: Any) -> Any:
    raise KeyboardInterrupt


def begun_and_reported(pool: PuppetPool, dispatcher: Dispatcher) -> None:
    """Two workers have begun, and the second has reported all."""
    pool.start_workers(2)
    dispatcher._assign(ahead=False)
    for _ in range(3):  # arrived, begun, reported
        dispatcher._receive()


def test_a_worker_ahead_puts_its_states_aside_up_to_a_bound(
    pool: PuppetPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.transport.script += [silent, prompt]
    outcomes = outcomes_of(dispatcher_of(pool, [job(0) for _ in range(9)]))
    wait, looks = pool.transport.wait, iter(range(1, 999))

    def ends_at_last(channels: Any, seconds: float) -> Any:
        if next(looks) == 30:
            wire_of(pool.workers[0]).waiting += [REPORT]
        return wait(channels, seconds)

    monkeypatch.setattr(pool.transport, "wait", ends_at_last)
    next(outcomes)
    # Jobs 1 and 2: the state of the first is set aside, that of the second stays in the trainer.
    ahead = pool.workers[1]
    asked = wire_of(ahead).asked
    assert asked_of(ahead) == [TrainRequest] * 2
    assert [set(request.wanted) for request in asked[1:]] == [{1}]
    outcome = next(outcomes)
    assert outcome.keep() == outcome.keep() == "state"  # from where it was set aside
    packs = [request for request in asked if isinstance(request, PackRequest)]
    assert packs == [PackRequest(1, (1, 2))]
    pool.reset()
    assert asked_of(ahead)[-1] is ForgetRequest
    assert ahead.states == set()
    pool.reset()
    assert asked_of(ahead).count(ForgetRequest) == 1


def test_a_worker_waits_as_long_as_packing_takes(pool: PuppetPool) -> None:
    pool.transport.script += [silent, prompt]
    jobs = [job(0) for _ in range(9)]
    begun_and_reported(pool, dispatcher_of(pool, jobs))
    pool.pace = 100.0
    assert not pool.begin(2, jobs[2], ahead=True)
    assert 99.0 < pool._may_wait <= 100.0
    assert list(pool.receive()) == []
    assert asked_of(pool.workers[1]) == [TrainRequest]
    pool.pace = 0.0
    assert not pool.begin(2, jobs[2], ahead=False)
    assert asked_of(pool.workers[1]) == [TrainRequest]
    assert pool.begin(2, jobs[2], ahead=True)
    assert pool._may_wait == float("inf")
    assert asked_of(pool.workers[1]) == [TrainRequest, TrainRequest]


@pytest.mark.parametrize("late", [STATE, Weighed((10,)), "lost"], ids=["packed", "weighed", "lost"])
def test_a_state_that_is_not_wanted_any_more(pool: PuppetPool, late: Any) -> None:
    """It was asked for, but the caller did not wait for it."""

    def answers(request: Any) -> list[Any]:
        if isinstance(request, Fill):
            return [Packed(PackedState((10,), request.segment))]
        return prompt(request)

    pool.transport.script += [prompt, prompt, prompt]
    outcomes = outcomes_of(dispatcher_of(pool, [job(0) for _ in range(4)]))
    first = next(outcomes)
    worker = pool.workers[0]
    wire_of(worker).answers = silent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            first.keep()
    assert worker.request == PackRequest(0, (0,))
    assert next(outcomes).series == REPORT.series  # number 0 is dealt with
    if late == "lost":
        puppet_of(worker).kill()
    else:
        wire_of(worker).answers = answers
        wire_of(worker).waiting += [late]
    assert len(list(outcomes)) == 2
    assert (worker in pool.workers) == (late != "lost")
    assert pool.transport.segments._used == {}


@pytest.mark.parametrize("times", [1, 2])
def test_what_get_state_raises_is_raised_by_keep(pool: PuppetPool, times: int) -> None:
    def breaks(request: Any) -> list[Any]:
        if isinstance(request, PackRequest):
            return [Raised.of(ValueError("no state"))]
        return prompt(request)

    pool.transport.script += [breaks] * 2
    outcomes = outcomes_of(dispatcher_of(pool, [job(0)] * 2))
    outcome = next(outcomes)
    for _ in range(times):
        with pytest.raises(ValueError, match="no state"):
            outcome.keep()
    assert next(outcomes).series == REPORT.series


def trains_of(pool: PuppetPool) -> Iterable[TrainRequest]:
    requests = (request for worker in pool.workers for request in wire_of(worker).asked)
    return [request for request in requests if isinstance(request, TrainRequest)]


def test_racing_origins_are_sent_with_each_job_and_let_go(pool: PuppetPool) -> None:
    pool.transport.script += [prompt, prompt]
    origins = [np.full(9_000, float(place)) for place in range(4)]
    jobs = [job(origin) for origin in origins]
    outcomes = outcomes_of(dispatcher_of(pool, jobs))
    assert len([outcome.series for outcome in outcomes]) == 4
    sent = [request.origin for request in trains_of(pool)]
    assert all(packed is not None and packed.segment for packed in sent)
    assert {worker.origin for worker in pool.workers} == {UNKNOWN_STATE}
    assert pool.transport.segments._used == {}


def test_an_origin_of_several_jobs_is_packed_once(pool: PuppetPool) -> None:
    pool.transport.script += [prompt]
    pool.size = 1
    shared, own = np.zeros(9_000), np.ones(9_000)
    jobs = [job(shared), job(own), job(shared)]
    assert len(list(outcomes_of(dispatcher_of(pool, jobs)))) == 3
    first, second, third = (request.origin for request in trains_of(pool))
    assert first is third
    assert second is not None
    assert second.segment not in pool.transport.segments._used
    assert list(pool.transport.segments._used) == [first.segment]
    pool.begin_run([job(shared)])  # it serves again
    assert list(pool.transport.segments._used) == [first.segment]
    pool.begin_run([job(own)])
    assert pool.transport.segments._used == {}


def test_a_job_that_raises_when_repeated_raises(pool: PuppetPool) -> None:
    pool.transport.script += [prompt, lambda request: [Raised.of(ValueError("now"))]]
    outcome = next(outcomes_of(dispatcher_of(pool, [job(0)], retries=1)))
    (worker,) = pool.workers
    puppet_of(worker).alive = False
    pool.idle()
    with pytest.raises(ValueError, match="now"):
        outcome.keep()


@pytest.mark.parametrize(("deaths", "survives"), [(2, True), (3, False)])
def test_a_job_given_to_a_dying_worker_has_lost_nothing(
    pool: PuppetPool, deaths: int, survives: bool
) -> None:
    """As after a kill that takes a while; but no more often than there are workers."""
    pool.transport.script += [dying] * deaths + [prompt]
    outcome = next(outcomes_of(dispatcher_of(pool, [job(0)], retries=0)))
    assert outcome.error == (
        None
        if survives
        else "WorkerLost: its worker was lost 1 times, last in epoch 0: it was killed by SIGKILL"
    )


def test_a_state_is_made_again_though_the_first_to_be_asked_is_dying(pool: PuppetPool) -> None:
    """The worker that has it is killed, and the one asked to make it again is being killed."""
    pool.transport.script += [prompt, prompt, dying, prompt]
    dispatcher = dispatcher_of(pool, [job(0) for _ in range(2)], retries=1)
    outcomes = outcomes_of(dispatcher)
    outcome = next(outcomes)
    holder, other = pool.workers
    assert holder.states == {0}
    wire_of(holder).answers = silent
    puppet_of(holder).kill()
    assert outcome.keep() == "state"
    assert (dispatcher._losses, dispatcher._missed) == ({0: 1}, {0: 1})
    assert asked_of(other) == [TrainRequest]
    assert next(outcomes).keep() == "state"


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_keep_is_interrupted_while_a_lost_state_is_made_again(
    pool: PuppetPool, monkeypatch: pytest.MonkeyPatch, begun: bool, again: bool
) -> None:
    pool.transport.script += [prompt] * 3
    dispatcher = dispatcher_of(pool, [job(0) for _ in range(4)], retries=1)
    outcomes = outcomes_of(dispatcher)
    outcome = next(outcomes)
    wire_of(next(each for each in pool.workers if 0 in each.states)).answers = dying
    with monkeypatch.context() as patch:
        if begun:  # it is with a worker already
            receive = pool.receive
            patch.setattr(
                pool, "receive", lambda: interrupted() if 0 in working(pool) else receive()
            )
        else:
            patch.setattr(dispatcher, "_wait_for_report", interrupted)
        with pytest.raises(KeyboardInterrupt):
            outcome.keep()
    if again:
        assert outcome.keep() == "state"
    assert [each.keep() for each in outcomes] == ["state"] * 3
    assert (dispatcher._waiting, dispatcher._reports, dispatcher._jobs) == (set(), {}, {})


def working(pool: PuppetPool) -> set[int | None]:
    """The jobs that are with workers."""
    return {each.number for each in pool.workers if isinstance(each.request, TrainRequest)}


def test_in_any_order_the_first_to_end_comes_first(pool: PuppetPool) -> None:
    pool.transport.script += [silent, prompt]
    outcomes = dispatcher_of(pool, [job(0) for _ in range(9)], in_order=False).outcomes()
    # Without a bound: nothing is set aside where all is handed out at once.
    assert [next(outcomes)[0] for _ in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert asked_of(pool.workers[1]) == [TrainRequest] * 8
    wire_of(pool.workers[0]).waiting += [REPORT]
    assert [number for number, _ in outcomes] == [0]


def test_keep_waits_for_a_worker_that_has_run_ahead_while_others_go_on(
    pool: PuppetPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.transport.script += [silent, prompt]
    dispatcher = dispatcher_of(pool, [job(0) for _ in range(9)])
    outcomes = outcomes_of(dispatcher)
    begun_and_reported(pool, dispatcher)
    slow, ahead = pool.workers
    wire_of(ahead).answers = silent
    dispatcher._assign(ahead=True)
    assert isinstance(ahead.request, TrainRequest)
    assert ahead.request[::3] == (2, (1,))  # job 2 is under way, and the state of job 1 held
    wire_of(slow).answers = prompt
    wire_of(slow).waiting += [REPORT]
    next(outcomes)
    second = next(outcomes)
    wait, looks = pool.transport.wait, iter(range(999))

    def ends_late(channels: Any, seconds: float) -> Any:
        if next(looks) == 20:
            wire_of(ahead).answers = prompt
            wire_of(ahead).waiting += [REPORT]
        return wait(channels, seconds)

    monkeypatch.setattr(pool.transport, "wait", ends_late)
    assert second.keep() == "state"
    assert asked_of(ahead)[:3] == [TrainRequest, TrainRequest, PackRequest]
    assert asked_of(slow) == [TrainRequest] * 3  # jobs 0, 3 and 4: up to the bound
    assert len(list(outcomes)) == 7
