"""Runs on disk: checkpoints, journals, and the files they are written to."""
