"""Records as text: the tables that ``print`` shows of a history, a round and a try."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dynhp.records.candidate import Candidate, Value
from dynhp.records.units import Unit, one_of, unit_of

if TYPE_CHECKING:
    from dynhp.records.history import Round, Try

__all__ = ["duration", "end_text", "failures_text", "harmless", "headings_of", "history_rows"]
__all__ += ["history_text", "label"]
__all__ += ["round_cells", "round_text", "text_table", "try_text", "values_text"]

Row = TypeVar("Row")

ROWS = 20
"""This many rows fit on a screen together with what was printed before."""
_WIDTH = 80  # of an error, which may be a page long
_TAKEN = "taken: the best, corrected by then="


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
    """One round as cells of a table, by their headings; in one without tries nothing was chosen."""
    score = gain = "-"
    reason = round_.reason
    if round_.tries:
        score = f"{round_.winner.score:.5g}"
        held = [try_ for try_ in round_.tries if try_.candidate == round_.previous]
        if held and held[0].error is None and held[0].epochs == round_.winner.epochs:
            gain = f"{round_.winner.score - held[0].score:.3g}"
        reason = _why(round_) + (f" (due: {round_.because})" if round_.because else "")
    elif round_.failure is not None:
        reason += f", then {round_.failure}"
    failed = sum(try_.error is not None for try_ in round_.tries)
    back = f", back from {round_.start + round_.abandoned}" if round_.abandoned else ""
    return {
        "round": str(round_.index),
        "epochs": f"{round_.start}-{round_.start + round_.epochs}{back}",
        "values": values_text(round_.candidate),
        "score": score,
        "gain": gain,
        "tries": f"{len(round_.tries)}" + (f" ({failed} failed)" if failed else ""),
        "spent": str(round_.epochs + round_.overhead),
        "seconds": f"{round_.seconds:.1f}",
        "reason": harmless(reason),
    }


def headings_of(names: Sequence[str], unit: Unit) -> list[str]:
    """The headings of these cells as they are shown: that of epochs may be steps.

    >>> headings_of(("round", "epochs"), "steps")
    ['round', 'steps']
    """
    return [unit if name == "epochs" else name for name in names]


def _why(round_: Round) -> str:
    """Why the round went on with its values, and of which these were made."""
    if round_.corrected is None:
        return round_.reason
    return f"{round_.reason}; made of {values_text(round_.winner.candidate)}"


def _cut(text: str) -> str:
    """A text in a cell: one line, with what a terminal would obey written out, not too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def history_rows(rounds: Sequence[Round]) -> tuple[list[list[str]], int]:
    """The cells of a run's table, its headings first, and how many rows in the middle are left out.

    >>> history_rows([])
    ([['round', 'epochs', 'values', 'score', 'gain', 'tries', 'reason']], 0)
    """
    headings = ("round", "epochs", "values", "score", "gain", "tries", "reason")
    joined: list[Round] = []  # those without tries that follow each other as one
    for round_ in rounds:
        last = joined[-1] if joined else round_
        if round_.tries or last.tries or last.failure is not None or not joined:
            joined.append(round_)
        else:
            joined[-1] = replace(
                round_, index=last.index, start=last.start, epochs=last.epochs + round_.epochs
            )
    shown = [round_cells(round_) for round_ in _ends(joined)]
    rows = [[_cut(cells[heading]) for heading in headings] for cells in shown]
    return [list(headings_of(headings, unit_of(rounds))), *rows], len(joined) - len(shown)


def history_text(rounds: Sequence[Round]) -> str:
    """A run as a short table, a row for each round; of many, those in the middle are left out."""
    if not rounds:
        return "no rounds yet"
    table = _table(*history_rows(rounds), "rounds")
    return f"{table}\n{end}" if (end := end_text(rounds)) else table


def end_text(rounds: Sequence[Round]) -> str:
    """Why a run ended before its length was trained, or nothing."""
    if not rounds or not rounds[-1].ended:
        return ""
    last = rounds[-1]
    return f"ended after {last.start + last.epochs} {unit_of(rounds)}: {_cut(last.ended)}"


def round_text(round_: Round) -> str:
    """A round as a short table, a row for each try; of many, the worst are left out."""
    marked = (round_.winner.candidate, round_.corrected) if round_.tries else ()
    best = sorted(
        range(len(round_.tries)),
        key=lambda place: (
            round_.tries[place].candidate not in marked,
            -round_.tries[place].rank_key,
        ),
    )
    rows = [_try_row(round_, place) for place in sorted(best[:ROWS])]
    value = round_.corrected
    if value is not None and not any(try_.candidate == value for try_ in round_.tries):
        corrected = [(values_text(value), "-", "-", f"{_TAKEN}, not tried")]
    else:
        corrected = []
    title = (
        f"round {round_.index}, {round_.unit} {round_.start}-{round_.start + round_.epochs}: "
        f"{values_text(round_.candidate)} ({_cut(_why(round_))})"
    )
    if not rows:
        return title
    left_out = len(round_.tries) - len(rows)
    headings = ("values", round_.unit, "score", "")
    table = _table([headings, *rows, *corrected], left_out, "worse tries", at_end=True)
    return f"{title}\n{table}"


def try_text(try_: Try) -> str:
    """A try as a short table, a row for each epoch; of many, those in the middle are left out."""
    came_of_it = f"score {try_.score:.5g}" if try_.error is None else f"failed: {_cut(try_.error)}"
    title = f"{values_text(try_.candidate)}, {try_.unit} {try_.epochs}, {came_of_it}"
    if not try_.series:
        return title
    names = list(dict.fromkeys(name for metrics in try_.series for name in metrics))
    headings = [one_of(try_.unit), *map(harmless, names)]
    rows = [
        [str(place + 1), *(f"{metrics.get(name, math.nan):.5g}" for name in names)]
        for place, metrics in _ends(try_.measured)
    ]
    return f"{title}\n{_table([headings, *rows], len(try_.series) - len(rows), try_.unit)}"


def _try_row(round_: Round, place: int) -> tuple[str, ...]:
    try_ = round_.tries[place]
    failed = try_.error is not None
    remarks = {
        "" if try_.error is None else f"failed: {_cut(try_.error)}": failed,
        "kept" if round_.corrected is None else "best": place == round_.chosen,
        _TAKEN: try_.candidate == round_.corrected,
        "in force before": try_.candidate == round_.previous and not failed,
    }
    remark = ", ".join(words for words, is_so in remarks.items() if is_so)
    return values_text(try_.candidate), str(try_.epochs), f"{try_.score:.5g}", remark


def _ends(rows: Sequence[Row]) -> list[Row]:
    """All rows, or the first and the last if there are too many."""
    half = ROWS // 2
    return list(rows) if len(rows) <= ROWS else [*rows[:half], *rows[-half:]]


def _table(rows: Sequence[Sequence[str]], left_out: int, what: str, *, at_end: bool = False) -> str:
    lines = text_table(rows).split("\n")
    if left_out:
        place = len(lines) if at_end else 1 + ROWS // 2  # the first line has the headings
        lines.insert(place, f"... {left_out} {what} more")
    return "\n".join(lines)


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
