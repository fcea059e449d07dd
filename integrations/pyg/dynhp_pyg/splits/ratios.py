"""The shares of training, validation and test edges."""

from __future__ import annotations

import math

from dynhp_pyg.graphs.errors import DataError

Ratios = tuple[float, float, float]


def parse_ratios(text: str) -> Ratios:
    """Split ratios from text, in percent or as shares.

    >>> parse_ratios("80/10/10")
    (0.8, 0.1, 0.1)
    """
    try:
        numbers = [float(part) for part in text.split("/")]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise DataError(f"a split is three numbers, like '80/10/10', got {text!r}")
    scale = 1 if abs(sum(numbers) - 1) < 1e-6 else 100
    first, second, third = (number / scale for number in numbers)
    return checked_ratios((first, second, third))


def checked_ratios(ratios: Ratios) -> Ratios:
    """The same ratios, if they are three positive shares of one whole.

    >>> checked_ratios((0.5, 0.25, 0.25))
    (0.5, 0.25, 0.25)
    """
    if len(ratios) != 3 or not all(math.isfinite(ratio) and ratio > 0 for ratio in ratios):
        raise DataError(f"split ratios must be three positive numbers, got {ratios!r}")
    if abs(sum(ratios) - 1) > 1e-6:
        raise DataError(
            f"split ratios must sum to 1 (or 100 percent), got {ratios!r} with sum "
            f"{sum(ratios):.6g}; for example 0.8, 0.1, 0.1"
        )
    return ratios
