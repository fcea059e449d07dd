"""Tails: what a try runs before it is judged, what its value becomes, how values go in a run."""

from dynhp.tails.annealing import annealed
from dynhp.tails.corrections import scale
from dynhp.tails.schedules import scheduled, wsd

__all__ = ["annealed", "scale", "scheduled", "wsd"]
