"""Triggers: when a round is due, seen from the main line so far."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.triggers.clock import At, Every
    from dynhp.triggers.combined import any_of
    from dynhp.triggers.contract import Due, LineSoFar, Trigger
    from dynhp.triggers.plateau import OnPlateau
    from dynhp.triggers.settled import Settled
    from dynhp.triggers.spike import OnSpike
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "clock": "At Every",
            "combined": "any_of",
            "contract": "Due LineSoFar Trigger",
            "plateau": "OnPlateau",
            "settled": "Settled",
            "spike": "OnSpike",
        },
    )

__all__ = ["At", "Due", "Every", "LineSoFar", "OnPlateau", "OnSpike", "Settled", "Trigger"]
__all__ += ["any_of"]
