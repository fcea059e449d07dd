"""The workers of an executor: started when they are needed, replaced when they die, ended."""

from __future__ import annotations

import atexit
import logging
import os
import time
from multiprocessing.connection import wait

from dynhp.errors import SettingsError
from dynhp.executors.pool.handle import PATIENCE, Lane, interrupts_held, start
from dynhp.executors.pool.messages import Answer, Lost, Raised
from dynhp.executors.pool.segments import Segments

__all__ = ["Crew"]

_LOOK_UP = 1.0  # seconds between two looks whether silent workers are alive
_SLOW = 30.0  # seconds for starting after which a word is due
_START = 10, 60.0  # times the limit of a try, and seconds at least, in which a worker must start


class Crew:
    """Workers, and the shared memory between them and the main process."""

    def __init__(self, factory: bytes, *, workers: int, time_limit: float | None) -> None:
        self._factory = factory
        self._time_limit = time_limit
        self._slow_told = False
        self._process = os.getpid()
        self.workers = workers
        self.lanes: list[Lane] = []
        self.segments = Segments()
        self.packing = 0.0  # seconds it takes to pack a state

    def muster(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        if not self.lanes:
            # After multiprocessing was imported, so before it waits at exit for its processes.
            atexit.unregister(self.close)
            atexit.register(self.close)
        while len(self.lanes) < min(count, self.workers):
            with interrupts_held():
                self.lanes.append(start(self._factory))

    def idle(self) -> list[Lane]:
        """The workers with nothing to do; those that died meanwhile are replaced first."""
        for lane in list(self.lanes):
            if lane.asked is None and not lane.process.is_alive():
                self.replace(lane)
        return [lane for lane in self.lanes if lane.asked is None]

    def listen(self, patience: float) -> list[tuple[Lane, Answer | Lost]]:
        """What busy workers answer, one answer each; after so many seconds perhaps nothing."""
        busy = [lane for lane in self.lanes if lane.asked is not None]
        # What has been answered counts, however late one listens: limits come second.
        readable = wait([lane.connection for lane in busy], self._patience(busy, patience))
        heard: list[tuple[Lane, Answer | Lost]] = []
        for lane in busy:
            if lane.connection in readable:
                heard.append((lane, self._checked(lane, lane.hear())))
            elif (lost := lane.overdue(self._time_limit)) is not None:
                heard.append((lane, lost))
            elif not lane.ready:
                self._wait_for_start(time.monotonic() - lane.since)
        return heard

    def _wait_for_start(self, seconds: float) -> None:
        """Say that a worker takes long to start, or stop where it takes too long."""
        if self._time_limit is not None:
            times, least = _START
            allowed = max(times * self._time_limit, least)
            if seconds > allowed:
                raise SettingsError(
                    f"Processes: make_trainer must build a trainer in a worker in {allowed:g} s "
                    f"({times} times time_limit={self._time_limit}, {least:g} s at least), and "
                    "still does; raise time_limit, or let it do less"
                )
        elif seconds > _SLOW and not self._slow_told:
            self._slow_told = True
            logging.getLogger("dynhp").warning(
                "Processes: make_trainer has been building a trainer in a worker for %g s, and "
                "may take for ever; with time_limit= that would be an error",
                _SLOW,
            )

    def _patience(self, busy: list[Lane], patience: float) -> float:
        left = [lane.left(self._time_limit) for lane in busy]
        return max(0.0, min([patience, _LOOK_UP, *(each for each in left if each is not None)]))

    def _checked(self, lane: Lane, answer: Answer | Lost) -> Answer | Lost:
        """The answer, unless the worker could not even start: that is nobody's bad luck."""
        if lane.ready:
            return answer
        if isinstance(answer, Raised):
            raise SettingsError(
                "Processes: make_trainer must build a trainer in a worker, got "
                f"{type(answer.error).__name__}: {answer.error}"
            ) from answer.again()
        if isinstance(answer, Lost) and (lane.process.exitcode or 0) >= 0:
            raise SettingsError(
                f"Processes: a worker must be able to start, but {answer.why} (its own message "
                "is above); a script that starts workers needs its code under "
                "if __name__ == '__main__':"
            )
        return answer

    def replace(self, lane: Lane) -> None:
        """Start a new worker instead of one that has ended."""
        lane.end(0)
        self.lanes.remove(lane)
        self.muster(len(self.lanes) + 1)

    def calm(self) -> None:
        """End the workers that are still busy, forget what the others hold, free the memory."""
        busy = [lane for lane in self.lanes if lane.asked is not None]
        self._end(busy, 0)
        for lane in self.lanes:
            lane.forget()
        self.segments.let_all_go()

    def close(self) -> None:
        """End all workers and free the memory; the next run starts new ones."""
        if os.getpid() != self._process:  # a fork of the main process has no say
            return
        self.calm()
        for lane in self.lanes:
            lane.connection.close()  # all at once, then wait for each
        self._end(list(self.lanes), PATIENCE)
        self.segments.clear()
        atexit.unregister(self.close)

    def _end(self, lanes: list[Lane], patience: float) -> None:
        for lane in lanes:
            lane.end(patience)
            self.lanes.remove(lane)
