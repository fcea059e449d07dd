"""Records as text: the one table of cells, and the short tables that ``print`` shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dynhp.records.candidate import Candidate, Value

if TYPE_CHECKING:
    from dynhp.records.history import Round, Try

__all__ = ["history_text", "label", "round_cells", "round_text", "text_table", "try_text"]
__all__ += ["duration", "failures_text", "harmless", "values_text"]

_ROWS = 20  # so many fit on a screen together with what was printed before
_WIDTH = 80  # of an error, which may be a page long

Row = TypeVar("Row")


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
        "reason": harmless(_why(round_) + (f" (due: {round_.because})" if round_.because else "")),
    }


def _why(round_: Round) -> str:
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


def history_text(rounds: Sequence[Round]) -> str:
    """A run as a short table: a row for each round, those in the middle left out where many."""
    if not rounds:
        return "no rounds yet"
    headings = ("round", "epochs", "values", "score", "gain", "tries", "reason")
    joined = _joined(rounds)
    shown = [round_cells(round_) for round_ in _ends(joined)]
    rows = [[_cut(cells[heading]) for heading in headings] for cells in shown]
    return _table([headings, *rows], len(joined) - len(shown), "rounds")


def _joined(rounds: Sequence[Round]) -> Sequence[Round]:
    """The rounds, with those without tries that follow each other as one."""
    joined: list[Round] = []
    for round_ in rounds:
        last = joined[-1] if joined else round_
        if round_.tries or last.tries or last.failure is not None or not joined:
            joined.append(round_)
        else:
            joined[-1] = replace(
                round_, index=last.index, start=last.start, epochs=last.epochs + round_.epochs
            )
    return joined


def round_text(round_: Round) -> str:
    """A round as a short table: a row for each try, those that scored worst left out where many."""
    best = sorted(
        range(len(round_.tries)),
        key=lambda place: (place != round_.chosen, -round_.tries[place].rank_key),
    )
    rows = [_try_row(round_, place) for place in sorted(best[:_ROWS])]
    title = (
        f"round {round_.index}, epochs {round_.start}-{round_.start + round_.epochs}: "
        f"{values_text(round_.candidate)} ({_cut(_why(round_))})"
    )
    if not rows:
        return title
    left_out = len(round_.tries) - len(rows)
    headings = ("values", "epochs", "score", "")
    return f"{title}\n{_table([headings, *rows], left_out, 'worse tries', at_end=True)}"


def try_text(try_: Try) -> str:
    """A try as a short table: a row for each epoch, those in the middle left out where many."""
    came_of_it = f"score {try_.score:.5g}" if try_.error is None else f"failed: {_cut(try_.error)}"
    title = f"{values_text(try_.candidate)}, epochs {try_.epochs}, {came_of_it}"
    if not try_.series:
        return title
    names = list(dict.fromkeys(name for metrics in try_.series for name in metrics))
    headings = ["epoch", *map(harmless, names)]
    rows = [
        [str(place + 1), *(f"{metrics.get(name, math.nan):.5g}" for name in names)]
        for place, metrics in _ends(try_.measured)
    ]
    return f"{title}\n{_table([headings, *rows], len(try_.series) - len(rows), 'epochs')}"


def _try_row(round_: Round, place: int) -> tuple[str, ...]:
    try_ = round_.tries[place]
    remark = "kept" if place == round_.chosen else ""
    if try_.candidate == round_.previous:
        remark += ", in force before" if remark else "in force before"
    if try_.error is not None:
        remark = f"failed: {_cut(try_.error)}"
    return values_text(try_.candidate), str(try_.epochs), f"{try_.score:.5g}", remark


def _ends(rows: Sequence[Row]) -> list[Row]:
    """All rows, or the first and the last where there are too many."""
    half = _ROWS // 2
    return list(rows) if len(rows) <= _ROWS else [*rows[:half], *rows[-half:]]


def _table(rows: Sequence[Sequence[str]], left_out: int, what: str, *, at_end: bool = False) -> str:
    lines = text_table(rows).split("\n")
    if left_out:
        place = len(lines) if at_end else 1 + _ROWS // 2  # the first line has the headings
        lines.insert(place, f"... {left_out} {what} more")
    return "\n".join(lines)


def _cut(text: str) -> str:
    line = harmless(" ".join(text.split()))
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def failures_text(tries: Sequence[Try]) -> str:
    """What became of each of these tries, none of which succeeded, a line each."""
    lines = [
        f"  {dict(try_.candidate)}: "[:100]
        + (try_.error or "overtaken by one that failed later").splitlines()[0][:200]
        for try_ in tries[:_ROWS]
    ]
    if len(tries) > _ROWS:
        lines.append(f"  and {len(tries) - _ROWS} more")
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
