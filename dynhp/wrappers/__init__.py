"""Wrappers of trainers: the best state, an unadapted line, a way back; imports loops and below."""

from dynhp.wrappers.adapted import adapt_trainer
from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.retrained import Retrainable, Retrained, RetrainedState, RollsBack
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["Delivery", "KeepBest", "Retrainable", "Retrained", "RetrainedState", "RollsBack"]
__all__ += ["Shadow", "adapt_trainer"]
