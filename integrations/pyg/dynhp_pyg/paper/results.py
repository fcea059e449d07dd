"""The results of a campaign by column, method and seed; complete search read from its nine runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dynhp.campaign import Finished
from dynhp.campaign.data import canonical
from dynhp.errors import SettingsError
from dynhp_pyg.paper.arms import COMPLETE, Arm, Column, fixed
from dynhp_pyg.runs.intervals import Mean, mean_of
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["Found", "Outcome", "Series", "average", "collect", "common", "mean"]

Schedule = Sequence[tuple[int, Mapping[str, float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run, or one complete search, gave and cost; AUC in percent."""

    auc: float
    val_auc: float
    trained: int
    relative: float
    seconds: float
    reverse_share: float
    schedule: Schedule


Series = Mapping[int, Outcome]
"""The outcomes of a method in a column, by seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All outcomes, and which of the runs asked for are missing or failed.

    ``about`` has the settings that all runs share.
    """

    runs: Mapping[tuple[Column, Arm], Series]
    columns: tuple[Column, ...]
    arms: tuple[Arm, ...]
    about: Mapping[str, Any]
    seeds: int
    wanted: int
    missing: tuple[Mapping[str, Any], ...]
    failed: tuple[Finished, ...]

    def of(self, column: Column, arm: Arm) -> Series:
        """The outcomes of a method in a column, as far as there are any."""
        return self.runs.get((column, arm), {})

    def mean(self, column: Column, arm: Arm) -> Mean | None:
        """The mean AUC over the seeds that are there, None where there are none."""
        return mean(outcome.auc for outcome in self.of(column, arm).values())

    def all_of(self, arm: Arm) -> list[Outcome]:
        """The outcomes of a method in every column."""
        return [each for column in self.columns for each in self.of(column, arm).values()]

    def with_sampler(self, negatives: str) -> tuple[Column, ...]:
        """The columns with this sampler of negatives."""
        return tuple(column for column in self.columns if column.negatives == negatives)

    def every_run(self) -> Iterator[Outcome]:
        """The runs that were carried out, each once: complete search is no run."""
        for (_, arm), series in self.runs.items():
            if arm != COMPLETE:
                yield from series.values()


def collect(results: Iterable[Finished], wanted: Sequence[Mapping[str, Any]]) -> Found:
    """Find the runs that were asked for among the results, which may be fewer or more.

    >>> asked = {"graph": "cora", "split": "80/10/10", "negatives": "uniform", "epochs": 10,
    ...          "method": "random", "seed": 0}
    >>> len(collect([], [asked]).missing)
    1
    """
    if not wanted:
        raise SettingsError(f"a report needs runs to report on, got runs={wanted!r}")
    ended = {canonical(run.settings): run for run in results}
    found = {canonical(run): ended[canonical(run)] for run in wanted if canonical(run) in ended}
    runs: dict[tuple[Column, Arm], dict[int, Outcome]] = {}
    for run in found.values():
        if run.result is not None:
            key = (Column.of(run.settings), Arm.of(run.settings))
            runs.setdefault(key, {})[run.settings["seed"]] = _outcome(run, run.result)
    columns = tuple(dict.fromkeys(Column.of(run) for run in wanted))
    arms = dict.fromkeys(Arm.of(run) for run in wanted)
    if all(fixed(ratio) in arms for ratio in RATIOS):
        arms = {COMPLETE: None, **arms}
        for column in columns:
            runs[column, COMPLETE] = _complete(runs, column)
    return Found(
        runs=runs,
        columns=columns,
        arms=tuple(arms),
        about={name: value for name, value in wanted[0].items() if _shared(wanted, name, value)},
        seeds=len({run["seed"] for run in wanted}),
        wanted=len(wanted),
        missing=tuple(run for run in wanted if canonical(run) not in found),
        failed=tuple(run for run in found.values() if run.result is None),
    )


def mean(values: Iterable[float]) -> Mean | None:
    """The mean with its interval, None where there is nothing.

    >>> mean([]), mean([1.0]).mean
    (None, 1.0)
    """
    there = list(values)
    return mean_of(there) if there else None


def common(series: Iterable[Series]) -> list[int]:
    """The seeds that all of them have.

    >>> common([{}, {}])
    []
    """
    each = [set(one) for one in series]
    return sorted(set.intersection(*each)) if each else []


def average(series: Series, seeds: Iterable[int]) -> float:
    """The mean AUC over these seeds."""
    return fmean(series[seed].auc for seed in seeds)


def _shared(runs: Sequence[Mapping[str, Any]], name: str, value: object) -> bool:
    return all(name in run and run[name] == value for run in runs)


def _outcome(run: Finished, result: Mapping[str, Any]) -> Outcome:
    return Outcome(
        auc=100 * result["test_auc"],
        val_auc=100 * result["val_auc"],
        trained=result["epochs_trained"],
        relative=result["epochs_trained"] / run.settings["epochs"],
        seconds=run.seconds,
        reverse_share=result["reverse_test_share"],
        schedule=result["schedule"],
    )


def _complete(
    runs: Mapping[tuple[Column, Arm], Mapping[int, Outcome]], column: Column
) -> dict[int, Outcome]:
    """Of nine runs the one that validates best, the first of equals; it costs all nine.

    A seed of which a run is missing has no complete search: the best of eight is something else.
    """
    nine = [runs.get((column, fixed(ratio)), {}) for ratio in RATIOS]
    seeds = [seed for seed in nine[0] if all(seed in series for series in nine)]
    return {seed: _best([series[seed] for series in nine]) for seed in sorted(seeds)}


def _best(searched: Sequence[Outcome]) -> Outcome:
    best = max(searched, key=lambda outcome: outcome.val_auc)
    return Outcome(
        auc=best.auc,
        val_auc=best.val_auc,
        trained=sum(outcome.trained for outcome in searched),
        relative=sum(outcome.relative for outcome in searched),
        seconds=sum(outcome.seconds for outcome in searched),
        reverse_share=best.reverse_share,
        schedule=best.schedule,
    )
