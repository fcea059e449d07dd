"""One run of the reproduction: its settings read, its cost known, and carried out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from benchmarks.paper.compared import RATIO
from dynhp import plan_for
from dynhp.errors import Hint
from dynhp_pyg.runs.methods import adapter_for
from dynhp_pyg.runs.results import MEASURED
from dynhp_pyg.runs.run import run
from dynhp_pyg.runs.spec import LinkRun, space_of
from dynhp_pyg.splits.ratios import parse_ratios

__all__ = ["TASK_NAME", "cost", "link_run", "most_epochs", "train_run"]

TASK_NAME = "dynhp_pyg.reproduction.one:one"
"""What ledgers call `train_run`, also those written before it moved here: never change it."""

_OF_THE_DATA = ("graph", "split", "negatives", "protocol", "seed")  # without effect on the cost


def cost(settings: Mapping[str, Any]) -> float:
    """Estimate how long a run takes, in epochs on Cora.

    >>> cost({"graph": "cora", "method": "adagrid", "adapt_every": 10, "try_for": 1, "epochs": 500})
    900.0
    """
    slower = 1.4 if settings["graph"] == "citeseer" else 1.0
    return most_epochs(settings) * slower


def link_run(settings: Mapping[str, Any]) -> LinkRun:
    """Read the settings of a run.

    Communities are igraph's wherever it runs: other packages detect slightly different ones.

    >>> link_run({"graph": "cora", "split": "80/10/10", "method": "random"}).split
    (0.8, 0.1, 0.1)
    """
    given = {"communities": "igraph", **settings}
    split, space = parse_ratios(given.pop("split")), space_of(given.pop("adapts", [RATIO]))
    return LinkRun(split=split, space=space, **given)


def most_epochs(settings: Mapping[str, Any]) -> int:
    """Give the epochs that a run trains: exactly, or at most where they depend on its choices.

    >>> most_epochs({"method": "adagrid", "adapt_every": 10, "try_for": 1, "epochs": 500})
    900
    """
    method = {name: value for name, value in settings.items() if name not in _OF_THE_DATA}
    return _most_epochs(json.dumps(method, sort_keys=True))


@lru_cache(maxsize=1000)
def _most_epochs(method: str) -> int:
    settings = link_run({"split": "80/10/10", **json.loads(method)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)  # nobody is about to train what is only counted
        adapter = adapter_for(settings, _Idle(), check="off")
    return plan_for(adapter, settings.epochs).most.total


def train_run(**settings: Any) -> dict[str, Any]:
    """Train, as a campaign asks for it, and give what the tables and figures need.

    >>> result = train_run(graph="cora", split="80/10/10", method="fixed", epochs=2, width=4)
    >>> result["epochs_trained"], result["schedule"]
    (2, [(2, {'edge_message_ratio': 0.5})])
    """
    torch.set_num_threads(1)  # runs are side by side already
    result = run(link_run(settings), lean=True)
    return {
        **{name: getattr(result, name) for name in MEASURED},
        "best_epoch": result.epoch,
        "epochs_trained": result.cost.total,
        "planned": result.plan.most.total,
        "leaks": result.audit.leaks,
        "reverse_test_share": result.audit.reverse_test_share,
        "community_ratio": result.community_ratio,
        "schedule": [] if result.settings.method == "random" else result.schedule.as_list(),
    }


class _Idle:
    """A trainer that is never asked to train: a plan needs no other."""

    def get_state(self) -> None: ...
    def set_state(self, state: object) -> None: ...
    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None: ...
    def reseed(self, seed: int) -> None: ...
    def metrics(self) -> dict[str, float]:
        return {}
