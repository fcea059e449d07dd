"""Wrappers of trainers: the best state, an unadapted line, a way back."""

from dynhp.wrappers.adapted import adapt_trainer
from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.retrained import Retrained
from dynhp.wrappers.shadow import Shadow

__all__ = ["KeepBest", "Retrained", "Shadow", "adapt_trainer"]
