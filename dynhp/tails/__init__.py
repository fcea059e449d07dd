"""Tails: what a try runs before it is judged, and what its value becomes; imports spaces."""

from dynhp.tails.rates import annealed, scale, wsd

__all__ = ["annealed", "scale", "wsd"]
