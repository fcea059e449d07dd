"""The laws of trainers, one file per law, and the experiments they are made of."""

from dynhp.testing.laws.check import LAWS, check_trainer, trainer_checks

__all__ = ["LAWS", "check_trainer", "trainer_checks"]
