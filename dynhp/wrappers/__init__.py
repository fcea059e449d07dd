"""Wrappers that keep the best state, or an unadapted line; imports planning, adapter and below."""

from dynhp.wrappers.adapted import adapt_trainer
from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.replayed import Replayable, Replayed, ReplayedState, RollsBack
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["Delivery", "KeepBest", "Replayable", "Replayed", "ReplayedState", "RollsBack", "Shadow"]
__all__ += ["adapt_trainer"]
