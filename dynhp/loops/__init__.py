"""Adaptation in a loop of your own: epochs, parts of a state, values."""

from dynhp.loops.adapt import adapt
from dynhp.loops.bindings import Binding, attribute
from dynhp.loops.counter import Counter
from dynhp.loops.driver import LoopDriver, Move
from dynhp.loops.epoch import Epoch
from dynhp.loops.everything import everything
from dynhp.loops.loop import Loop
from dynhp.loops.options import CallbackSettings, LoopOptions, policy_and_others, with_options
from dynhp.loops.parts import Part, copied

__all__ = [
    "Binding",
    "CallbackSettings",
    "Counter",
    "Epoch",
    "Loop",
    "LoopDriver",
    "LoopOptions",
    "Move",
    "Part",
    "adapt",
    "attribute",
]
__all__ += ["copied", "everything", "policy_and_others", "with_options"]
