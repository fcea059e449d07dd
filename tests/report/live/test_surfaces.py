"""Pictures are shown in terminals, in notebooks and as lines: seldom enough, and harmlessly."""

from __future__ import annotations

import io
import re
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.campaign import product, run_campaign
from dynhp.campaign.progress import CampaignProgress
from dynhp.errors import Hint, SettingsError
from dynhp.records import Round
from dynhp.report import LiveDisplay
from dynhp.report.live import screen, surfaces
from dynhp.report.live.campaign import campaign_view
from dynhp.report.live.pause import Pause
from dynhp.report.live.picture import Line
from dynhp.report.live.screen import CaughtStream, _release_all
from dynhp.testing import Quadratic
from tests.support.campaigning import picky, serial
from tests.support.messages import raises, warns
from tests.support.terminal import Terminal, screen_of

pytest.importorskip("rich")


class StillPicture:
    """A picture of given lines."""

    def __init__(self, *lines: Line) -> None:
        self.given = list(lines)

    def lines(self, width: int, height: int, marks: Any) -> list[Line]:
        return self.given

    def text(self) -> str:
        return "still"

    def step(self) -> int | None:
        return 1


def a_run(*, progress: Any, **settings: Any) -> None:
    DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.01, 0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        **settings,
    ).run(20, progress=progress)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of sixty columns with colours."""
    for name, value in {"COLUMNS": "60", "LINES": "20", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(screen, "UNENDED", 0.0)
    return Terminal()


def test_a_picture_takes_the_place_of_the_one_before(terminal: Terminal) -> None:
    shown = screen.screen_on(terminal)
    assert shown is not None
    shown.show(StillPicture([("one", "title")], [("two", "")]))
    print("printed", file=terminal)
    terminal.write("unfinished")
    assert screen_of(terminal.getvalue()) == ["printed", "unfinished", "one", "two"]
    before = terminal.getvalue()
    shown.show(StillPicture([("one", "title")], [("two", "")]))
    assert terminal.getvalue() == before  # nothing new is nothing written
    print(" line\nand \x1b[2Jmore", file=terminal)
    shown.close(StillPicture([("last", "good")]))
    assert screen_of(terminal.getvalue()) == ["printed", "unfinished line", "and more", "last", ""]
    print("as ever", file=terminal)
    assert screen_of(terminal.getvalue())[-2:] == ["as ever", ""]
    assert "write" not in vars(terminal)


def test_what_was_not_ended_is_left_above_the_last_picture(terminal: Terminal) -> None:
    shown = screen.screen_on(terminal)
    assert shown is not None
    terminal.write("no end")
    shown.close(StillPicture([("last", "")]))
    assert screen_of(terminal.getvalue()) == ["no end", "last", ""]


def test_long_and_wide_lines_are_cut(terminal: Terminal) -> None:
    shown = screen.screen_on(terminal)
    assert shown is not None
    shown.show(StillPicture([("宽" * 40, ""), ("gone", "bad")]))
    terminal.write("\t" + "x" * 100)
    first, second, *_ = screen_of(terminal.getvalue(), width=60)
    assert first == " " * 8 + "x" * 51
    assert second == "宽" * 29
    shown.close(StillPicture())
    assert terminal.write("12") == 2


def test_only_one_screen_has_the_terminal(terminal: Terminal) -> None:
    first = screen.screen_on(terminal)
    assert first is not None
    second = surfaces.surface_on(terminal)
    assert isinstance(second, surfaces.LineOutput)
    second.show(StillPicture())
    first.show(StillPicture([("picture", "")]))
    second.close(StillPicture())
    assert screen_of(terminal.getvalue()) == ["still", "still", "picture"]
    first.close(StillPicture())
    third = screen.screen_on(terminal)
    assert third is not None
    third.close(StillPicture())


def test_a_screen_that_cannot_begin_leaves_the_terminal_to_others(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(screen, "marks_of", lambda encoding: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            screen.screen_on(terminal)
    shown = screen.screen_on(terminal)
    assert shown is not None
    shown.close(StillPicture())


def test_a_fork_neither_draws_nor_catches(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = screen.screen_on(terminal)
    assert shown is not None
    shown.show(StillPicture([("picture", "")]))
    _release_all()  # what happens in the child
    terminal.write("child")
    written = terminal.getvalue()
    assert written.endswith("child")
    monkeypatch.setattr(screen.os, "getpid", lambda: -1)
    shown.close(StillPicture([("last", "")]))
    assert terminal.getvalue() == written


def test_a_write_of_somebody_else_is_left_alone() -> None:
    stream: Any = Terminal()
    caught = CaughtStream(stream, lambda lines, rest: None)
    own = stream.write = lambda text: 0  # replaced after us, so it is not ours to put back
    caught.release()
    assert stream.write is own
    again = CaughtStream(Terminal(), lambda lines, rest: None)
    with pytest.raises(TypeError):
        again._write(b"bytes")  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [io.StringIO(), None, "closed"])
def test_without_a_terminal_there_is_no_screen(stream: Any) -> None:
    if stream == "closed":
        stream = io.StringIO()
        stream.close()
    assert screen.screen_on(stream) is None


def test_without_rich_there_is_no_screen(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(screen, "_missing", ["pip install it"])
    for _ in range(2):
        assert screen.screen_on(terminal) is None
        assert terminal.getvalue() == "pip install it\n"  # once


@pytest.mark.parametrize(
    ("failure", "text"), [(KeyboardInterrupt, "stopped after"), (OSError, "OSError after")]
)
def test_the_last_picture_says_what_ended_the_run(
    terminal: Terminal, failure: type[BaseException], text: str
) -> None:
    def fail(event: Any) -> None:
        if isinstance(event, Round):
            raise failure

    with pytest.raises(failure):
        a_run(progress=LiveDisplay(stream=terminal), callbacks=fail)
    assert text in screen_of(terminal.getvalue())[0]


def test_a_run_that_was_stopped_is_counted_in_runs_of_the_planned_length(
    terminal: Terminal,
) -> None:
    def stop(event: Any) -> None:
        if isinstance(event, Round) and event.index == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a_run(progress=LiveDisplay(stream=terminal), callbacks=stop, check="off")
    shown = "\n".join(screen_of(terminal.getvalue()))
    cost = re.search(r"cost     (\d+) of 28 epochs, ([\d.]+) runs\n", shown)
    assert cost is not None
    assert float(cost[2]) == int(cost[1]) / 20  # not by the few epochs that were trained


def test_every_beat_is_drawn_where_there_is_time(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "Pause", lambda **_: Pause(least=0.0))
    monkeypatch.setattr("dynhp.report.live.pause.SHARE", 0)
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 0.0)
    a_run(progress=LiveDisplay(stream=terminal), check="off")
    assert terminal.getvalue().count("1 of 1 epochs") == 3 * 4
    assert screen_of(terminal.getvalue())[0].startswith("training  epoch 20/20  ")


def test_old_consoles_of_windows_get_lines(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rich.console.Console.legacy_windows", True, raising=False)
    monkeypatch.setattr("rich.console.detect_legacy_windows", lambda: True)
    assert screen.screen_on(terminal) is None


def test_of_many_ranks_the_first_shows_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, lines in {"1": False, "0": True}.items():
        monkeypatch.setenv("RANK", rank)
        a_run(progress=True)
        assert bool(capsys.readouterr().err) is lines


def test_pictures_are_so_seldom_that_they_take_a_400th(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("dynhp.report.live.pause.time.monotonic", lambda: now)
    pause, drawn = Pause(least=0.1), 0
    for _ in range(10_000):
        now += 0.01
        if pause.is_over(eager=True):
            drawn += 1
            pause.begin(0.002)
    assert drawn <= 2 + 100 / (400 * 0.002)
    seldom = Pause(least=0.1)
    seldom.begin(0.0001)
    assert not seldom.is_over()
    now += 0.1
    assert seldom.is_over()
    slow = Pause(least=0.1, most=5.0)
    slow.begin(3.0)  # it is never silent for long
    now += 5.0
    assert slow.is_over()


@pytest.mark.usefixtures("terminal")
def test_a_terminal_that_stands_still_for_a_while_does_not_stop_the_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0

    class StoppedTerminal(Terminal):
        """A terminal that stands still for a moment, as after Ctrl-S."""

        def write(self, text: str) -> int:
            nonlocal now
            now += 0.1
            return super().write(text)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(time, "thread_time", lambda: 5.0)
    shown = screen.screen_on(StoppedTerminal())
    assert shown is not None
    shown.show(StillPicture([("one", "")]))
    assert 1000.0 < now < shown.pause.until < now + 1.0  # 40 seconds, were waiting drawing
    shown.close(StillPicture([("last", "")]))


class BrokenTerminal(Terminal):
    """A terminal whose other end goes away."""

    broken = flushes = False

    def write(self, text: str) -> int:
        if self.broken and not self.flushes:
            raise BrokenPipeError
        return super().write(text)

    def flush(self) -> None:
        if self.broken and self.flushes:
            raise BrokenPipeError


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("flushes", [False, True])
def test_a_terminal_that_goes_away_ends_the_display_and_not_the_run(
    flushes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())  # a hint comes once in a process
    gone = BrokenTerminal()
    gone.flushes = flushes

    def go(event: Any) -> None:
        gone.broken |= isinstance(event, Round)

    with warns(Hint):
        a_run(progress=LiveDisplay(stream=gone), callbacks=go)
    gone.broken = False
    assert "write" not in vars(gone)
    shown = screen.screen_on(gone)  # the terminal is free again
    assert shown is not None
    shown.close(StillPicture())


def test_a_line_that_has_not_ended_is_drawn_now_and_then_and_with_the_next_picture(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = screen.screen_on(terminal)
    assert shown is not None
    shown.show(StillPicture([("picture", "")]))
    monkeypatch.setattr(screen, "UNENDED", 3600.0)
    for percent in range(0, 101, 10):
        terminal.write(f"\r{percent} %")
    assert screen_of(terminal.getvalue()) == ["0 %", "picture"]
    shown.show(StillPicture([("picture", "")]))
    assert screen_of(terminal.getvalue()) == ["100 %", "picture"]
    shown.close(StillPicture([("last", "")]))
    assert screen_of(terminal.getvalue()) == ["100 %", "last", ""]


class OutputHandle:
    """What IPython gives for an output: it can be updated."""

    def __init__(self, shown: list[Any]) -> None:
        self.shown = shown

    def update(self, page: Any, *, raw: bool) -> None:
        self.shown.append(("update", page, raw))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Looks like the modules of IPython in a notebook; all that is shown is kept."""
    shown: list[Any] = []

    def display(page: Any, *, raw: bool, display_id: bool) -> OutputHandle:
        shown.append(("display", page, raw and display_id))
        return OutputHandle(shown)

    shell = types.SimpleNamespace(kernel=object())
    ipython: Any = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))  # type: ignore[arg-type]
    return shown


