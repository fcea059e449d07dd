"""Lets the scenarios import what they share, and keeps JAX from optimising what runs once."""

from __future__ import annotations

import sys
from pathlib import Path

import keras

sys.path.insert(0, str(Path(__file__).parent))
if keras.config.backend() == "jax":
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
