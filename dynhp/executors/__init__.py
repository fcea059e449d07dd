"""Executors: what carries out the tries of a round."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.executors.batched import Batched
    from dynhp.executors.contract import Executor, Job, Outcome
    from dynhp.executors.pool.processes import Processes
    from dynhp.executors.serial import Serial
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "batched": "Batched",
            "contract": "Executor Job Outcome",
            "pool": "",
            "pool.processes": "Processes",
            "serial": "Serial",
        },
    )

__all__ = ["Batched", "Executor", "Job", "Outcome", "Processes", "Serial"]
