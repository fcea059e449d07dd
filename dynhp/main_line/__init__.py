"""The main line: what triggers see of it, and the states it can go back to; imports triggers."""

from dynhp.main_line.snapshots import InMemory, Snapshots, StateStore

__all__ = ["InMemory", "Snapshots", "StateStore"]
