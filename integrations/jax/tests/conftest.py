"""Lets the tests import what they share, and keeps JAX from optimising what runs once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jax

sys.path.insert(0, str(Path(__file__).parent))
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # of other processes
jax.config.update("jax_disable_most_optimizations", True)
