"""Engines: how one epoch is computed, fast or as the plain reference; a part of model."""
