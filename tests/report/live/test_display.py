"""The live view hears of quick rounds at their ends only, and shows the same in the end."""

from __future__ import annotations

import io
import math
import re
import time
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.middleware.display import StretchBegins, TryScored
from dynhp.records import Round
from dynhp.report import LiveDisplay
from dynhp.testing import Quadratic
from tests.support.terminal import Terminal, screen_of

pytest.importorskip("rich")


class CountsMoments(LiveDisplay):
    """A live view that counts what it is called with."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.kinds: list[type] = []

    def __call__(self, moment: Any) -> None:
        self.kinds.append(type(moment))
        super().__call__(moment)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in {"COLUMNS": "80", "LINES": "20", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


def a_run(progress: Any, epochs: int = 400, **settings: Any) -> None:
    given: dict[str, Any] = {"adapt_every": 5, "try_for": 1, "check": "off"} | settings
    space = {"lr": [0.01, 0.1, 0.5]}
    DynamicGridAdapter(Quadratic(), space, criterion=lowest("loss"), **given).run(
        epochs, progress=progress
    )


def test_between_two_pictures_it_hears_of_rounds_alone(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)  # the second picture never comes
    monkeypatch.setattr("dynhp.middleware.display.monotonic", lambda: 1000.0)
    monkeypatch.setattr("dynhp.middleware.display.QUICK", math.inf)
    shown = CountsMoments(stream=terminal)
    a_run(shown)
    assert shown.kinds.count(Round) == 80
    assert shown.kinds.count(StretchBegins) < 40
    assert "epoch 400/400" in screen_of(terminal.getvalue())[0]
    assert shown.quiet_until == math.inf  # it is closed


def test_of_a_round_that_is_soon_over_all_tries_are_shown_with_their_scores(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp.report.live.pause.SHARE", 0)
    monkeypatch.setattr("dynhp.report.live.screen.Pause.is_over", lambda *_, **__: True)
    monkeypatch.setattr("dynhp.report.live.display.SILENCE", 3600.0)  # however slow the machine is
    monkeypatch.setattr("dynhp.middleware.display.QUICK", 0.0)
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 3600.0)  # none after the first round's
    a_run(LiveDisplay(stream=terminal), epochs=20)
    text = terminal.getvalue()
    assert set(re.findall(r"(\d+)  3 tries, \d to go", text)) == {"0"}  # its pace is not known yet
    assert set(re.findall(r"(\d+)  trains on", text)) == {"0", "1", "2", "3"}


def test_lines_come_of_rounds_and_inside_of_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = CountsMoments(stream=io.StringIO()), CountsMoments(stream=io.StringIO())
    monkeypatch.setattr("dynhp.middleware.display.QUICK", math.inf)
    a_run(few)
    monkeypatch.setattr("dynhp.middleware.display.QUICK", 0.0)
    a_run(many, adapt_every=200, try_for=50)
    assert few.kinds.count(TryScored) <= 3 * 40
    assert many.kinds.count(TryScored) == 3 * 2


@pytest.mark.parametrize("kind", ["lines", "terminal"])
def test_what_is_shown_last_is_the_same_however_little_was_heard(
    kind: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasts = []
    for quick in (math.inf, 0.0):  # seconds; at 0 all is heard
        monkeypatch.setattr("dynhp.middleware.display.QUICK", quick)
        stream: Any = io.StringIO() if kind == "lines" else terminal
        a_run(LiveDisplay(stream=stream), epochs=100)
        text = stream.getvalue()
        lines = screen_of(text) if kind == "terminal" else text.splitlines()
        lasts.append([re.sub(r"\d+ s\b", "", line) for line in lines if line][-4:])
    assert lasts[0][-1] == lasts[1][-1]
    assert "140 of 140" in lasts[0][-1]


def test_of_a_round_that_lasts_only_the_newest_beat_is_kept() -> None:
    display = LiveDisplay(stream=io.StringIO())
    space = {"lr": [0.1, 0.5]}
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 5, "try_for": 1, "epochs": 20}
    display.open(DynamicGridAdapter(Quadratic(), space, **settings)._begins())
    for epochs in range(1, 1001):
        display.beat(None, epochs, {"loss": 0.5})
    assert len(display._waiting) == 1
    display.close(None)
