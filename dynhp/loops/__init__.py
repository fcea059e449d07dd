"""Adaptation inside a loop of your own: its epochs, the parts of its state, bound values."""
