"""Wrappers around a trainer or an adapter: one keeps the best state, one an unadapted line."""

from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["Delivery", "KeepBest", "Shadow"]
