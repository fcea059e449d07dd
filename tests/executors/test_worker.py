"""A worker's side: its loop, and its process, carried out in this one."""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dynhp.errors import SettingsError
from dynhp.executors import Serial
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool import processes
from dynhp.executors.pool.processes import Fill, Weighed, in_words
from dynhp.executors.pool.shared_memory import PackedState, Segments, load, pack
from dynhp.executors.pool.transport import (
    Answer,
    Began,
    ForgetRequest,
    Packed,
    PackRequest,
    Raised,
    Ready,
    Request,
    TrainRequest,
    TryReport,
)
from dynhp.executors.pool.worker import WorkerLoop
from dynhp.executors.pool.workers import interrupts_held
from dynhp.testing import NoisyQuadratic, difference
from tests.support.puppets import job

LARGE = functools.partial(NoisyQuadratic, dimensions=6000)


@contextmanager
def serving(factory: bytes) -> Iterator[Any]:
    near, far = multiprocessing.Pipe()
    thread = threading.Thread(target=processes.serve, args=(far, factory))
    thread.start()
    try:
        yield near
    finally:
        near.close()
        thread.join()
        far.close()


def test_a_worker_trains_and_hands_out_its_state() -> None:
    trainer, segments = LARGE(), Segments()
    origin = trainer.get_state()
    (expected,) = Serial().run(trainer, [job(origin)], at=UNKNOWN_STATE)
    packed = pack(origin, segments)
    with serving(pickle.dumps(LARGE)) as worker:
        assert worker.recv() == Ready()
        for sent in (packed, None):  # the second time it has the origin
            worker.send(TrainRequest(7, job(None), sent))
            assert [worker.recv() for _ in range(3)] == [Began(0), Began(1), Began(2)]
            report = worker.recv()
            assert report[:3] == TryReport.of(expected)[:3]
        worker.send(PackRequest(7, ()))
        weighed = worker.recv()
        assert weighed.sizes[1:] == (48000, 48000)
        name = segments.make(weighed.sizes)
        worker.send(Fill(name))
        assert difference(load(worker.recv().state, segments), expected.keep()) is None
        worker.send(PackRequest(7, ()))
        assert isinstance(worker.recv(), Weighed)
        worker.send(Fill(None))  # where there is no room for a segment
        there = worker.recv().state
        assert there.segment is None
        assert difference(load(there, segments), expected.keep()) is None
        worker.send(ForgetRequest())  # which is not answered
        worker.send(TrainRequest(8, job(None), PackedState((1,), None, (b"?",))))
        assert worker.recv() == Began(0)  # it has arrived
        raised = worker.recv()
        assert isinstance(raised, Raised)
        assert isinstance(raised.to_raise(), pickle.UnpicklingError)
    segments.clear()


def test_a_small_state_comes_with_the_answer() -> None:
    with serving(pickle.dumps(NoisyQuadratic)) as worker:
        assert worker.recv() == Ready()
        origin = NoisyQuadratic().get_state()
        worker.send(TrainRequest(0, job(None, epochs=0), pack(origin, Segments())))
        assert isinstance([worker.recv(), worker.recv()][1], TryReport)
        worker.send(PackRequest(0, ()))
        packed = worker.recv()
        assert isinstance(packed, Packed)
        assert difference(origin, load(packed.state, Segments())) is None


def loop_of(trainer: Any) -> WorkerLoop:
    return WorkerLoop(trainer, pack=pickle.dumps, load=pickle.loads)


def last(loop: WorkerLoop, request: Request) -> Answer | None:
    """What a loop answers in the end."""
    return ([None, *loop.answers(request)])[-1]


def asked_for(loop: WorkerLoop, number: int) -> Any:
    answer = last(loop, PackRequest(number, tuple(loop._held)))
    return pickle.loads(answer.state) if isinstance(answer, Packed) else answer


def test_a_worker_holds_the_states_that_are_wanted_and_no_other() -> None:
    loop = loop_of(NoisyQuadratic())
    origin = NoisyQuadratic().get_state()
    rates = [0.01, 0.02, 0.05, 0.1]
    wanted: list[tuple[int, ...]] = [(), (0,), (0, 1), (1, 2)]
    for number, rate in enumerate(rates):
        sent = pickle.dumps(origin) if number == 0 else None
        last(loop, TrainRequest(number, job(None, rate), sent, wanted[number]))
    assert list(loop._held) == [1, 2]  # 0 was dealt with; 3 is in the trainer
    expected = Serial().run(
        NoisyQuadratic(), [job(origin, rate) for rate in rates], at=UNKNOWN_STATE
    )
    states = [outcome.keep() for outcome in expected]
    for number in (3, 1):
        assert difference(states[number], asked_for(loop, number)) is None
    assert list(loop._held) == [2]  # what was handed out is not held any longer
    assert last(loop, ForgetRequest()) is None
    assert loop._held == {}


