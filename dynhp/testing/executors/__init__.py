"""The law of executors: the answer is that of ``Serial``."""
