"""Proposers: which candidates a round tries; they see records and spaces, never states."""

from dynhp.proposers.contract import Known, Proposer, Waves
from dynhp.proposers.grid import Drawn, FullGrid, Placebo
from dynhp.proposers.interpolation import Interpolation
from dynhp.proposers.neighbors import Neighbors
from dynhp.proposers.one_axis import OneAxis

__all__ = ["Drawn", "FullGrid", "Interpolation", "Known", "Neighbors", "OneAxis", "Placebo"]
__all__ += ["Proposer", "Waves"]
