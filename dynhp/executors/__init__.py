"""Executors: who carries out the tries of a round."""

from dynhp.executors.batched import Batched
from dynhp.executors.contract import Executor
from dynhp.executors.processes import Processes
from dynhp.executors.serial import Serial

__all__ = ["Batched", "Executor", "Processes", "Serial"]
