"""Drivers: what answers the commands of rounds; they own the trainer and its states."""

from dynhp.drivers.driver import Driver
from dynhp.drivers.states import StateTable
from dynhp.drivers.trainer import TrainerDriver

__all__ = ["Driver", "StateTable", "TrainerDriver"]
