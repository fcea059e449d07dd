"""The other process of the law restore: what is sent there, what comes back, what cannot."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import LawBroken
from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp.testing import NoisyQuadratic, trainer_checks
from dynhp.testing.laws import restore
from dynhp.testing.laws.experiments import Subject, error_line, line_difference
from dynhp.testing.laws.other_process import (
    OtherProcessFailed,
    carry_out,
    follow_in_other_process,
    hurry_clocks,
    serve,
)
from tests.support.messages import raises

LR = Candidate({"lr": 0.1})


def subject(make: Any = NoisyQuadratic) -> Subject:
    return Subject(make=make, space=Space({"lr": [0.1]}), epochs=2, another_process=True)


def served(make: Any, state: Any) -> Any:
    payload = pickle.dumps((subject(make), [(state, LR)]))
    return pickle.loads(carry_out(pickle.dumps((sys.path, payload))))


def test_the_other_process_answers_with_the_same_trace() -> None:
    state = NoisyQuadratic().get_state()
    (trace,) = follow_in_other_process(subject(), [(state, LR)])
    here = subject().follow(state, LR)
    assert not isinstance(trace, str)
    assert line_difference(here, trace) is None
    assert len(trace.series) == 3


def test_its_side_of_it() -> None:
    reason, (trace,) = served(NoisyQuadratic, NoisyQuadratic().get_state())
    assert reason == ""
    assert trace.series[-1]["steps"] == 3.0


def test_the_answer_is_kept_apart_from_what_is_printed(tmp_path: Path) -> None:
    payload = pickle.dumps((subject(), []))
    (tmp_path / "source").write_bytes(pickle.dumps((sys.path, payload)))
    with (
        (tmp_path / "source").open("rb") as source,
        (tmp_path / "out").open("wb") as out,
        (tmp_path / "err").open("wb") as err,
    ):
        serve(source.fileno(), out.fileno(), err.fileno())
        out.write(b"printed later")
    assert pickle.loads((tmp_path / "out").read_bytes()) == ("", [])
    assert (tmp_path / "err").read_bytes() == b"printed later"


def test_an_exception_there_is_told() -> None:
    assert served(NoisyQuadratic, {}) == ("", ["KeyError: 'weights'"])


def test_what_cannot_be_found_there_is_a_reason() -> None:
    payload = pickle.dumps((subject(), [])).replace(b"NoisyQuadratic", b"NoisyQuadratIc")
    reason, traces = pickle.loads(carry_out(pickle.dumps((sys.path, payload))))
    assert reason.startswith("make or the state cannot be unpickled there (AttributeError: ")
    assert traces == []


class UnpicklableState(NoisyQuadratic):
    def get_state(self) -> Any:
        return {**super().get_state(), "function": lambda: None}


def test_a_state_that_cannot_come_back_is_a_reason() -> None:
    reason, traces = served(UnpicklableState, NoisyQuadratic().get_state())
    assert reason.startswith("the state there cannot be pickled (")
    assert traces == []


def answering(monkeypatch: pytest.MonkeyPatch, **answer: Any) -> None:
    child = subprocess.CompletedProcess("", **{"returncode": 0, "stderr": b"", **answer})
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: child)


def test_a_process_that_dies_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, returncode=-9, stderr=b"Traceback\nMemoryError\n")
    with raises(OtherProcessFailed):
        follow_in_other_process(subject(), [])


def test_a_reason_from_there_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, stdout=pickle.dumps(("no such module", [])))
    assert restore.check(subject()) == ("not tried in another process: no such module",)


def test_an_exception_there_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, stdout=pickle.dumps(("", ["KeyError: 'x'"] * 2)))
    with raises(LawBroken):
        restore.check(subject())


def test_clocks_there_go_ahead_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)
    hurry_clocks()
    assert [time.time(), time.time(), time.time()] == [1000.0, 1060.0, 1120.0]
    assert [time.perf_counter(), time.perf_counter()] == [5.0, 65.0]


def test_it_can_be_left_out() -> None:
    checks = dict(trainer_checks(NoisyQuadratic, {"lr": [0.1]}, another_process=False))
    assert checks["restore"]() == ("not tried in another process: not asked for",)


def test_an_exception_without_words_is_told_by_its_type() -> None:
    assert error_line(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert error_line(ValueError("a\n  b")) == "ValueError: a b"


CHATTY = """
from dynhp.testing import NoisyQuadratic

class Chatty(NoisyQuadratic):
    def __init__(self):
        super().__init__()
        print("hello")
"""


def test_what_a_trainer_prints_there_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chatty_trainer.py").write_text(CHATTY)
    monkeypatch.syspath_prepend(tmp_path)
    chatty = importlib.import_module("chatty_trainer").Chatty
    (trace,) = follow_in_other_process(subject(chatty), [(NoisyQuadratic().get_state(), LR)])
    assert not isinstance(trace, str)
    assert capfd.readouterr() == ("", "")
