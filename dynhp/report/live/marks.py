"""What pictures of a run are made of: pieces of text, bars and sparklines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from dynhp.records import Value

__all__ = ["ASCII", "UNICODE", "Line", "Marks", "Picture", "Style", "bar", "marks_of", "sparkline"]

Style: TypeAlias = Literal["", "title", "dim", "good", "bad"]
"""How a piece of text looks; a surface decides what that is."""

Line: TypeAlias = list[tuple[str, Style]]
"""A line in pieces, each with its style."""


class Marks(NamedTuple):
    """The characters of a picture."""

    done: str  # of the bar of the main line
    left: str
    bar: str  # of a try, and its last piece by eighths
    pieces: str
    spark: str  # from low to high
    leads: str
    kept: str
    runs: str
    wait: str
    more: str


UNICODE = Marks("━", "─", "█", "▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█", "★", "✓", "▸", "·", "…")
ASCII = Marks("=", "-", "#", "########", "_.-~=^*#", "*", "+", ">", ".", "~")


class Picture(Protocol):
    """What a surface shows: lines where it moves, a line of text now and then where it does not."""

    def lines(self, width: int, height: int, marks: Marks) -> list[Line]:
        """All that there is to see, in at most so many columns and lines."""
        ...

    def text(self) -> str:
        """The same in a line."""
        ...

    def step(self) -> int | None:
        """A number that changes where another line of text is worth it; None at the end."""
        ...


def marks_of(encoding: str | None) -> Marks:
    """The marks that can be written in an encoding.

    >>> marks_of("utf-8").leads, marks_of("latin-1").leads, marks_of(None).leads
    ('★', '*', '*')
    """
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def bar(share: float, width: int, marks: Marks) -> str:
    """A bar as long as the share of the width, to an eighth of a column.

    >>> bar(0.5, 5, UNICODE), bar(1.0, 5, ASCII), bar(0.0, 5, UNICODE)
    ('██▌', '#####', '▏')
    """
    whole, piece = divmod(max(1, round(8 * share * width)), 8)
    return marks.bar * whole + (marks.pieces[piece - 1] if piece else "")


def sparkline(values: Sequence[Value], marks: Marks) -> str:
    """The course of a value: by the rank of each among those seen, whatever their scale.

    >>> sparkline([0.001, 0.01, 0.01, 1.0], UNICODE), sparkline(["relu", "tanh"], UNICODE)
    ('▁▄▄█', '▁█')
    """
    seen = list(dict.fromkeys(values))
    if all(isinstance(value, int | float) for value in seen):
        seen.sort(key=float)  # type: ignore[arg-type]
    top = len(marks.spark) - 1
    height = {
        value: top // 2 if len(seen) == 1 else rank * top // (len(seen) - 1)
        for rank, value in enumerate(seen)
    }
    return "".join(marks.spark[height[value]] for value in values)
