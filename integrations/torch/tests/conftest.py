"""One thread, here and in processes started from here: sums come out the same everywhere."""

from __future__ import annotations

import os

import torch

os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# Scripts that every rank runs; they are no modules.
collect_ignore = ["two_ranks.py", "killed_ranks.py"]
