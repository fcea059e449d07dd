"""The short tables that ``print`` shows of a history, a round and a try."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dynhp.records.text import (
    ROWS,
    cut,
    harmless,
    headings_of,
    round_cells,
    text_table,
    values_text,
    why,
)
from dynhp.records.units import one_of, unit_of

if TYPE_CHECKING:
    from dynhp.records.history import Round, Try

__all__ = ["history_text", "round_text", "try_text"]

Row = TypeVar("Row")


def history_text(rounds: Sequence[Round]) -> str:
    """A run as a short table: a row for each round, those in the middle left out where many."""
    if not rounds:
        return "no rounds yet"
    headings = ("round", "epochs", "values", "score", "gain", "tries", "reason")
    joined = _joined(rounds)
    shown = [round_cells(round_) for round_ in _ends(joined)]
    rows = [[cut(cells[heading]) for heading in headings] for cells in shown]
    titles = headings_of(headings, unit_of(rounds))
    return _table([titles, *rows], len(joined) - len(shown), "rounds")


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
    marked = (round_.winner.candidate, round_.corrected) if round_.tries else ()
    best = sorted(
        range(len(round_.tries)),
        key=lambda place: (
            round_.tries[place].candidate not in marked,
            -round_.tries[place].rank_key,
        ),
    )
    rows = [_try_row(round_, place) for place in sorted(best[:ROWS])]
    title = (
        f"round {round_.index}, {round_.unit} {round_.start}-{round_.start + round_.epochs}: "
        f"{values_text(round_.candidate)} ({cut(why(round_))})"
    )
    if not rows:
        return title
    left_out = len(round_.tries) - len(rows)
    headings = ("values", round_.unit, "score", "")
    table = _table([headings, *rows, *_corrected_row(round_)], left_out, "worse tries", at_end=True)
    return f"{title}\n{table}"


def try_text(try_: Try) -> str:
    """A try as a short table: a row for each epoch, those in the middle left out where many."""
    came_of_it = f"score {try_.score:.5g}" if try_.error is None else f"failed: {cut(try_.error)}"
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
        "" if try_.error is None else f"failed: {cut(try_.error)}": failed,
        "kept" if round_.corrected is None else "best": place == round_.chosen,
        _TAKEN: try_.candidate == round_.corrected,
        "in force before": try_.candidate == round_.previous and not failed,
    }
    remark = ", ".join(words for words, is_so in remarks.items() if is_so)
    return values_text(try_.candidate), str(try_.epochs), f"{try_.score:.5g}", remark


_TAKEN = "taken: the best, corrected by then="


def _corrected_row(round_: Round) -> list[tuple[str, ...]]:
    """The value that a round went on with, where it was made of the best and no try had it."""
    value = round_.corrected
    if value is None or any(try_.candidate == value for try_ in round_.tries):
        return []
    return [(values_text(value), "-", "-", f"{_TAKEN}, not tried")]


def _ends(rows: Sequence[Row]) -> list[Row]:
    """All rows, or the first and the last where there are too many."""
    half = ROWS // 2
    return list(rows) if len(rows) <= ROWS else [*rows[:half], *rows[-half:]]


def _table(rows: Sequence[Sequence[str]], left_out: int, what: str, *, at_end: bool = False) -> str:
    lines = text_table(rows).split("\n")
    if left_out:
        place = len(lines) if at_end else 1 + ROWS // 2  # the first line has the headings
        lines.insert(place, f"... {left_out} {what} more")
    return "\n".join(lines)
