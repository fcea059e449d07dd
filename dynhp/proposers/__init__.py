"""Proposers: which candidates a round tries; they see records, never states."""

from dynhp.proposers.contract import Known, Proposer, Waves
from dynhp.proposers.grid import FullGrid, Placebo
from dynhp.proposers.interpolation import Interpolation
from dynhp.proposers.neighbors import Neighbors
from dynhp.proposers.one_axis import OneAxis

__all__ = ["FullGrid", "Interpolation", "Known", "Neighbors", "OneAxis", "Placebo", "Proposer"]
__all__ += ["Waves"]
