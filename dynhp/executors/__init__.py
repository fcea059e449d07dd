"""Executors: what carries out the tries of a round; imports rounds and below."""

from dynhp.executors.batched import Batched
from dynhp.executors.pool.processes import Processes
from dynhp.executors.serial import Serial
from dynhp.rounds.jobs import Executor, Job, Outcome

__all__ = ["Batched", "Executor", "Job", "Outcome", "Processes", "Serial"]
