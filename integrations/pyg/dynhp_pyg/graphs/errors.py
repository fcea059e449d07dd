"""The error of graphs, files, splits and samplers."""

from __future__ import annotations

from dynhp.errors import SettingsError


class DataError(SettingsError):
    """A graph, a file, a split or a sampler breaks a rule.

    >>> raise DataError("ratios must sum to 1, got 0.9; scale them")
    Traceback (most recent call last):
    dynhp_pyg.graphs.errors.DataError: ratios must sum to 1, got 0.9; scale them
    """
