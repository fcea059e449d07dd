"""The laws of trainers, for anybody's trainer, and trainers to test with."""

from dynhp.testing.difference import difference
from dynhp.testing.fragile import Fragile
from dynhp.testing.laws import LAWS, Report, Verdict, check_trainer, trainer_checks, verdicts
from dynhp.testing.softmax import SoftmaxRegression
from dynhp.testing.toys import NoisyQuadratic, Quadratic, TwoSurrogates

__all__ = ["LAWS", "Report", "Verdict", "check_trainer", "difference", "trainer_checks"]
__all__ += ["verdicts", "Fragile", "NoisyQuadratic", "Quadratic", "SoftmaxRegression"]
__all__ += ["TwoSurrogates"]
