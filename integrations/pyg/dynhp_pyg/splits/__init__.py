"""Splits: training, validation and test edges, negatives, an audit of leaks; imports graphs."""
