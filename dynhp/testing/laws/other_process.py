"""The same experiment in another process, started from nothing but a pickle."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from dynhp.records import Candidate
from dynhp.testing.laws.probe import Subject, Trace, error_line
from dynhp.trainer import State

START = "from dynhp.testing.laws.other_process import serve; serve(0, 1, 2)"


class OtherProcessFailed(Exception):
    """The experiment could not be carried out in another process; the text says why."""


def follow_in_other_process(
    subject: Subject, starts: Sequence[tuple[State, Candidate]]
) -> list[Trace | str]:
    """Follow a new trainer from each start in another process: traces, or what was raised.

    A plain subprocess, not multiprocessing: that would run the caller's script once more.
    """
    try:
        payload = pickle.dumps((subject, list(starts)))
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
    return _answer(child)


def _answer(child: subprocess.CompletedProcess[bytes]) -> list[Trace | str]:
    if child.returncode != 0:
        last = child.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise OtherProcessFailed(
            f"the other process ended with {child.returncode}: {''.join(last)}"
        )
    reason: str
    traces: list[Trace | str]
    reason, traces = pickle.loads(child.stdout)
    if reason:
        raise OtherProcessFailed(reason)
    return traces


def serve(source: int, out: int, err: int) -> None:
    """The other process' side: read an experiment, carry it out, write what was seen."""
    with os.fdopen(os.dup(source), "rb") as question, os.fdopen(os.dup(out), "wb") as answer:
        os.dup2(err, out)  # what the trainer prints must not mix with the answer
        answer.write(carry_out(question.read()))


def carry_out(message: bytes) -> bytes:
    """From a pickled experiment to a pickled answer: a reason why not, or the traces."""
    sys.path[:], payload = pickle.loads(message)
    try:
        subject, starts = pickle.loads(payload)
    except Exception as error:
        line = error_line(error)
        reason = f"make or the state cannot be unpickled there ({line}); move them to a module"
        return pickle.dumps((reason, []))
    traces = [_trace(subject, state, candidate) for state, candidate in starts]
    try:
        return pickle.dumps(("", traces))
    except Exception as error:
        return pickle.dumps((f"the state there cannot be pickled ({error_line(error)})", []))


def _trace(subject: Subject, state: State, candidate: Candidate) -> Trace | str:
    try:
        return subject.follow(state, candidate)
    except Exception as error:
        return error_line(error)
