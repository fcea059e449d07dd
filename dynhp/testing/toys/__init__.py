"""Trainers to test with: honest little ones, and broken ones with one mistake each."""

from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic, TwoSurrogates, example

__all__ = ["NoisyQuadratic", "Quadratic", "TwoSurrogates", "example"]
