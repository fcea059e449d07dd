"""Tries side by side on workers: one pool for every kind of worker, and a transport for each."""
