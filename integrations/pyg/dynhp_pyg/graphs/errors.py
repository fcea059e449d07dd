"""The errors of the data side: each says the rule, what was got, and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from dynhp.errors import SettingsError


class DataError(SettingsError):
    """A graph, a file, a split or a sampler that breaks a rule.

    >>> raise DataError("ratios must sum to 1, got 0.9; scale them")
    Traceback (most recent call last):
    dynhp_pyg.graphs.errors.DataError: ratios must sum to 1, got 0.9; scale them
    """


def unknown_name(kind: str, name: object, known: Iterable[str]) -> DataError:
    """The error for a name that is not known, with the nearest one that is.

    >>> str(unknown_name("dataset", "coar", ["cora", "citeseer"]))
    "unknown dataset 'coar'; did you mean 'cora'? (known: 'cora', 'citeseer')"
    """
    names = list(known)
    lowered = {each.lower(): each for each in names}
    # Cutoff 0: a far-off name still gets the nearest known one.
    near = get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.0)
    hint = f"; did you mean {lowered[near[0]]!r}?" if near else ";"
    return DataError(f"unknown {kind} {name!r}{hint} (known: {', '.join(map(repr, names))})")
