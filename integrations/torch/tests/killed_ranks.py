"""What each of two ranks that save does: ``killed_ranks.py RANK FOLDER STEP``; it prints JSON.

Rank 0 is killed just before it writes its STEP-th file, if that is not 0.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist

import dynhp.storage.folder
from dynhp import DynamicGridAdapter, lowest
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.testing import NoisyQuadratic
from dynhp_torch.distributed import Distributed

torch.set_num_threads(1)
rank, folder, step = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
dist.init_process_group(
    "gloo",
    init_method=f"file://{folder}/meet{step}",
    rank=rank,
    world_size=2,
    timeout=datetime.timedelta(days=1),
)
write, written = dynhp.storage.folder.write_atomically, 0


def write_or_die(*arguments: Any, **settings: Any) -> Any:
    global written
    written += 1
    if rank == 0 and written == step:
        os._exit(9)
    return write(*arguments, **settings)


dynhp.storage.folder.write_atomically = write_or_die
trainer = NoisyQuadratic(seed=rank, noise=2.0, dimensions=2)
adapter = DynamicGridAdapter(
    Distributed(trainer),
    {"lr": [0.02, 0.05, 0.1, 0.3]},
    criterion=lowest("loss"),
    adapt_every=4,
    try_for=2,
)
history = run_with_checkpoints(adapter, 12, checkpoint=f"{folder}/rank{rank}")
tries = [[try_.series, try_.epochs] for round_ in history for try_ in round_.tries]
chosen = [dict(round_.candidate) for round_ in history]
print(json.dumps([chosen, tries, trainer.metrics(), float(trainer.rng.random())]), flush=True)
dist.barrier()
