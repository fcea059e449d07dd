"""Adaptation in a loop of your own: epochs, parts of a state, values; imports adapter and below."""

from dynhp.loops.adapt import Loop, adapt
from dynhp.loops.bindings import Binding, attribute
from dynhp.loops.counter import Counter
from dynhp.loops.epoch import Epoch
from dynhp.loops.everything import everything
from dynhp.loops.parts import Part, copied

__all__ = ["Binding", "Counter", "Epoch", "Loop", "Part", "adapt", "attribute", "copied"]
__all__ += ["everything"]
