"""Which runs make up the paper's tables, headline and variants, and how one is carried out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, Literal, get_args

import torch

from dynhp import plan_for
from dynhp.errors import SettingsError
from dynhp_pyg.checks import whole
from dynhp_pyg.paper.compared import RATIO, Pair
from dynhp_pyg.runs.methods import adapter_for
from dynhp_pyg.runs.published import published_settings
from dynhp_pyg.runs.results import MEASURED
from dynhp_pyg.runs.run import run
from dynhp_pyg.runs.spec import RATIOS, LinkRun, space_of
from dynhp_pyg.splits.ratios import parse_ratios

__all__ = ["CRITERIA", "GRAPHS", "NEGATIVES", "PAIRS", "SPLITS", "TASK_NAME", "Part", "cost"]
__all__ += ["link_run", "most_epochs", "runs_of", "train_run"]

Part = Literal["tables", "headline", "variants", "quick", "published", "fair"]
RunSettings = dict[str, Any]

TASK_NAME = "dynhp_pyg.reproduction.one:one"
"""What ledgers call `train_run`, also those written before it moved here: never change it."""

GRAPHS = ("cora", "citeseer")
SPLITS = ("20/40/40", "50/25/25", "80/10/10")
NEGATIVES = ("uniform", "community")
CRITERIA = ("validation", "gap")
PAIRS = ((100, 1), (100, 5), (100, 100), (50, 1), (50, 5), (50, 50), (10, 1), (10, 5), (10, 10))
"""The paper's pairs of adapt epochs and try epochs, in the order of its tables."""

MAIN_PAIR: Mapping[str, Pair] = {"uniform": (10, 1), "community": (10, 5)}
"""The pair of adapt epochs and try epochs that the text's table of each sampler shows."""

CONFIRMED: RunSettings = {"graph": "cora", "split": "80/10/10", "negatives": "community"}
"""The column in which a gain of AdaGrid is looked for with twice as many seeds."""

_OF_THE_DATA = ("graph", "split", "negatives", "protocol", "seed")  # without effect on the cost
_REGULAR = ("learning_rate_scale", "weight_decay", "dropout")


def runs_of(
    part: Part, *, protocol: str, seeds: int, layers: int = 2, width: int = 64, epochs: int = 500
) -> list[RunSettings]:
    """Give the settings of every run of a part, the seed changing slowest.

    - tables: both graphs, three splits, two samplers; complete and random search, AdaGrid with
      nine pairs of epochs and two criteria, two placebos;
    - headline: 80/10/10 only; complete and random search, AdaGrid 10/1 and its placebo;
    - variants: 80/10/10, uniform negatives; other proposers and other hyperparameters;
    - quick: Cora 80/10/10, uniform negatives; complete search, random search and AdaGrid 10/1;
    - published: the columns of tables; the searches, AdaGrid 10/1 and 10/5 with the learning rate
      of the published code and as the paper's text has it, and the same restarts of the rate
      without adaptation;
    - fair: 80/10/10; every method with the same restarts of the rate, and a constant rate. One
      column, in which AdaGrid may have something left, has twice as many seeds.

    Complete search is nine runs with a fixed ratio each: its result is the one that validates
    best, and nothing is trained twice.

    >>> len(runs_of("tables", protocol="paper", seeds=3)), len(runs_of("quick", protocol="paper",
    ...                                                                seeds=1))
    (1080, 11)
    """
    if part not in get_args(Part):
        raise SettingsError(f"part must be one of {get_args(Part)}, got {part!r}")
    whole("seeds", seeds, least=1)
    model = {"protocol": protocol, "layers": layers, "width": width, "epochs": epochs}
    return [
        {**column, **model, **method, "seed": seed}
        for column, seed in _columns_and_seeds(part, protocol, seeds)
        for method in _methods(part, column)
    ]


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
    return plan_for(adapter_for(settings, _Idle(), check="off"), settings.epochs).most.total


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


def _columns_and_seeds(part: Part, protocol: str, seeds: int) -> Iterator[tuple[RunSettings, int]]:
    for seed in range(seeds):
        yield from ((column, seed) for column in _columns(part))
    if part == "fair" and protocol == "undirected":
        yield from ((CONFIRMED, seed) for seed in range(seeds, 2 * seeds))


