"""One thread, here and in processes started from here: sums come out the same everywhere."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
