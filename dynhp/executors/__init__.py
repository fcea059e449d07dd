"""Executors: what carries out the tries of a round."""

import importlib
import typing

from dynhp.executors.batched import Batched
from dynhp.executors.contract import Executor, Job, Outcome
from dynhp.executors.serial import Serial

if typing.TYPE_CHECKING:
    from dynhp.executors.pool.processes import Processes
else:

    def __getattr__(name: str) -> typing.Any:  # most runs have no workers
        if name == "pool":
            return importlib.import_module("dynhp.executors.pool")
        if name != "Processes":
            raise AttributeError(f"module 'dynhp.executors' has no attribute {name!r}")
        globals()[name] = importlib.import_module("dynhp.executors.pool.processes").Processes
        return globals()[name]


__all__ = ["Batched", "Executor", "Job", "Outcome", "Processes", "Serial"]
