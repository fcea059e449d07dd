"""Trainers to test with: sound small ones, and one that fails for some values."""

from dynhp.testing.toys.fragile import Fragile
from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic, TwoSurrogates, divided, example

__all__ = ["Fragile", "NoisyQuadratic", "Quadratic", "TwoSurrogates", "divided", "example"]
