"""Trainers to test with: sound small ones, and one that fails for some values."""

from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic
from dynhp.testing.toys.quadratic import example as example  # for `dynhp check`, by its entry point

__all__ = ["NoisyQuadratic", "Quadratic"]
