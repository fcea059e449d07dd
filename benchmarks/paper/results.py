"""The results of a campaign by column, method and seed; complete search read from its nine runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

from benchmarks.paper.compared import (
    COMPLETE,
    NEGATIVES,
    RESTARTS,
    Column,
    ComparedMethod,
    fixed,
)
from benchmarks.paper.published import is_published_model
from dynhp.campaign.data import canonical
from dynhp.campaign.results import Finished
from dynhp.errors import SettingsError
from dynhp_pyg.runs.intervals import Mean, mean_of
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["BySeed", "Results", "ScheduleSteps", "SeedResult", "gather_results", "mean_auc"]
__all__ += ["mean_or_none", "shared_seeds"]

ScheduleSteps = Sequence[tuple[int, Mapping[str, float]]]
"""How many epochs, with which values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """What one run, or one complete search, gave and cost; AUC in percent."""

    auc: float
    val_auc: float
    trained: int
    relative: float
    seconds: float
    reverse_share: float
    schedule: ScheduleSteps


BySeed = Mapping[int, SeedResult]
"""The results of a method in a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All results, and which of the runs asked for are missing or failed.

    ``shared`` has the settings that all runs have in common; ``wanted`` counts the runs, and
    ``seeds_in`` the seeds of each column.
    """

    runs: Mapping[tuple[Column, ComparedMethod], BySeed]
    columns: tuple[Column, ...]
    methods: tuple[ComparedMethod, ...]
    shared: Mapping[str, Any]
    seeds: int
    seeds_in: Mapping[Column, int]
    wanted: int
    missing: tuple[Mapping[str, Any], ...]
    failed: tuple[Finished, ...]

    @property
    def all_done(self) -> bool:
        """Whether every run is there and none failed."""
        return not self.missing and not self.failed

    @property
    def of_published_model(self) -> bool:
        """Whether the paper prints values that these can be compared with."""
        return is_published_model(self.shared)

    @property
    def samplers(self) -> list[str]:
        """The samplers of negatives that there are columns of."""
        return [negatives for negatives in NEGATIVES if self.columns_with(negatives)]

    def columns_with(self, negatives: str) -> tuple[Column, ...]:
        """The columns with this sampler of negatives."""
        return tuple(column for column in self.columns if column.negatives == negatives)

    def by_seed(self, column: Column, method: ComparedMethod) -> BySeed:
        """The results of a method in a column, as far as there are any."""
        return self.runs.get((column, method), {})

    def mean(self, column: Column, method: ComparedMethod) -> Mean | None:
        """The mean AUC over the seeds that are there, None where there are none."""
        return mean_or_none(each.auc for each in self.by_seed(column, method).values())

    def in_all_columns(self, method: ComparedMethod, graph: str | None = None) -> list[SeedResult]:
        """The results of a method in every column, or in every one of a graph."""
        columns = (column for column in self.columns if graph in (None, column.graph))
        return [each for column in columns for each in self.by_seed(column, method).values()]

    def trained_runs(self) -> Iterator[SeedResult]:
        """The runs that were carried out, each once: complete search is not one of them."""
        for (_, method), by_seed in self.runs.items():
            if method.name != COMPLETE.name:
                yield from by_seed.values()


def gather_results(ended: Iterable[Finished], wanted: Sequence[Mapping[str, Any]]) -> Results:
    """Look up the runs that were asked for among those that ended, which may be fewer or more.

    >>> asked = {"graph": "cora", "split": "80/10/10", "negatives": "uniform", "epochs": 10,
    ...          "method": "random", "seed": 0}
    >>> len(gather_results([], [asked]).missing)
    1
    """
    if not wanted:
        raise SettingsError(f"a report needs runs to report on, got runs={wanted!r}")
    by_key = {canonical(run.settings): run for run in ended}
    keys = [canonical(run) for run in wanted]
    there = {key: by_key[key] for key in keys if key in by_key}.values()
    runs: dict[tuple[Column, ComparedMethod], dict[int, SeedResult]] = {}
    for run in there:
        if run.result is not None:
            place = (Column.of(run.settings), ComparedMethod.of(run.settings))
            runs.setdefault(place, {})[run.settings["seed"]] = _seed_result(run, run.result)
    columns = tuple(dict.fromkeys(map(Column.of, wanted)))
    methods = dict.fromkeys(map(ComparedMethod.of, wanted))
    searches = [each for each in _SEARCHES if all(one in methods for one in _nine(each))]
    methods = {**dict.fromkeys(searches), **methods}
    for column, search in product(columns, searches):
        runs[column, search] = _complete_search(runs, column, search)
    return Results(
        runs=runs,
        columns=columns,
        methods=tuple(methods),
        shared=dict(
            item for item in wanted[0].items() if all(item in run.items() for run in wanted)
        ),
        seeds=len({run["seed"] for run in wanted}),
        seeds_in={
            column: len({run["seed"] for run in wanted if Column.of(run) == column})
            for column in columns
        },
        wanted=len(wanted),
        missing=tuple(run for run, key in zip(wanted, keys, strict=True) if key not in by_key),
        failed=tuple(run for run in there if run.result is None),
    )


def mean_or_none(values: Iterable[float]) -> Mean | None:
    """The mean with its interval, None where there is nothing.

    >>> mean_or_none([]), mean_or_none([1.0]).mean
    (None, 1.0)
    """
    there = list(values)
    return mean_of(there) if there else None


def shared_seeds(each: Iterable[Mapping[int, object]]) -> list[int]:
    """The seeds that all of them have.

    >>> shared_seeds([{0: "a", 1: "b"}, {1: "c"}]), shared_seeds([{}, {}]), shared_seeds([])
    ([1], [], [])
    """
    seeds = list(map(set, each))
    return sorted(set.intersection(*seeds)) if seeds else []


def mean_auc(by_seed: BySeed, seeds: Iterable[int]) -> float:
    """The mean AUC over these seeds."""
    return fmean(by_seed[seed].auc for seed in seeds)


def _seed_result(run: Finished, result: Mapping[str, Any]) -> SeedResult:
    return SeedResult(
        auc=100 * result["test_auc"],
        val_auc=100 * result["val_auc"],
        trained=result["epochs_trained"],
        relative=result["epochs_trained"] / run.settings["epochs"],
        seconds=run.seconds,
        reverse_share=result["reverse_test_share"],
        schedule=result["schedule"],
    )


_SEARCHES = (COMPLETE, replace(COMPLETE, rate_restarts=RESTARTS))


def _nine(search: ComparedMethod) -> list[ComparedMethod]:
    return [fixed(ratio, rate_restarts=search.rate_restarts) for ratio in RATIOS]


def _complete_search(
    runs: Mapping[tuple[Column, ComparedMethod], BySeed], column: Column, search: ComparedMethod
) -> dict[int, SeedResult]:
    """Of nine runs the one that validates best, the first of equals; it costs all nine.

    A seed of which a run is missing has no complete search: the best of eight is something else.
    """
    nine = [runs.get((column, method), {}) for method in _nine(search)]
    return {seed: _best([each[seed] for each in nine]) for seed in shared_seeds(nine)}


def _best(searched: Sequence[SeedResult]) -> SeedResult:
    return replace(
        max(searched, key=lambda result: result.val_auc),
        trained=sum(result.trained for result in searched),
        relative=sum(result.relative for result in searched),
        seconds=sum(result.seconds for result in searched),
    )
