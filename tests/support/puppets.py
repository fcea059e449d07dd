"""Workers that answer as a test says: a transport of puppets, for a real pool and dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dynhp.executors.contract import Job, Outcome
from dynhp.executors.pool.dispatcher import Dispatcher
from dynhp.executors.pool.processes import ProcessChannel, ProcessTransport
from dynhp.executors.pool.shared_memory import Segments, pack
from dynhp.executors.pool.transport import Began, Packed, PackRequest, TrainRequest, TryReport
from dynhp.executors.pool.workers import WorkerHandle, WorkerPool
from dynhp.records import Candidate

Answers = Callable[[Any], list[Any]]


def job(origin: Any, rate: float = 0.1, **settings: Any) -> Job:
    given: dict[str, Any] = {"origin": origin, "epochs": 2, "watch": ("loss",)}
    return Job(candidate=Candidate({"lr": rate}), **(given | settings))


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

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[Any] = []
        self.waiting: list[Any] = []
        self.closed = False

    def send(self, request: Any) -> None:
        self.asked.append(request)
        self.waiting += self.answers(request)

    def recv(self) -> Any:
        if not self.waiting or (answer := self.waiting.pop(0)) == "EOF":
            raise EOFError
        return answer

    def close(self) -> None:
        self.closed = True


class PuppetTransport(ProcessTransport):
    """Starts puppets; ``script`` has the answers of each worker, in the order of their starts."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.script: list[Answers] = []
        self.waits: list[float] = []
        self.slow_starts: list[float] = []

    def start(self) -> ProcessChannel:
        wire: Any = Wire(self.script.pop(0))
        process: Any = Puppet()
        return ProcessChannel(process, wire, self.segments)

    def wait(self, channels: Sequence[ProcessChannel], seconds: float) -> list[ProcessChannel]:
        self.waits.append(seconds)
        return [channel for channel in channels if wire_of(channel).waiting]

    def report_slow_start(self, seconds: float) -> None:
        self.slow_starts.append(seconds)
        super().report_slow_start(seconds)


class RemotePuppets(PuppetTransport):
    """Puppets on other machines."""

    remote = True


class PuppetPool(WorkerPool):
    """A pool for which packing takes as long as the test says, and whose workers start at once."""

    pace = 0.0
    transport: PuppetTransport
    _packing = property(lambda self: self.pace, lambda self, seconds: None)  # type: ignore[assignment]

    def start_workers(self, count: int) -> None:
        before = len(self.workers)
        super().start_workers(count)
        for worker in self.workers[before:]:
            worker.ready = True


def wire_of(worker: WorkerHandle | ProcessChannel) -> Wire:
    channel: Any = worker.channel if isinstance(worker, WorkerHandle) else worker
    assert isinstance(channel.connection, Wire)
    return channel.connection


def puppet_of(worker: WorkerHandle) -> Puppet:
    channel: Any = worker.channel
    assert isinstance(channel.process, Puppet)
    return channel.process


REPORT = TryReport(({"loss": 1.0},), 1, None, 0.0)
STATE = Packed(pack("state", Segments()))


def prompt(request: Any) -> list[Any]:
    """A worker that does everything at once."""
    if isinstance(request, TrainRequest):
        return [Began(0), Began(1), REPORT]
    return [STATE] if isinstance(request, PackRequest) else []


def silent(request: Any) -> list[Any]:
    return []


def dying(request: Any) -> list[Any]:
    """Looks alive, but will not read what it is asked."""
    return ["EOF"]


def dispatcher_of(pool: WorkerPool, jobs: list[Job], **settings: Any) -> Dispatcher:
    return Dispatcher(pool, jobs, **({"retries": 0} | settings))


def outcomes_of(dispatcher: Dispatcher) -> Iterator[Outcome]:
    return (outcome for _, outcome in dispatcher.outcomes())


def asked_of(worker: WorkerHandle) -> list[type]:
    return [type(request) for request in wire_of(worker).asked]