def _columns(part: Part) -> list[RunSettings]:
    splits = SPLITS if part in ("tables", "published") else SPLITS[-1:]
    graphs = GRAPHS[:1] if part == "quick" else GRAPHS
    negatives = NEGATIVES[:1] if part in ("quick", "variants") else NEGATIVES
    return [
        {"graph": graph, "split": split, "negatives": sampler}
        for graph, split, sampler in product(graphs, splits, negatives)
    ]


def _methods(part: Part, column: RunSettings) -> list[RunSettings]:
    if part == "variants":
        return list(_variants())
    if part == "published":
        return list(_published())
    if part == "fair":
        return list(_fair(column))
    pairs, criteria, placebos = {
        "tables": (PAIRS, CRITERIA, ((10, 1), (10, 5))),
        "headline": (((10, 1),), CRITERIA, ((10, 1),)),
        "quick": (((10, 1),), CRITERIA[:1], ()),
    }[part]
    return [
        *_searches(),
        *(
            {"method": "adagrid", **_pair(pair), "criterion": criterion}
            for pair in pairs
            for criterion in criteria
        ),
        *({"method": "placebo", **_pair(pair), "criterion": "validation"} for pair in placebos),
    ]


def _searches(**rate: Any) -> Iterator[RunSettings]:
    yield from ({"method": "fixed", "ratio": ratio, **rate} for ratio in RATIOS)
    yield {"method": "random", **rate}


def _published() -> Iterator[RunSettings]:
    """As published, as written in the paper's text, and the same restarts with nothing adapted."""
    yield from _searches()
    for pair, criterion in product(MAIN_PAIR.values(), CRITERIA):
        yield {"method": "adagrid", **_pair(pair), "criterion": criterion}
        yield {"method": "adagrid", **_pair(pair), "criterion": criterion, **_restarts(pair)}
    yield {"method": "fixed", "ratio": 0.5, "rate_restarts": 10}
    yield {**_judged("placebo"), "rate_restarts": 10}


def _fair(column: RunSettings) -> Iterator[RunSettings]:
    """Without restarts, with restarts every 10 epochs, and with a constant rate."""
    yield from _searches()
    yield from map(_judged, ("adagrid", "placebo"))
    yield from _searches(rate_restarts=10)
    yield {**_judged("adagrid"), **_restarts((10, 1))}
    yield {**_judged("placebo"), "rate_restarts": 10}
    yield {"method": "fixed", "ratio": 0.5, "schedule": "constant"}
    if column == CONFIRMED:
        yield {**_judged("adagrid", (10, 5)), **_restarts((10, 5))}


def _judged(method: str, pair: Pair = (10, 1)) -> RunSettings:
    return {"method": method, **_pair(pair), "criterion": "validation"}


def _restarts(pair: Pair) -> RunSettings:
    published = published_settings("adagrid", pair[0])
    return {name: published[name] for name in ("rate_restarts", "randomness")}


def _pair(pair: Pair) -> RunSettings:
    return {"adapt_every": pair[0], "try_for": pair[1]}


def _variants() -> Iterator[RunSettings]:
    """The full grid and its rivals at equal main line; other hyperparameters, alone and jointly."""
    yield {"method": "fixed", "ratio": 0.5}
    judged = {**_pair((10, 1)), "criterion": "validation"}
    for method in ("adagrid", "neighbors", "interpolation", "placebo"):
        yield {"method": method, **judged}
    for name in _REGULAR:
        yield {"method": "adagrid", **judged, "adapts": [name]}
        # Dropout has as many values as weight decay, so that its placebo is the same run.
        if name != "dropout":
            yield {"method": "placebo", **judged, "adapts": [name]}
        for method in ("one_axis", "neighbors"):
            yield {"method": method, **judged, "adapts": [RATIO, name]}
    for method in ("one_axis", "neighbors"):
        yield {"method": method, **judged, "adapts": [RATIO, *_REGULAR]}
    yield {"method": "recommended", "adapts": ["learning_rate_scale"], "schedule": "constant"}
    yield {"method": "fixed", "ratio": 0.5, "schedule": "constant"}
