"""Tries side by side on workers: one dispatcher for every kind of worker, a transport each."""
