"""The published code's way to train: in which settings it differs from the paper's text."""

from __future__ import annotations

from typing import Any

from dynhp.errors import SettingsError
from dynhp_pyg.runs.spec import WITH_TRIES

__all__ = ["PROTOCOLS", "published_settings"]

PROTOCOLS = ("undirected", "paper", "published")
"""What commands call a protocol: the two kinds of splits, and "paper" trained as published."""


def published_settings(method: str, adapt_every: int) -> dict[str, Any]:
    """Give the settings of a method as the published code has them.

    Every try has a new optimiser and a new schedule there, into which the states are loaded. With
    the torch that it asks for this puts the learning rate back to its first value in each round.
    Methods without tries keep theirs. Tries go on with the random numbers of the try before.

    >>> published_settings("adagrid", 10)
    {'protocol': 'paper', 'rate_restarts': 10, 'randomness': 'independent'}
    >>> published_settings("random", 10)
    {'protocol': 'paper'}
    """
    if method == "recommended":
        raise SettingsError(
            "the published code knows no method='recommended', whose rounds are of another length; "
            "use protocol 'paper', and restart the rate as you want it"
        )
    if method not in WITH_TRIES:
        return {"protocol": "paper"}
    return {"protocol": "paper", "rate_restarts": adapt_every, "randomness": "independent"}
