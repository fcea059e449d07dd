"""Terminals: one that keeps what is shown in it, and real ones for programs of their own."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping

# Where these say something, rich looks at them instead of the terminal.
_OF_A_TERMINAL = {
    *("COLUMNS", "LINES", "WORLD_SIZE", "COLORTERM", "NO_COLOR", "FORCE_COLOR"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "JUPYTER_COLUMNS", "JUPYTER_LINES"),
}
_CODES = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Terminal(io.StringIO):
    """A text stream that says that it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def screen_of(text: str, width: int = 80) -> list[str]:
    """What a terminal shows after this text; nothing in it scrolls away."""
    rows: list[list[str]] = [[]]
    row = column = 0
    for match in _CODES.finditer(text):
        number, code, control, plain = match.groups()
        if control == "\r":
            column = 0
        elif control == "\n":
            row, column = row + 1, 0
        elif code == "A":
            row = max(0, row - int(number or 1))
        elif code == "K":
            del rows[row][0 if number == "2" else column :]
        elif code == "J":
            del rows[row][column:], rows[row + 1 :]
        for each in plain or "":
            if column == width:
                row, column = row + 1, 0
            rows += [[] for _ in range(row + 1 - len(rows))]
            rows[row] += [" "] * (column + 1 - len(rows[row]))
            rows[row][column] = each
            column += 1
        rows += [[] for _ in range(row + 1 - len(rows))]
    return ["".join(each).rstrip() for each in rows]


def in_terminal(
    code: str,
    *,
    columns: int = 80,
    rows: int = 30,
    environment: Mapping[str, str] | None = None,
    keys: tuple[str, bytes] | None = None,
) -> tuple[int, str]:
    """Run a program in a terminal of its own: its exit code, and all that was written there.

    ``keys``: once the first text was seen, the second is typed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    given = {name: value for name, value in os.environ.items() if name not in _OF_A_TERMINAL}
    given |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **(environment or {})}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=given,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        written += piece
        if keys is not None and keys[0].encode() in written:
            os.write(ours, keys[1])
            keys = None
    os.close(ours)
    return process.wait(), written.decode().replace("\r\n", "\n")
