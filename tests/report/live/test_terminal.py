"""In a real terminal the picture stands below what the program prints, and leaves it clean."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.terminal import in_terminal, screen_of

pytest.importorskip("rich")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")

LOOP = """
import logging, sys, time
from dynhp import adapt
from dynhp.testing import Quadratic
logging.basicConfig(level="INFO", format="log: %(message)s")
model = Quadratic()
for epoch in adapt(12, state=[model], space={"lr": [0.01, 0.1, 0.5]}, minimize="loss",
                   adapt_every=4, try_for=1, progress=True):
    model.train_k(1, epoch.values)
    time.sleep(0.03)
    epoch.report(model.metrics())
    if epoch.main:
        BODY
print("the end")
"""


def shown(code: str, **how: object) -> tuple[int, str, list[str]]:
    status, text = in_terminal(code, **how)  # type: ignore[arg-type]
    return status, text, screen_of(text, int(how.get("columns", 80)))  # type: ignore[call-overload]


def test_prints_and_logs_stand_above_each_once_and_in_order() -> None:
    body = 'print(f"epoch {epoch}"); logging.info("at %s", epoch); print("err", file=sys.stderr)'
    status, text, screen = shown(LOOP.replace("BODY", body))
    assert status == 0
    numbers = [epoch for epoch in range(12) if epoch % 4]
    above = [line for epoch in numbers for line in (f"epoch {epoch}", f"log: at {epoch}", "err")]
    printed = [line for line in screen if line in above]
    assert printed == above
    [picture] = [number for number, line in enumerate(screen) if line.startswith("training")]
    assert "epoch 12/12" in screen[picture]
    assert "100 %  done in" in screen[picture]
    assert max(screen.index(line) for line in printed) < picture < screen.index("the end")
    assert text.count("\x1b[?25l") == text.count("\x1b[?25l\x1b[?25h") == 1  # never hidden


def test_a_progress_bar_in_the_body_stays_one_line() -> None:
    pytest.importorskip("tqdm")
    bar = "{percentage:.0f}% {n}/{total} of the bar"  # without the pace, which may be anything
    body = f"from tqdm import tqdm; list(tqdm(range(20), mininterval=0, bar_format={bar!r}))"
    _, _, screen = shown(LOOP.replace("BODY", body))
    bars = [line for line in screen if "of the bar" in line]
    assert len(bars) == 9  # one for each epoch of the main line, whole
    assert all(line.startswith("100% 20/20") for line in bars)
    assert "training  epoch 12/12" in "\n".join(screen)


def test_control_c_leaves_a_clean_terminal() -> None:
    body = 'print("waiting", flush=True); time.sleep(1e6)'
    status, text, screen = shown(LOOP.replace("BODY", body), keys=("waiting", b"\x03"))
    assert status != 0
    assert "stopped after" in text or "KeyboardInterrupt after" in text
    picture = next(n for n, line in enumerate(screen) if line.startswith("training"))
    trace = next(n for n, line in enumerate(screen) if line.startswith("Traceback"))
    assert trace > picture
    assert screen[-2].startswith("KeyboardInterrupt") or "KeyboardInterrupt" in "".join(screen)


def test_an_exception_is_whole_and_below() -> None:
    status, _, screen = shown(LOOP.replace("BODY", 'raise ValueError("mine")'))
    assert status == 1
    assert screen[-2] == "ValueError: mine"
    assert "[" not in next(line for line in screen if line.startswith("training"))


@pytest.mark.parametrize("columns", [12, 30])
def test_a_narrow_terminal_is_never_too_narrow(columns: int) -> None:
    status, _, screen = shown(LOOP.replace("BODY", "pass"), columns=columns)
    assert status == 0
    assert max(map(len, screen)) <= columns
    assert sum(line.startswith("training") for line in screen) == 1


def test_a_low_terminal_is_never_too_low() -> None:
    status, text, _ = shown(LOOP.replace("BODY", "pass"), rows=6)
    assert status == 0
    assert "\x1b[5A" not in text


@pytest.mark.parametrize(
    ("environment", "colours", "moves"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
)
def test_colours_and_dumb_terminals(
    environment: dict[str, str], colours: bool, moves: bool
) -> None:
    _, text, _ = shown(LOOP.replace("BODY", "pass"), environment=environment)
    assert ("\x1b[32m" in text) is colours
    assert ("\x1b[2K" in text) is moves
    assert ("\x1b" in text) is (colours or moves)


def test_without_rich_there_are_lines() -> None:
    code = "import sys; sys.modules['rich'] = None" + LOOP.replace("BODY", "pass")
    status, text, _ = shown(code)
    assert status == 0
    assert "\x1b" not in text
    assert "training: epoch 12/12, lr=0.5, loss=" in text
    assert text.count("a picture needs rich: pip install 'dynhp[rich]'") == 1


def test_an_encoding_without_bars_gets_plain_marks() -> None:
    _, text, screen = shown(
        LOOP.replace("BODY", "pass"), environment={"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    )
    assert text.isascii()
    assert any("====" in line for line in screen)


def test_names_are_shown_as_they_are_and_harmless() -> None:
    code = LOOP.replace('"lr"', r'"[red]lr\x1b[2J"').replace(
        "epoch.values", '{"lr": list(epoch.values.values())[0]}'
    )
    status, text, screen = shown(code.replace("BODY", "pass"))
    assert status == 0
    assert r"[red]lr\x1b[2J" in "\n".join(screen)
    assert "\x1b[2J" not in text


def test_a_second_run_inside_writes_lines_above() -> None:
    inner = """
from dynhp import DynamicGridAdapter
        DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=5,
                           try_for=1).run(5, progress=True)
""".strip()
    _, _, screen = shown(LOOP.replace("BODY", f"{inner}"))
    pictures = [line for line in screen if line.startswith("training  ")]
    lines = [line for line in screen if line.startswith("training: epoch 5/5")]
    assert len(pictures) == 1
    assert len(lines) == 9


def test_a_fork_writes_where_it_ever_wrote() -> None:
    body = """
import os
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print("from the child"); sys.stdout.flush(); os._exit(0)
        os.waitpid(child, 0)
""".strip()
    status, text, _ = shown(LOOP.replace("BODY", body))
    assert status == 0
    assert text.count("from the child\n") == 9


def test_into_a_file_go_lines_without_escapes(tmp_path: Path) -> None:
    out = tmp_path / "log"
    code = f"import sys; sys.stderr = open({str(out)!r}, 'w')" + LOOP.replace("BODY", "pass")
    status, text, _ = shown(code)
    assert status == 0
    assert text == "the end\n"
    lines = out.read_text().splitlines()
    assert "\x1b" not in "".join(lines)
    assert lines[-1].startswith("training: epoch 12/12, lr=0.5, loss=")
    # Hints are lines too, and from Python 3.13 on a second one shows the code.
    assert 3 < len([line for line in lines if line.startswith("training: ")]) <= 11
