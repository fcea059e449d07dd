"""Wrappers that keep the best state, or an unadapted line; imports planning, adapter and below."""

from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["Delivery", "KeepBest", "Shadow"]
