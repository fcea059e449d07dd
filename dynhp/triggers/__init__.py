"""Triggers: when a round is due, seen from the main line so far."""

from dynhp.triggers.clock import At, Every
from dynhp.triggers.combined import any_of
from dynhp.triggers.contract import Due, LineSoFar, Trigger
from dynhp.triggers.plateau import OnPlateau
from dynhp.triggers.spike import OnSpike

__all__ = ["At", "Due", "Every", "LineSoFar", "OnPlateau", "OnSpike", "Trigger", "any_of"]
