"""Criteria: what a try is worth, given its metrics per epoch."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.criteria.combined import phased, smoothed, worse_of
    from dynhp.criteria.contract import Criterion
    from dynhp.criteria.gap import smallest_gap
    from dynhp.criteria.metric import highest, lowest
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "combined": "phased smoothed worse_of",
            "contract": "Criterion",
            "gap": "smallest_gap",
            "metric": "highest lowest",
        },
    )

__all__ = ["Criterion", "highest", "lowest", "phased", "smallest_gap", "smoothed", "worse_of"]
