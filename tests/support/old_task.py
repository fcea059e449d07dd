"""Tasks whose place the headers of old ledgers name: never move or rename them."""

from __future__ import annotations

import random
from typing import Any


def scored(*, method: str, seed: int, scale: float = 1.0) -> dict[str, Any]:
    """A run like any other: numbers that follow from its settings, a curve, and a failure."""
    if (method, seed) == ("grid", 1):
        raise ValueError("this one never works,\nnot even the second time")
    rng = random.Random(f"{method}-{seed}")
    curve = [scale * rng.random() for _ in range(3)]
    return {"auc": curve[-1], "curve": curve, "best": None, "kind": "é" if seed else "e"}
