"""A run in a cell of a notebook: its table, and a picture of its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from dynhp.records import Round
from dynhp.records.history import kept_epochs
from dynhp.records.text import end_text, harmless, history_rows, label
from dynhp.records.units import unit_of
from dynhp.report.text import values_seen

__all__ = ["history_html"]

_WIDTH, _LEFT, _ROW, _TOP = 640, 110, 16, 22  # of a picture, in pixels
_MOST_NAMES = 6
_MOST_VALUES = 12  # that are written beside it


def history_html(rounds: Sequence[Round]) -> str:
    """The table that ``print`` shows and, for each hyperparameter, what was tried and in force.

    Nothing in it is a script, so that every notebook shows it.

    >>> history_html([])
    '<p>no rounds yet</p>'
    """
    if not rounds:
        return "<p>no rounds yet</p>"
    (headings, *rows), left_out = history_rows(rounds)
    if left_out:
        rows.insert(len(rows) // 2, [f"... {left_out} rounds more"])
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    end = end_text(rounds)
    pictures = [_picture(rounds, name) for name in list(rounds[0].previous)[:_MOST_NAMES]]
    return (
        "".join(pictures)
        + f"<table><thead><tr>{_cells('th', headings)}</tr></thead><tbody>{body}</tbody></table>"
        + (f"<p>{escape(end)}</p>" if end else "")
    )


def _cells(kind: str, texts: Sequence[str]) -> str:
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)


def _picture(rounds: Sequence[Round], name: str) -> str:
    """The value in force as a line and what was tried as dots; values stand one above the other."""
    seen: list[Any] = list(values_seen(rounds, name) | {rounds[0].previous[name]})
    numbers = all(isinstance(value, int | float) for value in seen)
    seen.sort(key=None if numbers else str, reverse=True)
    heights = {value: _TOP + _ROW * (place + 0.5) for place, value in enumerate(seen)}
    kept = kept_epochs(rounds)
    end = max(1, rounds[-1].start + rounds[-1].epochs)

    def across(epoch: int) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 10) * epoch / end, 1)

    line = []
    for round_, epochs in zip(rounds, kept, strict=True):
        if epochs:
            y = heights[round_.candidate[name]]
            line.append(f"{across(round_.start)},{y} {across(round_.start + epochs)},{y}")
    dots = dict.fromkeys(
        (across(round_.start), heights[try_.candidate[name]])
        for round_ in rounds
        for try_ in round_.tries
    )
    beside = seen[:: -(-len(seen) // _MOST_VALUES)]
    bottom = _TOP + _ROW * len(seen)
    text = [
        f'<text x="0" y="14" font-weight="bold">{escape(harmless(name))}</text>',
        *(
            f'<text x="{_LEFT - 8}" y="{heights[value] + 4}" text-anchor="end">'
            f"{escape(harmless(label(value)))}</text>"
            for value in beside
        ),
        f'<text x="{_LEFT}" y="{bottom + 14}">0</text>',
        f'<text x="{_WIDTH - 10}" y="{bottom + 14}" text-anchor="end">'
        f"{end} {unit_of(rounds)}</text>",
    ]
    circles = "".join(f'<circle cx="{x}" cy="{y}" r="3"/>' for x, y in dots)
    return (
        f'<svg width="{_WIDTH}" height="{bottom + 20}" role="img" font-size="12" '
        f'font-family="sans-serif" fill="currentColor"><title>{escape(harmless(name))}: in force '
        f'(line) and tried (dots)</title>{"".join(text)}<g fill="#9aa5ae">{circles}</g>'
        f'<polyline points="{" ".join(line)}" fill="none" stroke="#2364aa" '
        'stroke-width="2"/></svg>'
    )
