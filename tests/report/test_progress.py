"""Progress is shown as lines in files, and in a line or a bar of terminals."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, History, lowest
from dynhp.campaign import CampaignProgress, product, run_campaign, shown
from dynhp.report import progress
from dynhp.testing import Quadratic
from tests.support.campaigning import picky, serial
from tests.support.terminal import Terminal


def a_run(epochs: int = 20, **settings: Any) -> History:
    return DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.01, 0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        **settings,
    ).run(epochs)


def test_progress_lines_for_files_and_a_bar_for_terminals() -> None:
    text = io.StringIO()
    with progress(20, stream=text) as show:
        a_run(callbacks=[show])
    lines = text.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("training: epoch 20/20, lr=0.5, loss=")

    pytest.importorskip("rich")
    screen = Terminal()
    with progress(20, stream=screen, title="digits") as show:
        a_run(callbacks=[show])
    assert "digits" in screen.getvalue()


def test_progress_shows_a_line_per_tenth_at_most() -> None:
    text = io.StringIO()
    with progress(200, stream=text) as show:
        a_run(epochs=200, callbacks=[show])
    assert len(text.getvalue().splitlines()) == 10


def report(done: int, *, total: int) -> CampaignProgress:
    return CampaignProgress(done=done, failed=0, total=total, share=done / total, left=None)


def test_a_terminal_shows_one_line() -> None:
    out = Terminal()
    show = shown(out)
    for done in (0, 1, 2):
        show(report(done, total=2))
    lines = [f"\r\x1b[K{done} of 2 runs, {50 * done} % of the work" for done in (0, 1, 2)]
    assert out.getvalue() == "".join(lines) + "\n"


def test_a_file_gets_a_line_per_percent() -> None:
    out = io.StringIO()
    show = shown(out)
    for done in range(1001):
        show(report(done, total=1000))
    lines = out.getvalue().splitlines()
    assert len(lines) == 101
    assert lines[-1] == "1000 of 1000 runs, 100 % of the work"
    show(report(0, total=3))  # the next campaign
    assert out.getvalue().endswith("\n0 of 3 runs, 0 % of the work\n")


def test_standard_error_is_where_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show = shown()
    run_campaign(picky, product(seed=range(2)), folder=tmp_path, executor=serial, progress=show)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(",")[0] for line in printed.err.splitlines()] == [
        f"{done} of 2 runs" for done in range(3)
    ]
    assert sys.stderr is not None
