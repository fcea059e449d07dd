"""The same experiment in another process, started from nothing but a pickle."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from dynhp.records import Candidate
from dynhp.testing.laws.experiments import Line, Subject, error_line
from dynhp.trainer import State

START = "from dynhp.testing.laws import other_process as o; o.hurry_clocks(); o.serve(0, 1, 2)"


HURRY = 60.0
"""By this many seconds the clocks there go ahead each time that they are looked at."""


class OtherProcessFailed(Exception):
    """The experiment could not be carried out in another process; the text says why."""


def follow_in_other_process(
    subject: Subject, starts: Sequence[tuple[State, Candidate]]
) -> list[Line | str]:
    """Follow a new trainer from each start in another process: lines, or what was raised.

    A plain subprocess, not multiprocessing: that would run the caller's script once more.
    """
    try:
        payload = pickle.dumps((replace(subject, memory={}), list(starts)))
    except Exception as error:
        raise OtherProcessFailed(
            f"make or the state cannot be pickled ({error_line(error)}); use a function or class "
            "of a module instead of a lambda or a closure"
        ) from error
    child = subprocess.run(
        [sys.executable, "-c", START],
        input=pickle.dumps((sys.path, payload)),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if child.returncode != 0:
        last = child.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise OtherProcessFailed(
            f"the other process ended with {child.returncode}: {''.join(last)}"
        )
    reason: str
    lines: list[Line | str]
    reason, lines = pickle.loads(child.stdout)
    if reason:
        raise OtherProcessFailed(reason)
    return lines


def serve(source: int, out: int, err: int) -> None:
    """The other process' side: read an experiment, carry it out, write what was seen."""
    with os.fdopen(os.dup(source), "rb") as question, os.fdopen(os.dup(out), "wb") as answer:
        os.dup2(err, out)  # what the trainer prints must not mix with the answer
        answer.write(carry_out(question.read()))


def hurry_clocks() -> None:
    """Let the clocks run fast, so that a trainer that looks at them gives another result."""

    def hurried(clock: Callable[[], float]) -> Callable[[], float]:
        looks = itertools.count()
        return lambda: clock() + HURRY * next(looks)

    for name in ("time", "perf_counter"):
        setattr(time, name, hurried(getattr(time, name)))


def carry_out(message: bytes) -> bytes:
    """From a pickled experiment to a pickled answer: a reason why not, or the lines."""
    sys.path[:], payload = pickle.loads(message)
    try:
        subject, starts = pickle.loads(payload)
    except Exception as error:
        line = error_line(error)
        reason = f"make or the state cannot be unpickled there ({line}); move them to a module"
        return pickle.dumps((reason, []))
    lines: list[Line | str] = []
    # From the last to the first: what is kept in the process then comes from another start.
    for state, candidate in reversed(starts):
        try:
            lines.insert(0, subject.follow(state, candidate))
        except Exception as error:
            lines.insert(0, error_line(error))
    try:
        return pickle.dumps(("", lines))
    except Exception as error:
        return pickle.dumps((f"the state there cannot be pickled ({error_line(error)})", []))
