"""Schedules as tables: what the rate is multiplied with at each step of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dynhp.tails import wsd

__all__ = ["FACTORS", "WARM_UP", "cosine", "wsd_factors"]

WARM_UP = 0.02
"""The share of the run over which every schedule warms up."""


def cosine(steps: int) -> list[float]:
    """Down to 0 along a cosine."""
    return _warmed(steps, lambda share: (1 + math.cos(math.pi * share)) / 2)


def wsd_factors(steps: int) -> list[float]:
    """Constant until 70 % of the run, then down to 0 on a line: the schedule of dynhp."""
    return [wsd((step + 0.5) / steps, warm_up=WARM_UP) for step in range(steps)]


def _warmed(steps: int, after: Callable[[float], float]) -> list[float]:
    shares = ((step + 0.5) / steps for step in range(steps))
    return [
        share / WARM_UP if share < WARM_UP else after((share - WARM_UP) / (1 - WARM_UP))
        for share in shares
    ]


FACTORS: Mapping[str, Callable[[int], list[float]]] = {
    "cosine": cosine,
    "wsd": wsd_factors,
}
