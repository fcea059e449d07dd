"""The laws of trainers, for anybody's trainer, and trainers to test with."""

from dynhp.testing.difference import difference
from dynhp.testing.laws.check import (
    LAWS,
    Report,
    Verdict,
    check_trainer,
    trainer_checks,
    verdicts,
)
from dynhp.testing.toys.fragile import Fragile
from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic, TwoSurrogates

__all__ = ["LAWS", "Report", "Verdict", "check_trainer", "difference", "trainer_checks"]
__all__ += ["verdicts", "Fragile", "NoisyQuadratic", "Quadratic"]
__all__ += ["TwoSurrogates"]
