"""Executors: who carries out the tries of a round."""

from dynhp.executors.contract import Executor
from dynhp.executors.serial import Serial

__all__ = ["Executor", "Serial"]
