"""Processes from outside: settings, sharing, closing; and its parts, carried out in one process."""

from __future__ import annotations

import errno
import functools
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.executors import Processes, Serial
from dynhp.executors.pool import handle, reducers, worker
from dynhp.executors.pool.crew import Crew
from dynhp.executors.pool.dispatcher import Dispatcher
from dynhp.executors.pool.handle import Lane, interrupts_held, told
from dynhp.executors.pool.messages import (
    Began,
    Fill,
    Forget,
    Lost,
    Pack,
    Packed,
    Raised,
    Ready,
    Report,
    Train,
    Weighed,
)
from dynhp.executors.pool.packing import PackedState, fill, load, pack, pieces_of
from dynhp.executors.pool.reducers import register_reducer
from dynhp.executors.pool.segments import SPARE, Openings, Segments
from dynhp.executors.pool.shift import Shift
from dynhp.records import Candidate
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.testing import NoisyQuadratic, difference

ROOT = Path(__file__).resolve().parents[2]
LARGE = functools.partial(NoisyQuadratic, dimensions=6000)


def job(origin: Any, rate: float = 0.1, **settings: Any) -> Job:
    given: dict[str, Any] = {"origin": origin, "epochs": 2, "watch": ("loss",)}
    return Job(candidate=Candidate({"lr": rate}), **(given | settings))


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be a whole number of 1 or more, got 0"),
        ({"workers": True}, "workers must be a whole number of 1 or more, got True"),
        ({"workers": 1.0}, "workers must be a whole number of 1 or more, got 1.0"),
        ({"retries": -1}, "retries must be a whole number of 0 or more, got -1"),
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0, .* got 0"),
        ({"time_limit": float("nan")}, "time_limit must be .* got nan"),
        ({"time_limit": "1"}, "time_limit must be .* got '1'"),
        ({"time_limit": True}, "time_limit must be .* got True"),
        ({"make_trainer": 3}, "make_trainer must be a function .* got 3"),
        ({"make_trainer": lambda: LARGE()}, "make_trainer must be picklable, .* use a function"),
    ],
)
def test_what_cannot_work_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
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
        assert executor._crew is None
        crew = executor._started()
        assert (crew.lanes, crew._time_limit, crew.workers) == ([], 3.5, 3)


def test_importing_dynhp_does_not_import_multiprocessing() -> None:
    code = "import dynhp, dynhp.executors, sys; print('multiprocessing' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"


# Real workers


@pytest.fixture(scope="module")
def executor() -> Iterator[Processes]:
    with Processes(LARGE, workers=2) as processes:
        yield processes


