"""The laws of trainers and executors, and toys to test with; imports loops and below."""

from dynhp.testing.difference import difference
from dynhp.testing.laws import LAWS, LawReport, Verdict, check_trainer, trainer_checks, verdicts
from dynhp.testing.toys import Fragile, NoisyQuadratic, Quadratic, TwoSurrogates

__all__ = ["LAWS", "LawReport", "Verdict", "check_trainer", "difference", "trainer_checks"]
__all__ += ["verdicts", "Fragile", "NoisyQuadratic", "Quadratic", "TwoSurrogates"]
