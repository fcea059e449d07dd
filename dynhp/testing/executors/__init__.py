"""The law of executors: each answers as ``Serial`` does."""

from dynhp.testing.executors.check import check_executor

__all__ = ["check_executor"]
