"""The engine: Algorithm 1 as a generator of commands, over a memory that never changes."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.engine.commands import Commands, Job
    from dynhp.engine.line import is_over
    from dynhp.engine.memory import Memory, StateRef, first_memory
    from dynhp.engine.round import Conditions, check_is_due, one_round
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "commands": "Commands Job",
            "line": "is_over",
            "memory": "Memory StateRef first_memory",
            "round": "Conditions check_is_due one_round",
        },
    )

__all__ = ["Commands", "Conditions", "Job", "Memory", "StateRef"]
__all__ += ["check_is_due", "first_memory", "is_over", "one_round"]
