"""The laws of trainers and executors, and toys to test with."""

from dynhp.selfcheck.difference import difference
from dynhp.testing.laws import LAWS, check_trainer, trainer_checks
from dynhp.testing.toys import NoisyQuadratic, Quadratic

__all__ = ["LAWS", "check_trainer", "difference", "trainer_checks", "NoisyQuadratic", "Quadratic"]
