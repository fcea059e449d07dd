"""Cells of tables: means with intervals, beside the published values, and differences."""

from __future__ import annotations

from dataclasses import replace

from dynhp_pyg.paper.document import Cell, Plain, Side
from dynhp_pyg.runs.intervals import Mean

__all__ = ["DASH", "compared", "count", "difference", "measured", "number", "side_of", "signed"]
__all__ += ["EMPTY", "spaced", "words"]

DASH = "–"
EMPTY = Cell(text="", values={})
"""Where there is nothing to compare; a dash is for what is missing."""


def words(text: str, small: str = "") -> Cell:
    """A cell of text."""
    return Cell(text=text, values={"": text}, small=small)


def count(value: int) -> Cell:
    """A whole number."""
    return Cell(text=spaced(value), values={"": value})


def number(value: float | None, digits: int = 2) -> Cell:
    """A number with nothing beside it.

    >>> number(1.8).text, number(None).text
    ('1.80', '–')
    """
    text = DASH if value is None else f"{value:.{digits}f}"
    return Cell(text=text, values={"": _rounded(value)})


def measured(found: Mean | None, *, of: int, small: str = "") -> Cell:
    """A mean over seeds with its interval; their number is told where it is not ``of``.

    >>> measured(Mean(mean=97.5, half_width=0.25, count=2), of=3).text
    '97.50 ± 0.25 (2 seeds)'
    """
    text = DASH if found is None else f"{found.mean:.2f}{_beside(found, of)}"
    return Cell(text=text, values=_values(found, "mean"), small=small)


def compared(published: float | None, found: Mean | None, *, of: int, small: str = "") -> Cell:
    """Our mean, and under it the published value and, in brackets, how far ours is from it.

    >>> compared(97.17, Mean(mean=97.5, half_width=None, count=1), of=1).small
    'paper 97.17 (+0.33)'
    """
    if published is None:
        return replace(measured(found, of=of, small=small), values=_values(found, "ours"))
    apart = None if found is None else found.mean - published
    beside = f"paper {published:.2f}" + ("" if apart is None else f" ({signed(apart)})")
    return Cell(
        text=DASH if found is None else f"{found.mean:.2f}{_beside(found, of)}",
        values={"published": published, **_values(found, "ours"), "difference": _rounded(apart)},
        small=", ".join(each for each in (small, beside) if each),
    )


def difference(found: Mean | None, *, of: int) -> Cell:
    """A mean difference, marked where its interval lies wholly above or below zero.

    >>> difference(Mean(mean=-0.5, half_width=0.25, count=3), of=3).side
    'below'
    """
    values = _values(found, "difference")
    if found is None:
        return Cell(text=DASH, values=values)
    text = f"{signed(found.mean)}{_beside(found, of)}"
    return Cell(text=text, values=values, side=side_of(found))


def side_of(found: Mean) -> Side:
    """On which side of zero an interval lies, "" where it holds zero or there is none.

    >>> side_of(Mean(mean=0.5, half_width=0.25, count=3))
    'above'
    """
    if found.half_width is None or abs(found.mean) <= found.half_width:
        return ""
    return "above" if found.mean > 0 else "below"


def signed(value: float) -> str:
    """A number with its sign.

    >>> signed(0.5), signed(-0.5), signed(-0.001)
    ('+0.50', '−0.50', '+0.00')
    """
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def spaced(value: int) -> str:
    """A whole number in groups of three digits.

    >>> spaced(1234567)
    '1 234 567'
    """
    return f"{value:,}".replace(",", " ")


def _beside(found: Mean, of: int) -> str:
    interval = "" if found.half_width is None else f" ± {found.half_width:.2f}"
    if found.count == of:
        return interval
    return f"{interval} ({found.count} seed{'' if found.count == 1 else 's'})"


def _values(found: Mean | None, name: str) -> dict[str, Plain]:
    mean = None if found is None else _rounded(found.mean)
    half_width = None if found is None else _rounded(found.half_width)
    return {name: mean, "half_width_95": half_width, "seeds": 0 if found is None else found.count}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0  # never -0.0
