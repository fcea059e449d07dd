"""Which runs make up the paper's tables, the leak-free headline and the variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Literal, get_args

from dynhp.errors import SettingsError
from dynhp_pyg.checks import whole
from dynhp_pyg.paper.setting import most_epochs
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["GRAPHS", "NEGATIVES", "PAIRS", "SPLITS", "Part", "cost", "runs_of"]

Part = Literal["tables", "headline", "variants", "quick"]
Settings = dict[str, Any]

GRAPHS = ("cora", "citeseer")
SPLITS = ("20/40/40", "50/25/25", "80/10/10")
NEGATIVES = ("uniform", "community")
CRITERIA = ("validation", "gap")
PAIRS = ((100, 1), (100, 5), (100, 100), (50, 1), (50, 5), (50, 50), (10, 1), (10, 5), (10, 10))
"""The paper's pairs of adapt epochs and try epochs, in the order of its tables."""

_REGULAR = ("learning_rate_scale", "weight_decay", "dropout")


def runs_of(
    part: Part,
    *,
    protocol: str,
    seeds: int,
    layers: int = 2,
    width: int = 64,
    epochs: int = 500,
) -> list[Settings]:
    """Give the settings of every run of a part, the seed changing slowest.

    - tables: both graphs, three splits, two samplers; complete and random search, AdaGrid with
      nine pairs of epochs and two criteria, two placebos;
    - headline: 80/10/10 only; complete and random search, AdaGrid 10/1 and its placebo;
    - variants: 80/10/10, uniform negatives; other proposers and other hyperparameters;
    - quick: Cora 80/10/10, uniform negatives; complete search, random search and AdaGrid 10/1.

    Complete search is nine runs with a fixed ratio each: whoever wants its result takes the one
    that validates best, and nothing is trained twice.

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
        for seed in range(seeds)
        for column in _columns(part)
        for method in _methods(part)
    ]


def cost(run: Mapping[str, Any]) -> float:
    """How long a run takes, in epochs on Cora.

    >>> cost({"graph": "cora", "method": "adagrid", "adapt_every": 10, "try_for": 1, "epochs": 500})
    900.0
    """
    slower = 1.4 if run["graph"] == "citeseer" else 1.0
    return most_epochs(run) * slower


def _columns(part: Part) -> list[Settings]:
    splits = SPLITS if part == "tables" else SPLITS[-1:]
    graphs = GRAPHS[:1] if part == "quick" else GRAPHS
    negatives = NEGATIVES[:1] if part in ("quick", "variants") else NEGATIVES
    return [
        {"graph": graph, "split": split, "negatives": sampler}
        for graph, split, sampler in product(graphs, splits, negatives)
    ]


def _methods(part: Part) -> list[Settings]:
    if part == "variants":
        return list(_variants())
    pairs, criteria, placebos = {
        "tables": (PAIRS, CRITERIA, ((10, 1), (10, 5))),
        "headline": (((10, 1),), CRITERIA, ((10, 1),)),
        "quick": (((10, 1),), CRITERIA[:1], ()),
    }[part]
    return [
        *_complete(),
        {"method": "random"},
        *(
            {"method": "adagrid", **_pair(pair), "criterion": criterion}
            for pair in pairs
            for criterion in criteria
        ),
        *({"method": "placebo", **_pair(pair), "criterion": "validation"} for pair in placebos),
    ]


def _complete() -> Iterable[Settings]:
    return ({"method": "fixed", "ratio": ratio} for ratio in RATIOS)


def _pair(pair: tuple[int, int]) -> Settings:
    return {"adapt_every": pair[0], "try_for": pair[1]}


def _variants() -> Iterator[Settings]:
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
            yield {"method": method, **judged, "adapts": ["edge_message_ratio", name]}
    for method in ("one_axis", "neighbors"):
        yield {"method": method, **judged, "adapts": ["edge_message_ratio", *_REGULAR]}
    yield {"method": "recommended", "adapts": ["learning_rate_scale"], "schedule": "constant"}
    yield {"method": "fixed", "ratio": 0.5, "schedule": "constant"}
