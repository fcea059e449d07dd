"""Splits: training, validation and test edges, their negatives, and an audit of leaks."""
