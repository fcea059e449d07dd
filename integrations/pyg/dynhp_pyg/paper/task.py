"""One run of the reproduction, as a campaign calls it: plain settings in, plain results out."""

from __future__ import annotations

from typing import Any

import torch

from dynhp_pyg.paper.setting import link_run
from dynhp_pyg.runs.run import run

__all__ = ["TASK_NAME", "one"]

TASK_NAME = "dynhp_pyg.reproduction.one:one"
"""What ledgers call the task, also those of before it was moved here: never change it."""


def one(**settings: Any) -> dict[str, Any]:
    """Train and give what the tables and figures need.

    >>> found = one(graph="cora", split="80/10/10", method="fixed", epochs=2, width=4, seed=0)
    >>> found["epochs_trained"], found["schedule"]
    (2, [(2, {'edge_message_ratio': 0.5})])
    """
    torch.set_num_threads(1)  # runs are side by side already
    result = run(link_run(settings), lean=True)
    return {
        "test_auc": result.test_auc,
        "test_ap": result.test_ap,
        "val_auc": result.val_auc,
        "best_epoch": result.epoch,
        "epochs_trained": result.cost.total,
        "planned": result.plan.most.total,
        "leaks": result.audit.leaks,
        "reverse_test_share": result.audit.reverse_test_share,
        "community_ratio": result.community_ratio,
        "schedule": [] if result.settings.method == "random" else result.schedule.as_list(),
    }
