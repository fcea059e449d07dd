"""Proposers: which candidates a round tries, seen from records only; imports spaces and below."""

from dynhp.proposers.contract import Known, Proposer, Waves
from dynhp.proposers.grid import Drawn, FullGrid, Placebo
from dynhp.proposers.interpolation import Interpolation
from dynhp.proposers.ladder import Ladder
from dynhp.proposers.neighbors import Neighbors
from dynhp.proposers.one_axis import OneAxis

__all__ = ["Drawn", "FullGrid", "Interpolation", "Known", "Ladder", "Neighbors", "OneAxis"]
__all__ += ["Placebo", "Proposer", "Waves"]
