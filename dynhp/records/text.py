"""Records as text: the one table of cells, and the cells of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynhp.records.candidate import Candidate, Value
from dynhp.records.units import Unit

if TYPE_CHECKING:
    from dynhp.records.history import Round, Try

__all__ = ["ROWS", "cut", "duration", "failures_text", "harmless", "headings_of", "label"]
__all__ += ["round_cells", "text_table", "values_text", "why"]

ROWS = 20
"""So many rows fit on a screen together with what was printed before."""
_WIDTH = 80  # of an error, which may be a page long


def text_table(rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Write rows of cells as lines: columns as wide as their widest cell, two spaces between.

    Args:
        rows: the cells of each row; all rows have the same number of them.
        right: whether cells are set at the right of their column, as suits numbers.

    >>> print(text_table([("seed", "AUC"), ("10", "0.97")]))
    seed  AUC
    10    0.97
    >>> print(text_table([("seed", "AUC"), ("10", "0.97")], right=True))
    seed   AUC
      10  0.97
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    side = ">" if right else "<"
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def label(value: Value) -> str:
    """A value as it is shown: with four digits at most."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def values_text(candidate: Candidate) -> str:
    """A candidate in a cell.

    >>> values_text(Candidate({"lr": 0.1, "layers": 2}))
    'lr=0.1 layers=2'
    """
    return harmless(" ".join(f"{name}={value}" for name, value in candidate.items()))


def harmless(text: str) -> str:
    """The text with all that a terminal would obey written out: a file may come from anybody.

    >>> print(harmless("in red: " + chr(27) + "[31m"))
    in red: \\x1b[31m
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def round_cells(round_: Round) -> dict[str, str]:
    """One round as cells of a table, by their headings."""
    if not round_.tries:
        return _untried_cells(round_)
    failed = sum(try_.error is not None for try_ in round_.tries)
    held = [try_ for try_ in round_.tries if try_.candidate == round_.previous]
    sound = held and held[0].error is None and held[0].epochs == round_.winner.epochs
    gain = round_.winner.score - held[0].score if sound else None
    return {
        "round": str(round_.index),
        "epochs": _epochs_text(round_),
        "values": values_text(round_.candidate),
        "score": f"{round_.winner.score:.5g}",
        "gain": "-" if gain is None else f"{gain:.3g}",
        "tries": f"{len(round_.tries)}" + (f" ({failed} failed)" if failed else ""),
        "spent": str(round_.epochs + round_.overhead),
        "seconds": f"{round_.seconds:.1f}",
        "reason": harmless(why(round_) + (f" (due: {round_.because})" if round_.because else "")),
    }


def headings_of(names: Sequence[str], unit: Unit) -> list[str]:
    """The headings of these cells as they are shown: that of epochs may be steps.

    >>> headings_of(("round", "epochs"), "steps")
    ['round', 'steps']
    """
    return [unit if name == "epochs" else name for name in names]


def why(round_: Round) -> str:
    """Why the round went on with its values, and of which these were made."""
    if round_.corrected is None:
        return round_.reason
    return f"{round_.reason}; made of {values_text(round_.winner.candidate)}"


def _epochs_text(round_: Round) -> str:
    """Which epochs a round has, and how far the main line had come where it left some behind."""
    back = f", back from {round_.start + round_.abandoned}" if round_.abandoned else ""
    return f"{round_.start}-{round_.start + round_.epochs}{back}"


def _untried_cells(round_: Round) -> dict[str, str]:
    """The cells of a round without tries: nothing was chosen in it."""
    failed = "" if round_.failure is None else f", then {round_.failure}"
    return {
        "round": str(round_.index),
        "epochs": _epochs_text(round_),
        "values": values_text(round_.candidate),
        "score": "-",
        "gain": "-",
        "tries": "0",
        "spent": str(round_.epochs),
        "seconds": f"{round_.seconds:.1f}",
        "reason": harmless(round_.reason + failed),
    }


def cut(text: str) -> str:
    """A text in a cell: one line, with what a terminal would obey written out, not too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def failures_text(tries: Sequence[Try]) -> str:
    """What became of each of these tries, none of which succeeded, a line each."""
    lines = [
        f"  {dict(try_.candidate)}: "[:100]
        + (try_.error or "overtaken by one that failed later").splitlines()[0][:200]
        for try_ in tries[:ROWS]
    ]
    if len(tries) > ROWS:
        lines.append(f"  and {len(tries) - ROWS} more")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Write a time span in words.

    >>> duration(42.4), duration(150), duration(7260)
    ('42 s', '2 min 30 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
