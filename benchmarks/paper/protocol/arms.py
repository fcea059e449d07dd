"""The methods that each part of the reproduction compares, as settings of runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

from benchmarks.paper.compared import CRITERIA, MAIN_PAIR, PAIRS, RATIO, RESTARTS, Pair
from dynhp_pyg.runs.published import published_settings
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["CONFIRMED", "Part", "RunSettings", "methods_of"]

Part = Literal["tables", "headline", "variants", "quick", "published", "fair"]
RunSettings = dict[str, Any]

CONFIRMED: RunSettings = {"graph": "cora", "split": "80/10/10", "negatives": "community"}
"""The column in which a gain of AdaGrid is looked for with twice as many seeds."""

_REGULAR = ("learning_rate_scale", "weight_decay", "dropout")


def methods_of(part: Part, column: RunSettings) -> list[RunSettings]:
    """Give the settings of every method of a part, in a column of it.

    >>> len(methods_of("quick", {"graph": "cora", "split": "80/10/10", "negatives": "uniform"}))
    11
    """
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
    yield {"method": "fixed", "ratio": 0.5, "rate_restarts": RESTARTS}
    yield {**_judged("placebo"), "rate_restarts": RESTARTS}


def _fair(column: RunSettings) -> Iterator[RunSettings]:
    """Without restarts, with restarts every few epochs, and with a constant rate."""
    yield from _searches()
    yield from map(_judged, ("adagrid", "placebo"))
    yield {**_judged("adagrid"), "randomness": "independent"}
    yield from _searches(rate_restarts=RESTARTS)
    yield {**_judged("adagrid"), **_restarts((10, 1))}
    yield {**_judged("placebo"), "rate_restarts": RESTARTS}
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
    for method in ("adagrid", "neighbors", "interpolation", "placebo"):
        yield _judged(method)
    for name in _REGULAR:
        yield {**_judged("adagrid"), "adapts": [name]}
        # Dropout has as many values as weight decay, so that its placebo is the same run.
        if name != "dropout":
            yield {**_judged("placebo"), "adapts": [name]}
        for method in ("one_axis", "neighbors"):
            yield {**_judged(method), "adapts": [RATIO, name]}
    for method in ("one_axis", "neighbors"):
        yield {**_judged(method), "adapts": [RATIO, *_REGULAR]}
    yield {"method": "recommended", "adapts": ["learning_rate_scale"], "schedule": "constant"}
    yield {"method": "fixed", "ratio": 0.5, "schedule": "constant"}
