"""Trainers to test with: sound small ones, and one that fails for some values."""

from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic, divided, example

__all__ = ["NoisyQuadratic", "Quadratic", "divided", "example"]
