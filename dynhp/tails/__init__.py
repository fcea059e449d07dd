"""Tails: what a try runs before it is judged, and what its value becomes; imports spaces."""

from dynhp.tails.annealed import annealed
from dynhp.tails.contract import Correction, Tail
from dynhp.tails.correction import scale
from dynhp.tails.wsd import wsd

__all__ = ["Correction", "Tail", "annealed", "scale", "wsd"]
