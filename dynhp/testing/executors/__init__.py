"""The law of executors: the answer is that of ``Serial``."""

from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.check import MakeExecutor, check_executor

__all__ = ["Chameleon", "MakeExecutor", "check_executor"]
