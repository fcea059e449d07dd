"""Whole runs: what a run is, how it is carried out, its results; imports model and below."""
