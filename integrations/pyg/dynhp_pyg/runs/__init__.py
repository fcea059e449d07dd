"""Whole runs of link prediction: what one is, how it is carried out, its results."""
