"""Adaptation in a loop of your own: epochs, parts of a state, values; imports adapter and below."""

from dynhp.loops.adapt import Loop, adapt
from dynhp.loops.bindings import Binding, attribute
from dynhp.loops.epoch import Epoch
from dynhp.loops.parts import Part

__all__ = ["Binding", "Epoch", "Loop", "Part", "adapt", "attribute"]