def test_a_notebook_has_one_output_that_is_updated(notebook: list[Any]) -> None:
    a_run(progress=LiveDisplay("<b>fit</b>"))
    assert [kind for kind, _, _ in notebook] == ["display"] + ["update"] * (len(notebook) - 1)
    assert len(notebook) >= 2
    assert all(flag for _, _, flag in notebook)
    last = notebook[-1][1]
    assert last["text/plain"].startswith("<b>fit</b>  epoch 20/20  ━━━")
    assert "&lt;b&gt;fit&lt;/b&gt;</span>  epoch 20/20" in last["text/html"]
    assert "<b>" not in last["text/html"]


def test_a_notebook_is_quiet_between_two_outputs(
    notebook: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    output = surfaces.surface_on()
    assert output.pause.until == 0.0
    output.show(StillPicture([("one", "")]))
    assert output.pause.until > 1000.0
    assert len(notebook) == 1


def test_a_stream_that_is_named_goes_before_a_notebook(notebook: list[Any]) -> None:
    a_run(progress=LiveDisplay(stream=io.StringIO()))
    assert notebook == []


@pytest.mark.parametrize("shell", [None, types.SimpleNamespace()])
def test_a_terminal_of_ipython_is_no_notebook(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ipython: Any = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert isinstance(surfaces.surface_on(), surfaces.LineOutput)


def report(done: int, *, total: int, left: float | None = None) -> CampaignProgress:
    failed = int(done > 1)
    share = done / total
    return CampaignProgress(done=done - failed, failed=failed, total=total, share=share, left=left)


def test_a_campaign_is_one_line_of_a_terminal(terminal: Terminal) -> None:
    with campaign_view(terminal) as show:
        show(report(0, total=2))
        assert "0 of 2 runs" in screen_of(terminal.getvalue())[0]
        assert "time left not known yet" in screen_of(terminal.getvalue())[0]
        show(report(1, total=2, left=61.0))
        print("of the program", file=terminal)
        show(report(2, total=2))
    lines = screen_of(terminal.getvalue())
    assert lines[0] == "of the program"
    assert lines[1].startswith("campaign  1 of 2 runs, 1 failed  ━━━")
    assert lines[1].endswith("100 %  done")
    assert lines[2:] == [""]


def test_a_campaign_that_never_began_shows_nothing(terminal: Terminal) -> None:
    with pytest.raises(SettingsError), campaign_view(terminal):
        raise SettingsError("before the first run")
    assert terminal.getvalue() == ""
    shown = screen.screen_on(terminal)  # the terminal is free again
    assert shown is not None
    shown.close(StillPicture())


def test_a_file_gets_a_line_per_percent() -> None:
    out = io.StringIO()
    with campaign_view(out) as show:
        for done in range(1001):
            show(report(done, total=1000))
    lines = out.getvalue().splitlines()
    assert len(lines) == 101
    assert lines[0] == "0 of 1000 runs, 0 % of the work"
    assert lines[-1] == "999 of 1000 runs, 100 % of the work, 1 failed"


def test_a_campaign_is_shown_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_campaign(picky, product(seed=range(2)), folder=tmp_path, executor=serial, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(",")[0] for line in printed.err.splitlines()] == [
        f"{done} of 2 runs" for done in range(3)
    ]
    wrong: Any = "yes"
    with raises(SettingsError):
        run_campaign(picky, product(seed=[1]), folder=tmp_path, executor=serial, progress=wrong)