def test_workers_are_reused_and_the_origin_is_sent_once_to_each(
    executor: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ask = Lane.ask
    monkeypatch.setattr(
        Lane, "ask", lambda self, request: asked.append((self, request)) or ask(self, request)
    )
    origin = LARGE().get_state()
    waves = [[job(origin, rate) for rate in (0.01, 0.02, 0.05, 0.1)] for _ in range(2)]
    for jobs in waves:  # as a proposer with two waves makes them
        assert len(list(executor.run(LARGE(), jobs, at=UNKNOWN_STATE))) == 4
    assert executor._crew is not None
    pids = {lane.process.pid for lane in executor._crew.lanes}
    assert len(pids) == 2
    sent = [request.origin for _, request in asked if isinstance(request, Train)]
    assert len(sent) == 8
    assert len([parcel for parcel in sent if parcel is not None]) == 2
    assert len({parcel.segment for parcel in sent if parcel is not None}) == 1
    other = LARGE().get_state()
    list(executor.run(LARGE(), [job(other, rate) for rate in (0.01, 0.02, 0.05)], at=UNKNOWN_STATE))
    sent = [request.origin for _, request in asked[8:] if isinstance(request, Train)]
    assert len([parcel for parcel in sent if parcel is not None]) == 2
    assert {lane.process.pid for lane in executor._crew.lanes} == pids


def test_states_of_losers_stay_where_they_are(
    executor: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(
        "dynhp.executors.pool.shift.load",
        lambda parcel, buffer: loaded.append(parcel) or load(parcel, buffer),
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
    with pytest.raises(MetricError, match="there is no metric 'missing'") as caught:
        list(executor.run(trainer, [job(origin, watch=("missing",))], at=origin))
    assert "in a worker:\nTraceback" in str(caught.value.__cause__)
    with pytest.raises(KeyError, match="weights"):
        list(executor.run(trainer, [job({})], at=UNKNOWN_STATE))


def test_a_state_that_cannot_travel_is_told(executor: Processes) -> None:
    with pytest.raises(ContractError, match=r"a state must be picklable .* or use Serial\(\)"):
        list(executor.run(LARGE(), [job({"hook": lambda: None})], at=UNKNOWN_STATE))


def no_trainer() -> Any:
    raise FileNotFoundError("the data")


def test_a_factory_that_fails_is_told() -> None:
    with (
        Processes(no_trainer, workers=1) as executor,
        pytest.raises(SettingsError, match=r"in a worker, got FileNotFoundError: the data") as told,
    ):
        list(executor.run(LARGE(), [job(0)], at=UNKNOWN_STATE))
    assert isinstance(told.value.__cause__, FileNotFoundError)


def test_workers_end_with_the_executor() -> None:
    executor = Processes(NoisyQuadratic, workers=1)
    trainer = NoisyQuadratic()
    assert len(list(executor.run(trainer, [job(trainer.get_state())], at=UNKNOWN_STATE))) == 1
    assert executor._crew is not None
    crew, (lane,) = executor._crew, executor._crew.lanes
    crew._process, mine = -1, crew._process
    crew.close()  # as a fork of this process would do
    assert lane.process.is_alive()
    crew._process = mine
    del executor
    gc.collect()
    assert lane.process.exitcode == 0
    assert crew.lanes == []


# The parts, in this process


@contextmanager
def serving(factory: bytes) -> Iterator[Any]:
    ours, theirs = multiprocessing.Pipe()
    thread = threading.Thread(target=worker.serve, args=(theirs, factory))
    thread.start()
    try:
        yield ours
    finally:
        ours.close()
        thread.join(10)
        theirs.close()
        assert not thread.is_alive()


def test_a_worker_trains_and_hands_out_its_state() -> None:
    trainer, segments = LARGE(), Segments()
    origin = trainer.get_state()
    (expected,) = Serial().run(trainer, [job(origin)], at=UNKNOWN_STATE)
    parcel = pack(origin, segments)
    with serving(pickle.dumps(LARGE)) as worker:
        assert worker.recv() == Ready()
        for sent in (parcel, None):  # the second time it has the origin
            worker.send(Train(7, job(None), sent))
            assert [worker.recv() for _ in range(3)] == [Began(0), Began(1), Began(2)]
            report = worker.recv()
            assert report[:3] == Report.of(expected)[:3]
        worker.send(Pack(7))
        weighed = worker.recv()
        assert weighed.sizes[1:] == (48000, 48000)
        name = segments.make(weighed.sizes)
        worker.send(Fill(name))
        assert difference(load(worker.recv().parcel, segments.buffer), expected.keep()) is None
        worker.send(Pack(7))
        assert isinstance(worker.recv(), Weighed)
        worker.send(Fill(None))  # where there is no room for a segment
        found = worker.recv().parcel
        assert found.segment is None
        assert difference(load(found, segments.buffer), expected.keep()) is None
        worker.send(Forget())  # which is not answered
        worker.send(Train(8, job(None), PackedState((1,), None, (b"?",))))
        assert worker.recv() == Began(0)  # it has arrived
        raised = worker.recv()
        assert isinstance(raised, Raised)
        assert isinstance(raised.again(), pickle.UnpicklingError)
    segments.clear()


def test_a_small_state_comes_with_the_answer() -> None:
    with serving(pickle.dumps(NoisyQuadratic)) as worker:
        assert worker.recv() == Ready()
        origin = NoisyQuadratic().get_state()
        worker.send(Train(0, job(None, epochs=0), pack(origin, Segments())))
        assert isinstance([worker.recv(), worker.recv()][1], Report)
        worker.send(Pack(0))
        packed = worker.recv()
        assert isinstance(packed, Packed)
        assert difference(origin, load(packed.parcel, Segments().buffer)) is None


def asked_for(desk: worker.Desk, number: int) -> Any:
    answer = desk.answer(Pack(number))
    return load(answer.parcel, Segments().buffer) if isinstance(answer, Packed) else answer


def test_a_worker_holds_the_states_that_are_wanted_and_no_other() -> None:
    desk = worker.Desk(NoisyQuadratic(), lambda answer: None)
    origin = NoisyQuadratic().get_state()
    rates = [0.01, 0.02, 0.05, 0.1]
    wanted: list[tuple[int, ...]] = [(), (0,), (0, 1), (1, 2)]
    for number, rate in enumerate(rates):
        sent = pack(origin, Segments()) if number == 0 else None
        desk.answer(Train(number, job(None, rate), sent, wanted[number]))
    assert list(desk._held) == [1, 2]  # 0 was dealt with; 3 is in the trainer
    expected = Serial().run(
        NoisyQuadratic(), [job(origin, rate) for rate in rates], at=UNKNOWN_STATE
    )
    states = [outcome.keep() for outcome in expected]
    for number in (3, 1):
        assert difference(states[number], asked_for(desk, number)) is None
    assert list(desk._held) == [2]  # what was handed out is not held any longer
    assert desk.answer(Forget()) is None
    assert desk._held == {}


class Forgetful(NoisyQuadratic):
    """Has no state to give."""

    def get_state(self) -> Any:
        raise OSError("no state")


def test_a_state_that_cannot_be_put_aside_fails_nobody_elses_try() -> None:
    desk = worker.Desk(Forgetful(), lambda answer: None)
    desk.answer(Train(0, job(None), pack(NoisyQuadratic().get_state(), Segments())))
    assert isinstance(desk.answer(Train(1, job(None), None, (0,))), Report)
    raised = asked_for(desk, 0)
    assert isinstance(raised, Raised)
    assert str(raised.again()) == "no state"


def test_a_worker_that_cannot_find_its_factory_says_so() -> None:
    factory = pickle.dumps(NoisyQuadratic).replace(b"NoisyQuadratic", b"NoisyQuadratIc")
    with serving(factory) as worker:
        raised = worker.recv()
        assert str(raised.error).startswith("Processes: make_trainer cannot be found in a worker (")


class Leaves(NoisyQuadratic):
    def train_k(self, k: int, hyperparameters: Any) -> None:
        sys.exit(3)


def test_a_trainer_that_leaves_takes_its_worker_with_it() -> None:
    desk = worker.Desk(Leaves(), lambda answer: None)
    with pytest.raises(SystemExit):
        desk.answer(Train(0, job(None), pack(Leaves().get_state(), Segments())))


def test_a_telling_trainer_has_the_powers_of_the_one_inside_and_no_more() -> None:
    class Bare:
        def __repr__(self) -> str:
            return "Bare()"

    full = worker.Telling(NoisyQuadratic(), lambda: None)
    assert hasattr(full, "reseed")
    bare = worker.Telling(Bare(), lambda: None)  # type: ignore[arg-type]
    assert not hasattr(bare, "reseed")
    assert repr(bare) == "Bare()"


class Stubborn(Exception):
    """Cannot be made again from its arguments, as many exceptions of libraries."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def test_an_exception_that_cannot_travel_is_told_by_name() -> None:
    raised = Raised.of(Stubborn(3, "no way"))
    assert isinstance(raised.error, ContractError)
    assert str(raised.again()) == "Stubborn: no way"


class StubbornMetric(MetricError):
    """One of ours by descent, that cannot be made again from its arguments."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def test_one_of_ours_that_cannot_travel_is_told_as_the_nearest_that_can() -> None:
    class Local(StubbornMetric):
        pass

    for error in (StubbornMetric(3, "no way"), Local(3, "no way")):
        raised = Raised.of(error)
        assert type(raised.error) is MetricError
        assert str(raised.error) == f"{type(error).__name__}: no way"


class Parent:
    """A main process that lives for so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_alive(self) -> bool:
        return self.looks > 0

    def join(self, seconds: float) -> None:
        self.looks -= 1


def test_a_worker_leaves_when_the_main_process_is_gone() -> None:
    left: list[int] = []
    parent = Parent(3)
    worker.leave_after(parent, leave=left.append)
    assert (left, parent.looks) == ([1], 0)
    pids = iter([7, 7, 7, 1])
    parent = Parent(99)
    worker.leave_after(parent, leave=left.append, pid=lambda: next(pids))
    assert (left, parent.looks) == ([1, 1], 97)


@pytest.mark.parametrize("masks", [True, False], ids=["masks", "no masks"])
def test_a_worker_ignores_interrupts_and_serves(
    monkeypatch: pytest.MonkeyPatch, masks: bool
) -> None:
    before = signal.getsignal(signal.SIGINT)
    if not masks:  # as on Windows
        monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    monkeypatch.setattr(worker, "leave_after", lambda parent: None)
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    try:
        with interrupts_held():
            worker.work(theirs, pickle.dumps(NoisyQuadratic))
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
        theirs.close()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held back")
def test_an_interrupt_is_held_back_and_not_lost() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)  # to this thread; others hold nothing back
        reached = True
    assert reached


def test_exit_codes_in_words() -> None:
    assert told(0) == "it ended with exit code 0"
    assert told(-signal.SIGTERM) == "it was killed by SIGTERM"
    assert told(-99) == "it was killed by signal 99"


# Shared memory


def test_a_state_put_together_again_is_ones_own() -> None:
    segments = Segments()
    state = {"large": np.arange(20_000.0), "small": np.arange(3), "frozen": np.arange(9_000.0)}
    state["frozen"].flags.writeable = False
    parcel = pack(state, segments)
    found = load(parcel, segments.buffer)
    assert difference(state, found) is None
    found["large"][0] = found["small"][0] = 7
    assert not found["frozen"].flags.writeable
    assert load(parcel, segments.buffer)["large"][0] == 0
    segments.clear()


def test_segments_serve_again_where_they_fit() -> None:
    segments = Segments()
    first = segments.make([100_000])
    segments.let_go(first)
    assert segments.make([100_000]) == first
    assert segments.make([100_000]) != first
    segments.let_all_go()
    assert segments.make([1_000]) != first  # far too large for that
    assert len({segments.make([1_000_000]) for _ in range(3)}) == 3
    segments.let_all_go()
    assert len(segments._spare) == SPARE
    segments.let_go(None)
    segments.let_go("unknown")
    segments.clear()
    assert (segments._spare, segments._used) == ([], {})


def test_a_worker_keeps_the_last_segments_open() -> None:
    segments, openings = Segments(), Openings()
    names = [segments.make([50_000]) for _ in range(3)]
    for name in [names[0], names[1], names[0], names[2]]:
        openings.buffer(name or "")[:1] = b"x"
    assert list(openings._open) == [names[0], names[2]]
    assert all(bytes(segments.buffer(name or "")[:1]) == b"x" for name in names)
    openings.close()
    segments.clear()


def full(*args: Any, **settings: Any) -> None:
    raise OSError(errno.ENOSPC, "no space left")


@pytest.mark.parametrize(
    "where", ["dynhp.executors.pool.segments.SharedMemory", "os.posix_fallocate"]
)
def test_without_room_a_state_travels_in_messages(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    segments = Segments()
    before = set(Path("/dev/shm").glob(f"dynhp-{os.getpid()}-*"))
    monkeypatch.setattr(where, full, raising=False)
    state = np.arange(20_000.0)
    parcel = pack(state, segments)
    assert parcel.segment is None
    assert difference(state, load(parcel, segments.buffer)) is None
    assert (segments._used, segments._spare) == ({}, [])
    assert set(Path("/dev/shm").glob(f"dynhp-{os.getpid()}-*")) == before


def test_where_memory_cannot_be_reserved_it_is_taken_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    segments = Segments()
    assert segments.make([10]) is not None
    segments.clear()


def test_pieces_are_no_copies() -> None:
    array = np.zeros(10_000)
    _, piece = pieces_of(array)
    array[0] = 1.0
    assert bytes(piece[:8]) == array[:1].tobytes()
    assert fill([piece], None, Segments().buffer).sizes == (80_000,)


class Weights:
    """Memory that pickle knows nothing of, as tensors are."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw


class Derived(Weights):
    """Not of exactly the type that was registered."""


def test_a_type_can_say_how_it_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducers, "_reducers", {})
    large = bytearray(100_000)
    assert [len(pieces_of(Weights(large)))] == [1]  # all in the pickle
    register_reducer(Weights, lambda it: (Weights, (pickle.PickleBuffer(it.raw),)))
    stream, piece = pieces_of({"w": Weights(large), "also": Derived(b"x"), "z": 1j})
    assert stream.nbytes < 500
    large[0] = 7
    assert piece[0] == 7  # no copy
    segments = Segments()
    found = load(pack({"w": Weights(large)}, segments), segments.buffer)["w"]
    found.raw[0] += 1  # its own, and may be written to
    assert (bytes(found.raw[:2]), large[0]) == (b"\x08\x00", 7)
    segments.clear()


@pytest.mark.parametrize("wrong", [("Weights", len), (Weights, None)], ids=["type", "function"])
def test_what_is_no_reducer_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingsError, match="register_reducer needs a type and a function, got"):
        register_reducer(*wrong)


# Who does what, with workers that answer as the test says


class Puppet:
    """Stands for a process."""

    def __init__(self) -> None:
        self.alive = True
        self.exitcode: int | None = None

    def is_alive(self) -> bool:
        return self.alive

    def join(self, seconds: float = 0.0) -> None:
        pass

    def kill(self) -> None:
        if self.alive:
            self.alive, self.exitcode = False, -9


class Wire:
    """Stands for a connection: what is asked is answered by a function."""

    def __init__(self, answers: Callable[[Any], list[Any]]) -> None:
        self.answers = answers
        self.asked: list[Any] = []
        self.waiting: list[Any] = []
        self.closed = False

    def send(self, request: Any) -> None:
        self.asked.append(request)
        self.waiting += self.answers(request)

    def recv(self) -> Any:
        if not self.waiting:
            raise EOFError
        return self.waiting.pop(0)

    def close(self) -> None:
        self.closed = True


class Puppets(Crew):
    """A crew for which packing takes as long as the test says."""

    pace = 0.0
    packing = property(lambda self: self.pace, lambda self, seconds: None)  # type: ignore[assignment]


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A crew of puppets; ``crew.script`` makes the answers of each worker, in order of starts."""
    made = Puppets(b"", workers=2, time_limit=None)
    script: list[Callable[[Any], list[Any]]] = []
    made.script = script  # type: ignore[attr-defined]

    def start(factory: bytes) -> Lane:
        return Lane(Puppet(), Wire(script.pop(0)), ready=True)  # type: ignore[arg-type]

    monkeypatch.setattr("dynhp.executors.pool.crew.start", start)
    monkeypatch.setattr(
        "dynhp.executors.pool.crew.wait",
        lambda wires, seconds: [wire for wire in wires if wire.waiting],
    )
    yield made
    made.close()


REPORT = Report(({"loss": 1.0},), 1, None, 0.0)
STATE = Packed(fill(pieces_of("state"), None, Segments().buffer))


def prompt(request: Any) -> list[Any]:
    """A worker that does everything at once."""
    if isinstance(request, Train):
        return [Began(0), Began(1), REPORT]
    return [STATE] if isinstance(request, Pack) else []


def silent(request: Any) -> list[Any]:
    return []


def interrupted(*args: Any) -> Any:
    raise KeyboardInterrupt


def scheduled(crew: Crew, jobs: list[Job], **settings: Any) -> Dispatcher:
    return Dispatcher(Shift(crew, jobs), jobs, **({"retries": 0} | settings))


def outcomes_of(schedule: Dispatcher) -> Iterator[Outcome]:
    return (outcome for _, outcome in schedule.outcomes())


def asked_of(lane: Lane) -> list[type]:
    return [type(request) for request in lane.connection.asked]  # type: ignore[attr-defined]


def begun_and_told(crew: Crew, schedule: Dispatcher) -> None:
    """Two workers have begun, and the second has told all."""
    crew.muster(2)
    schedule._assign(ahead=False)
    for _ in range(3):  # arrived, begun, reported
        schedule._listen()


def test_a_worker_ahead_puts_its_states_aside_up_to_a_bound(crew: Any) -> None:
    crew.script += [silent, prompt]
    outcomes = outcomes_of(scheduled(crew, [job(0) for _ in range(9)]))
    looks = 0

    def wait(wires: Any, seconds: float) -> list[Any]:
        nonlocal looks
        looks += 1
        if looks == 30:  # the first is done at last
            crew.lanes[0].connection.waiting += [REPORT]
        return [wire for wire in wires if wire.waiting]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dynhp.executors.pool.crew.wait", wait)
        next(outcomes)
    # Jobs 1, 2 and 3: of twice two workers the first has one; the state of the last stays in.
    ahead = crew.lanes[1]
    asked = ahead.connection.asked
    assert asked_of(ahead) == [Train] * 3
    assert [set(request.wanted) for request in asked[1:]] == [{1}, {1, 2}]
    outcome = next(outcomes)
    assert outcome.keep() == outcome.keep() == "state"  # from where it was put aside
    assert [request for request in asked if isinstance(request, Pack)] == [Pack(1)]
    crew.calm()
    assert asked_of(ahead)[-1] is Forget
    assert ahead.holds == set()
    crew.calm()
    assert asked_of(ahead).count(Forget) == 1


def test_a_worker_waits_as_long_as_packing_takes(crew: Any) -> None:
    crew.script += [silent, prompt]
    jobs = [job(0) for _ in range(9)]
    shift = Shift(crew, jobs)
    begun_and_told(crew, Dispatcher(shift, jobs, retries=0))
    crew.pace = 100.0
    assert not shift.begin(2, jobs[2], ahead=True)
    assert 99.0 < shift._patience <= 100.0
    assert list(shift.listen()) == []
    assert asked_of(crew.lanes[1]) == [Train]
    crew.pace = 0.0
    assert not shift.begin(2, jobs[2], ahead=False)
    assert asked_of(crew.lanes[1]) == [Train]
    assert shift.begin(2, jobs[2], ahead=True)
    assert shift._patience == float("inf")
    assert asked_of(crew.lanes[1]) == [Train, Train]


@pytest.mark.parametrize("late", [STATE, Weighed((10,)), "lost"], ids=["packed", "weighed", "lost"])
def test_a_state_that_is_not_wanted_any_more(crew: Any, late: Any) -> None:
    """It was asked for, but whoever did that did not wait for it."""
    crew.script += [prompt, prompt, prompt]
    outcomes = outcomes_of(scheduled(crew, [job(0) for _ in range(4)]))
    first = next(outcomes)
    asked = crew.lanes[0]
    asked.connection.answers = silent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "listen", interrupted)
        with pytest.raises(KeyboardInterrupt):
            first.keep()
    assert asked.asked == Pack(0)
    assert next(outcomes).series == REPORT.series  # number 0 is dealt with
    if late == "lost":
        asked.process.alive, asked.process.exitcode = False, -9
    else:
        asked.connection.answers = prompt
        asked.connection.waiting += [late]
    assert len(list(outcomes)) == 2
    assert (asked in crew.lanes) == (late != "lost")
    assert crew.segments._used == {}


@pytest.mark.parametrize("times", [1, 2])
def test_what_get_state_raises_is_raised_by_keep(crew: Any, times: int) -> None:
    def breaks(request: Any) -> list[Any]:
        return [Raised.of(ValueError("no state"))] if isinstance(request, Pack) else prompt(request)

    crew.script += [breaks] * 2
    outcomes = outcomes_of(scheduled(crew, [job(0)] * 2))
    outcome = next(outcomes)
    for _ in range(times):
        with pytest.raises(ValueError, match="no state"):
            outcome.keep()
    assert next(outcomes).series == REPORT.series


def test_racing_origins_are_sent_with_each_job_and_let_go(crew: Any) -> None:
    crew.script += [prompt, prompt]
    origins = [np.full(9_000, float(place)) for place in range(4)]
    jobs = [job(origin) for origin in origins]
    outcomes = outcomes_of(scheduled(crew, jobs))
    assert len([outcome.series for outcome in outcomes]) == 4
    sent = [r for lane in crew.lanes for r in lane.connection.asked if isinstance(r, Train)]
    assert all(request.origin.segment for request in sent)
    assert {lane.origin for lane in crew.lanes} == {UNKNOWN_STATE}
    assert crew.segments._used == {}


def test_a_job_that_raises_when_repeated_raises(crew: Any) -> None:
    crew.script += [prompt, lambda request: [Raised.of(ValueError("now"))]]
    outcome = next(outcomes_of(scheduled(crew, [job(0)], retries=1)))
    (lane,) = crew.lanes
    lane.process.alive = False
    crew.idle()
    with pytest.raises(ValueError, match="now"):
        outcome.keep()


def dying(request: Any) -> list[Any]:
    """Looks alive, but will not read what it is asked."""
    return ["EOF"]


def ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the connection to one that is dying end when one listens."""
    hear = Wire.recv

    def recv(self: Wire) -> Any:
        if (answer := hear(self)) == "EOF":
            raise EOFError
        return answer

    monkeypatch.setattr(Wire, "recv", recv)


@pytest.mark.parametrize(("deaths", "survives"), [(2, True), (3, False)])
def test_a_job_given_to_a_dying_worker_has_lost_nothing(
    crew: Any, monkeypatch: pytest.MonkeyPatch, deaths: int, survives: bool
) -> None:
    """As after a kill that takes a while; but no more often than there are workers."""
    ending(monkeypatch)
    crew.script += [dying] * deaths + [prompt]
    outcome = next(outcomes_of(scheduled(crew, [job(0)], retries=0)))
    assert outcome.error == (
        None
        if survives
        else "WorkerLost: its worker was lost 1 times, at last in epoch 0: it was killed by SIGKILL"
    )


def test_a_state_is_made_again_though_the_first_to_be_asked_is_dying(
    crew: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that has it is killed, and the one that is to make it again is being killed."""
    ending(monkeypatch)
    crew.script += [prompt, prompt, dying, prompt]
    schedule = scheduled(crew, [job(0) for _ in range(2)], retries=1)
    outcomes = outcomes_of(schedule)
    outcome = next(outcomes)
    holder, other = crew.lanes
    assert holder.holds == {0}
    holder.connection.answers = silent
    holder.process.kill()
    assert outcome.keep() == "state"
    assert (schedule._losses, schedule._missed) == ({0: 1}, {0: 1})
    assert asked_of(other) == [Train]
    assert next(outcomes).keep() == "state"


def test_in_any_order_the_first_to_end_comes_first(crew: Any) -> None:
    crew.script += [silent, prompt]
    outcomes = scheduled(crew, [job(0) for _ in range(9)], in_order=False).outcomes()
    # Without a bound: nothing is put aside where all is handed out at once.
    assert [next(outcomes)[0] for _ in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert asked_of(crew.lanes[1]) == [Train] * 8
    crew.lanes[0].connection.waiting += [REPORT]
    assert [number for number, _ in outcomes] == [0]


def test_keep_waits_for_a_worker_that_has_run_ahead_while_others_go_on(crew: Any) -> None:
    crew.script += [silent, prompt]
    schedule = scheduled(crew, [job(0) for _ in range(9)])
    outcomes = outcomes_of(schedule)
    begun_and_told(crew, schedule)
    slow, ahead = crew.lanes
    ahead.connection.answers = silent
    schedule._assign(ahead=True)
    assert ahead.asked[::3] == (2, (1,))  # job 2 is under way, and the state of job 1 held
    slow.connection.answers = prompt
    slow.connection.waiting += [REPORT]
    next(outcomes)
    second = next(outcomes)
    listen, looks = crew.listen, iter(range(99))

    def ends_late(patience: float) -> list[Any]:
        if next(looks) == 20:
            ahead.connection.answers = prompt
            ahead.connection.waiting += [REPORT]
        return listen(patience)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "listen", ends_late)
        assert second.keep() == "state"
    assert asked_of(ahead)[:3] == [Train, Train, Pack]
    assert asked_of(slow) == [Train, Train, Train]  # jobs 0, 3 and 4: up to the bound
    assert len(list(outcomes)) == 7


def lane(limit_passed: float = 0.0, **settings: Any) -> Lane:
    made = Lane(Puppet(), Wire(silent), **settings)  # type: ignore[arg-type]
    made.since -= limit_passed
    return made


def test_when_a_worker_is_overdue() -> None:
    assert lane(99.0, ready=True).overdue(None) is None
    assert lane(99.0, ready=False).overdue(5.0) is None  # it is still starting
    assert lane(1.0, ready=True).overdue(5.0) is None
    late = lane(6.0, ready=True)
    assert late.overdue(5.0) == Lost("it took longer than time_limit=5.0 s")
    assert not late.process.is_alive()
    dead = lane(ready=True)
    dead.process.kill()
    assert dead.overdue(None) == Lost("it was killed by SIGKILL")


def test_the_clock_of_a_worker_starts_when_it_is_ready() -> None:
    starting = lane(100.0)
    starting.connection.waiting += [Ready()]  # type: ignore[attr-defined]
    assert starting.hear() == Ready()
    left = starting.left(10.0)
    assert left is not None
    assert 9.0 < left <= 10.0


def test_what_was_answered_in_time_counts_however_late_one_listens(crew: Any) -> None:
    crew.script += [prompt]
    crew._time_limit = 5.0
    outcomes = outcomes_of(scheduled(crew, [job(0)]))
    crew.muster(1)
    ask = handle.Lane.ask
    with pytest.MonkeyPatch.context() as patch:

        def long_ago(self: Lane, request: Any) -> None:
            ask(self, request)
            self.since -= 100.0

        patch.setattr(Lane, "ask", long_ago)
        assert next(outcomes).error is None


def test_a_worker_killed_while_it_starts_is_bad_luck_one_that_ends_is_not(crew: Any) -> None:
    crew.script += [prompt]
    crew.muster(1)
    (starting,) = crew.lanes
    starting.ready = False
    starting.process.exitcode = -9
    assert crew._checked(starting, Lost("killed")) == Lost("killed")
    starting.process.exitcode = 1
    with pytest.raises(SettingsError, match=r"able to start, but it ended \(its own message"):
        crew._checked(starting, Lost("it ended"))
    assert crew._checked(starting, Began(0)) == Began(0)


@pytest.mark.parametrize(("limit", "allowed"), [(1.0, 60.0), (20.0, 200.0)])
def test_a_worker_that_does_not_get_ready_is_an_error_with_a_limit(
    crew: Any, limit: float, allowed: float
) -> None:
    crew.script += [silent]
    crew._time_limit = limit
    outcomes = outcomes_of(scheduled(crew, [job(0)]))
    crew.muster(1)
    (starting,) = crew.lanes
    starting.ready = False
    starting.ask(Train(0, job(0), None))
    starting.since -= allowed - 5.0
    assert crew.listen(0.0) == []
    starting.since -= 6.0
    with pytest.raises(SettingsError, match=rf"in a worker in {allowed:g} s .*, and still does; "):
        next(outcomes)


def test_without_a_limit_a_slow_start_is_told_once(
    crew: Any, caplog: pytest.LogCaptureFixture
) -> None:
    crew.script += [silent]
    crew.muster(1)
    (starting,) = crew.lanes
    starting.ready = False
    starting.ask(Train(0, job(0), None))
    for seconds, words in ((0.0, 0), (29.0, 0), (2.0, 1), (99.0, 1)):
        starting.since -= seconds
        assert crew.listen(0.0) == []
        assert len(caplog.messages) == words
    assert caplog.messages[0].startswith("Processes: make_trainer has been building a trainer in ")


def test_the_origin_of_a_round_that_is_over_is_let_go(crew: Any) -> None:
    crew.script += [prompt, prompt]
    one, other = ["one"], ["other"]
    assert len(list(outcomes_of(scheduled(crew, [job(one), job(one)])))) == 2
    crew.calm()
    assert [lane.origin for lane in crew.lanes] == [one, one]  # a second wave may start from there
    assert len(list(outcomes_of(scheduled(crew, [job(other)])))) == 1
    assert {id(lane.origin) for lane in crew.lanes} == {id(other), id(UNKNOWN_STATE)}


@pytest.mark.parametrize("selection", [None, Racing()])
def test_a_whole_run_is_that_of_serial(executor: Processes, selection: Any) -> None:
    found = []
    for who in (Serial(), executor):
        trainer = LARGE()
        adapter = DynamicGridAdapter(
            trainer,
            {"lr": [0.01, 0.02, 0.05, 0.1, 0.2]},
            criterion=lowest("loss"),
            adapt_every=3,
            try_for=2,
            selection=selection,
            executor=who,
        )
        found.append((adapter.run(9), trainer.get_state()))
    assert found[0][0] == found[1][0]
    assert difference(found[0][1], found[1][1]) is None
