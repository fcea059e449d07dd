"""Tails: what a try runs before it is judged, what its value becomes, how values go in a run."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.tails.annealing import annealed
    from dynhp.tails.averaging import averaged
    from dynhp.tails.corrections import at_peak, scale
    from dynhp.tails.schedules import scheduled, wsd
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "annealing": "annealed",
            "averaging": "averaged",
            "corrections": "at_peak scale",
            "schedules": "scheduled wsd",
        },
    )

__all__ = ["annealed", "at_peak", "averaged", "scale", "scheduled", "wsd"]
