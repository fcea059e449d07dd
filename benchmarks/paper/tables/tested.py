"""AdaGrid less every rival with the same restarts, each difference tested among all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.paper.compared import (
    COMPLETE,
    RANDOM,
    RESTARTS,
    UNADAPTED,
    Column,
    ComparedMethod,
    adagrid,
    as_published,
    fixed,
)
from benchmarks.paper.differences import LUCK, Side, differences_by_seed
from benchmarks.paper.results import Results, mean_auc, shared_seeds
from benchmarks.paper.significance import holm, p_value
from benchmarks.paper.tables.rates import FIXED_RESTARTED, PLACEBO_RESTARTED
from dynhp_pyg.runs.intervals import Mean, mean_of
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["ADAGRIDS", "BEST_FIXED", "RIVALS", "Key", "TestedDifference", "tested_differences"]

CONSTANT = replace(UNADAPTED, schedule="constant")
COMPLETE_RESTARTED = replace(COMPLETE, rate_restarts=RESTARTS)
ADAGRIDS = tuple(as_published(adagrid(pair, "validation")) for pair in ((10, 1), (10, 5)))
RIVALS = {
    "complete search @10": COMPLETE_RESTARTED,
    "random search @10": replace(RANDOM, rate_restarts=RESTARTS),
    "placebo 10/1 @10": PLACEBO_RESTARTED,
    "fixed 0.5 @10": FIXED_RESTARTED,
    "fixed 0.5, constant rate": CONSTANT,
}
BEST_FIXED = "best fixed ratio @10"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedDifference:
    """AdaGrid less a rival in a column, with its p-value corrected for all that are tested."""

    difference: Mean
    corrected: float | None
    by_seed: Mapping[int, float]

    @property
    def side(self) -> Side:
        """On which side of zero it lies for sure, "" where it may be luck."""
        if self.corrected is None or self.corrected >= LUCK:
            return ""
        return "above" if self.difference.mean > 0 else "below"


Key = tuple[ComparedMethod, str, Column]


def tested_differences(results: Results) -> Mapping[Key, TestedDifference]:
    """Every difference that there are results of, its p-value corrected by Holm for all of them."""
    each: dict[Key, dict[int, float]] = {}
    for method in ADAGRIDS:
        for column in results.columns:
            for name, rival in {**RIVALS, **_best_fixed(results, column)}.items():
                values = differences_by_seed(results, method, rival, column)
                if values:
                    each[method, name, column] = values
    testable = {key: p_value([*by.values()]) for key, by in each.items() if len(by) > 1}
    corrected = dict(zip(testable, holm(list(testable.values())), strict=True))
    return {
        key: TestedDifference(
            difference=mean_of([*by_seed.values()]), corrected=corrected.get(key), by_seed=by_seed
        )
        for key, by_seed in each.items()
    }


def _best_fixed(results: Results, column: Column) -> dict[str, ComparedMethod]:
    """The best of nine in hindsight, over the seeds that all of them have; none without any."""
    nine = [fixed(ratio, rate_restarts=RESTARTS) for ratio in RATIOS]
    each = {method: results.by_seed(column, method) for method in nine}
    seeds = shared_seeds(each.values())
    best = max(nine, key=lambda method: mean_auc(each[method], seeds)) if seeds else None
    return {} if best is None else {BEST_FIXED: best}