class Forgetful(NoisyQuadratic):
    """Has no state to give."""

    def get_state(self) -> Any:
        raise OSError("no state")


def test_a_state_that_cannot_be_put_aside_fails_nobody_elses_try() -> None:
    loop = loop_of(Forgetful())
    last(loop, TrainRequest(0, job(None), pickle.dumps(NoisyQuadratic().get_state())))
    assert isinstance(last(loop, TrainRequest(1, job(None), None, (0,))), TryReport)
    raised = asked_for(loop, 0)
    assert isinstance(raised, Raised)
    assert str(raised.to_raise()) == "no state"


def test_a_worker_that_cannot_find_its_factory_says_so() -> None:
    factory = pickle.dumps(NoisyQuadratic).replace(b"NoisyQuadratic", b"NoisyQuadratIc")
    with serving(factory) as worker:
        raised = worker.recv()
        assert str(raised.error).startswith("make_trainer cannot be found in a worker (")


class Leaves(NoisyQuadratic):
    def train_k(self, k: int, hyperparameters: Any) -> None:
        sys.exit(3)


def test_a_trainer_that_leaves_takes_its_worker_with_it() -> None:
    with pytest.raises(SystemExit):
        last(loop_of(Leaves()), TrainRequest(0, job(None), pickle.dumps(Leaves().get_state())))


def test_a_loop_that_is_left_in_the_middle_answers_no_more() -> None:
    state = pickle.dumps(NoisyQuadratic().get_state())
    answers: Any = loop_of(NoisyQuadratic()).answers(TrainRequest(0, job(None), state))
    assert next(answers) == Began(0)
    answers.close()
    assert list(answers) == []


def test_a_telling_trainer_has_the_powers_of_the_one_inside_and_no_more() -> None:
    """A loop uses the trainer itself, and tells when an epoch begins all the same."""

    class BareTrainer(NoisyQuadratic):
        reseed = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "BareTrainer()"

    seeded = TrainRequest(0, job(None, seed=1), pickle.dumps(NoisyQuadratic().get_state()))
    *begun, report = loop_of(NoisyQuadratic()).answers(seeded)
    assert begun == [Began(0), Began(1), Began(2)]
    assert isinstance(report, TryReport)
    raised = last(loop_of(BareTrainer()), seeded)
    assert isinstance(raised, Raised)
    assert isinstance(raised.error, SettingsError)
    assert "needs a trainer with reseed(seed), got BareTrainer()" in str(raised.error)


class MortalParent:
    """A main process that lives for so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_alive(self) -> bool:
        return self.looks > 0

    def join(self, seconds: float) -> None:
        self.looks -= 1


def test_a_worker_leaves_when_the_main_process_is_gone() -> None:
    left: list[int] = []
    parent = MortalParent(3)
    processes.leave_after(parent, leave=left.append)
    assert (left, parent.looks) == ([1], 0)
    pids = iter([7, 7, 7, 1])
    parent = MortalParent(99)
    processes.leave_after(parent, leave=left.append, pid=lambda: next(pids))
    assert (left, parent.looks) == ([1, 1], 97)


@pytest.mark.parametrize("masks", [True, False], ids=["masks", "no masks"])
def test_a_worker_ignores_interrupts_and_serves(
    monkeypatch: pytest.MonkeyPatch, masks: bool
) -> None:
    before = signal.getsignal(signal.SIGINT)
    if not masks:  # as on Windows
        monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    monkeypatch.setattr(processes, "leave_after", lambda parent: None)
    near, far = multiprocessing.Pipe()
    near.close()
    try:
        with interrupts_held():
            processes.work(far, pickle.dumps(NoisyQuadratic))
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
        far.close()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held back")
def test_an_interrupt_is_held_back_and_not_lost() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)  # to this thread; others hold nothing back
        reached = True
    assert reached


def test_exit_codes_in_words() -> None:
    assert in_words(0) == "it ended with exit code 0"
    assert in_words(-signal.SIGTERM) == "it was killed by SIGTERM"
    assert in_words(-99) == "it was killed by signal 99"
