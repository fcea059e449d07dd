"""From the plain settings of a campaign to those of a run, and to what it will cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dynhp import plan_for
from dynhp_pyg.runs.methods import adapter_for
from dynhp_pyg.runs.spec import LinkRun, space_of
from dynhp_pyg.splits.ratios import parse_ratios

__all__ = ["link_run", "most_epochs"]

_OF_THE_DATA = ("graph", "split", "negatives", "protocol", "seed")


def link_run(run: Mapping[str, Any]) -> LinkRun:
    """Read the settings of a run.

    Communities are igraph's, wherever it runs: other packages find slightly other ones.

    >>> link_run({"graph": "cora", "split": "80/10/10", "method": "random"}).split
    (0.8, 0.1, 0.1)
    """
    given = {"communities": "igraph", **run}
    split = parse_ratios(given.pop("split"))
    return LinkRun(
        split=split, space=space_of(given.pop("adapts", ["edge_message_ratio"])), **given
    )


def most_epochs(run: Mapping[str, Any]) -> int:
    """Give the epochs that a run trains: exactly, or at most where that depends on the way.

    >>> most_epochs({"method": "adagrid", "adapt_every": 10, "try_for": 1, "epochs": 500})
    900
    """
    how = {name: value for name, value in run.items() if name not in _OF_THE_DATA}
    return _most_epochs(json.dumps(how, sort_keys=True))


@lru_cache(maxsize=1000)
def _most_epochs(how: str) -> int:
    settings = link_run({"split": "80/10/10", **json.loads(how)})
    return plan_for(adapter_for(settings, _Idle()), settings.epochs).most.total


class _Idle:
    """A trainer that is never asked to train."""

    def get_state(self) -> None: ...
    def set_state(self, state: object) -> None: ...
    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None: ...
    def reseed(self, seed: int) -> None: ...
    def metrics(self) -> dict[str, float]:
        return {}
