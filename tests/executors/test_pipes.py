"""Messages in parts: a worker that stops in the middle of one holds nobody up."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from dynhp.executors import Processes
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool import pipes
from dynhp.executors.pool.pipes import NearEnd, near_end, wait_for
from dynhp.executors.pool.shared_memory import Segments
from dynhp.executors.pool.workers import WorkerHandle
from dynhp.testing import NoisyQuadratic, difference
from tests.support.processes import pids_of, process_of
from tests.support.puppets import job

SIZE = 500_000  # a state of 4 MB, far more than a pipe holds


class StopsInSend(NoisyQuadratic):
    """Its worker stops in the middle of the first large message that it sends."""

    def __init__(self, folder: Path, main: int) -> None:
        super().__init__(dimensions=SIZE)
        if os.getpid() != main and not (folder / "stopped").exists():
            whole = Connection._send_bytes  # type: ignore[attr-defined]

            def half(self: Any, message: Any) -> None:
                if len(message) > 1_000_000:
                    self._send(pipes.SIZE.pack(len(message)) + bytes(message[: len(message) // 2]))
                    (folder / "stopped").touch()
                    os.kill(os.getpid(), signal.SIGSTOP)
                whole(self, message)

            Connection._send_bytes = half  # type: ignore[attr-defined]


@pytest.fixture
def in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no shared memory, so that states travel in messages."""
    monkeypatch.setattr(Segments, "make", lambda *_: None)


@pytest.fixture
def stopped_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit of a worker has passed when it is stopped, and never before."""

    def seconds_left(worker: WorkerHandle, limit: float | None) -> float | None:
        pid = process_of(worker).pid or 0
        how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        return None if os.waitid(os.P_PID, pid, how) is None else -1.0

    monkeypatch.setattr(WorkerHandle, "seconds_left", seconds_left)


def kept(executor: Processes, trainer: NoisyQuadratic) -> list[Any]:
    jobs = [job(trainer.get_state(), rate) for rate in (0.1, 0.2)]
    return [outcome.keep() for outcome in executor.run(trainer, jobs, at=UNKNOWN_STATE)]


@pytest.mark.usefixtures("in_messages", "stopped_is_late")
def test_a_worker_that_stops_while_it_sends_a_state_is_replaced_in_time(tmp_path: Path) -> None:
    make = functools.partial(StopsInSend, tmp_path, os.getpid())
    with Processes(make, workers=1, time_limit=3600.0, retries=1) as executor:
        states = kept(executor, make())
    assert (tmp_path / "stopped").exists()
    with Processes(functools.partial(NoisyQuadratic, dimensions=SIZE), workers=1) as executor:
        expected = kept(executor, make())
    assert difference(expected, states) is None


@pytest.mark.usefixtures("in_messages", "stopped_is_late")
def test_a_worker_that_stops_before_it_has_read_a_state_is_replaced_in_time() -> None:
    make = functools.partial(NoisyQuadratic, dimensions=SIZE)
    with Processes(make, workers=1, time_limit=3600.0, retries=1) as executor:
        expected = kept(executor, make())
        (pid,) = pids_of(executor)
        os.kill(pid, signal.SIGSTOP)
        assert difference(expected, kept(executor, make())) is None
        assert pids_of(executor) != [pid]


@pytest.fixture
def ends() -> Iterator[tuple[NearEnd, Any]]:
    near, far = multiprocessing.Pipe()
    end = near_end(near)
    assert isinstance(end, NearEnd)
    yield end, far
    end.close()
    far.close()


def test_a_message_comes_when_it_is_whole(ends: tuple[NearEnd, Any]) -> None:
    near, far = ends
    assert wait_for([near], 0.0) == []
    assert near.recv() is None
    body = pickle.dumps("a message")
    for size in (pipes.SIZE.pack(len(body)), pipes.SIZE.pack(-1) + pipes.LARGE.pack(len(body))):
        for byte in (size + body)[:-1]:
            far._send(bytes([byte]))
            assert wait_for([near], 60.0) == [near]
            assert near.recv() is None
        far._send(body[-1:])
        far.send("another")
        assert [near.recv(), near.recv(), near.recv()] == ["a message", "another", None]
    far.close()
    with pytest.raises(EOFError):
        near.recv()


def test_what_there_is_no_room_for_is_sent_later(ends: tuple[NearEnd, Any]) -> None:
    near, far = ends
    messages = [bytes(5_000_000), "small"]
    for message in messages:
        near.send(message)
    assert near.is_sending()
    received: list[Any] = []
    reader = threading.Thread(target=lambda: received.extend([far.recv(), far.recv()]))
    reader.start()
    while near.is_sending():
        assert wait_for([near], 60.0) == []
    reader.join()
    assert received == messages


def test_where_the_other_end_is_gone_nothing_more_is_sent(ends: tuple[NearEnd, Any]) -> None:
    near, far = ends
    near.send(bytes(5_000_000))
    far.close()
    assert near.is_sending()
    assert wait_for([near], 60.0) == [near]
    assert not near.is_sending()
    with pytest.raises((EOFError, OSError)):
        near.recv()
    with pytest.raises(OSError, match="Broken pipe"):
        near.send("more")


def test_the_size_of_a_huge_message_is_written_as_connections_read_it(
    ends: tuple[NearEnd, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = ends
    monkeypatch.setattr(pipes, "HUGE", 10)
    near.send("longer than that")
    assert far.recv() == "longer than that"
