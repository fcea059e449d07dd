"""Long series made shorter for a page, so that it stays small: what is left shows the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynhp.records import Round

__all__ = ["extremes", "places_kept"]


def extremes(values: Sequence[float | None], most: int) -> list[int]:
    """The places to keep of a series: all, or the lowest and the highest of each of equal parts.

    >>> extremes([3.0, 1.0, 2.0, 9.0], 4), extremes([0.0, 5.0, 1.0, 2.0, 2.0, -3.0, 0.0, 0.0], 4)
    ([0, 1, 2, 3], [0, 1, 5, 7])
    """
    if len(values) <= most:
        return list(range(len(values)))
    parts = max(1, most // 2 - 1)
    kept = {0, len(values) - 1}
    for part in range(parts):
        places = range(part * len(values) // parts, (part + 1) * len(values) // parts)
        finite = [(values[place], place) for place in places if _is_finite(values[place])]
        kept |= {min(finite)[1], max(finite)[1]} if finite else {places[0]}
    return sorted(kept)


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def places_kept(round_: Round, most: int) -> list[int]:
    """Which tries of a round to show: all, or those that are marked, and evenly by rank.

    Marked are the kept one, the value in force before, and the one that a correction led to.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [3, 2, 1, 4, 5]}, criterion=lowest("loss"),
    ...                            epochs=1)
    >>> places_kept(round_, 9), places_kept(round_, 3)
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    tries = round_.tries
    if len(tries) <= most:
        return list(range(len(tries)))
    order = sorted(range(len(tries)), key=lambda place: -tries[place].rank_key)
    kept = {round_.chosen, order[0], order[-1]}
    marked = (round_.previous, round_.corrected)
    kept |= {place for place in order if tries[place].candidate in marked}
    rest = [place for place in order if place not in kept]
    left = max(0, min(len(rest), most - len(kept)))
    return sorted(kept | {rest[i * len(rest) // left] for i in range(left)})
