"""Wrappers around a trainer or an adapter: the best state kept, an unadapted line beside."""

from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["Delivery", "KeepBest", "Shadow"]
