"""A schedule of a learning rate, as a factor: up, on, and down."""

from __future__ import annotations

from dynhp._checks import require_number
from dynhp.errors import SettingsError


def wsd(progress: float, *, warm_up: float = 0.02, decay_from: float = 0.7) -> float:
    """The factor of a rate: it rises in a straight line to 1, stays, and falls to 0.

    For the step number i of n, take the progress in its middle, ``(i + 0.5) / n``.

    Args:
        progress: how far the run is, from 0 to 1; what lies outside counts as the nearer end.
        warm_up: the share of the run in which the factor rises.
        decay_from: the progress from which on it falls.

    >>> [wsd(progress) for progress in (0.0, 0.01, 0.02, 0.5, 0.7, 1.0)]
    [0.0, 0.5, 1.0, 1.0, 1.0, 0.0]
    """
    require_number("wsd: progress", progress, "be a number", lambda number: number == number)
    for name, share in (("warm_up", warm_up), ("decay_from", decay_from)):
        require_number(f"wsd: {name}", share, "be a share from 0 to 1", lambda each: 0 <= each <= 1)
    if warm_up > decay_from:
        raise SettingsError(
            f"wsd: warm_up must end before the decay, got warm_up={warm_up} and "
            f"decay_from={decay_from}"
        )
    progress = min(1.0, max(0.0, progress))
    if progress < warm_up:
        return progress / warm_up
    return 1.0 if progress <= decay_from else (1 - progress) / (1 - decay_from)
