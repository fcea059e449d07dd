"""The law of executors, the answer of ``Serial``; may import the core, ``laws`` and ``toys``."""

from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.check import MakeExecutor, check_executor

__all__ = ["Chameleon", "MakeExecutor", "check_executor"]
