"""Which rows are held out to judge tries by."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynhp.errors import SettingsError

__all__ = ["held_out_rows"]


def held_out_rows(y: Any, fraction: float, classes: Any, *, seed: int) -> Any:
    """For each row whether it is held out: the same part of each class, and of no class all.

    >>> int(held_out_rows(np.array([0, 0, 0, 0, 1, 1]), 0.25, [0, 1], seed=0).sum())
    2
    """
    rng = np.random.default_rng(seed)
    least = 1
    if classes is None:
        groups, least = [np.arange(len(y))], 2  # of one row there is no R² score
    else:
        groups = [np.flatnonzero(y == each) for each in classes]
    rows = [
        rng.permutation(group)[: max(least, round(fraction * len(group)))]
        for group in groups
        if len(group) > least
    ]
    if not rows:
        raise SettingsError(
            f"nothing can be held out to judge tries by: n_samples = {len(y)} are too few; give "
            "more data"
        )
    held_out = np.zeros(len(y), dtype=bool)
    held_out[np.concatenate(rows)] = True
    return held_out
