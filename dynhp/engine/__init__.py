"""The engine: Algorithm 1 as a generator of commands, over a memory that never changes."""

from dynhp.engine.commands import Commands, Job
from dynhp.engine.memory import Memory, StateRef, first_memory
from dynhp.engine.round import Conditions, one_round

__all__ = ["Commands", "Conditions", "Job", "Memory", "StateRef", "first_memory", "one_round"]
