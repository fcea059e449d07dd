"""Displays of runs: their contract, and how a run leads to one what it does; imports rounds."""

from dynhp.display.contract import Display, StretchBegins, TriesBegin, TryScored
from dynhp.display.lead import shown_on

__all__ = ["Display", "StretchBegins", "TriesBegin", "TryScored", "shown_on"]
