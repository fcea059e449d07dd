"""Criteria: what a try is worth, given its metrics per epoch."""

from dynhp.criteria.combined import phased, smoothed
from dynhp.criteria.contract import Criterion
from dynhp.criteria.gap import smallest_gap
from dynhp.criteria.metric import highest, lowest

__all__ = ["Criterion", "highest", "lowest", "phased", "smallest_gap", "smoothed"]
