"""Drivers: what answers the commands of rounds; they own the trainer and its states."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.drivers.driver import Driver
    from dynhp.drivers.states import StateTable
    from dynhp.drivers.trainer import TrainerDriver
else:
    __getattr__, __dir__ = lazily(
        __name__, {"driver": "Driver", "states": "StateTable", "trainer": "TrainerDriver"}
    )

__all__ = ["Driver", "StateTable", "TrainerDriver"]
