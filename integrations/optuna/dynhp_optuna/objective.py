"""An adapted run as an objective of Optuna: reported as it goes, pruned, its cost noted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

import optuna

from dynhp import DynamicGridAdapter, History, plan_for, spent
from dynhp.errors import MetricError, SettingsError, nearest, shown
from dynhp.records import Round
from dynhp.records.plain import history_from_plain, history_to_plain
from dynhp.storage.codecs.json_text import json_line, strict_json
from dynhp_optuna.checks import require_count

__all__ = ["AdaptedRun", "history_of_trial"]

COST, RUNS, HISTORY = "cost_epochs", "cost_runs", "history"


class AdaptedRun:
    """An objective for ``study.optimize``: each trial is one whole adapted run.

    Its value is the metric at the end of the main line. Pruners see the main line at marks that
    are the same for all trials, however long their rounds are: at each mark what was last measured
    by then. The cost of a trial, in epochs trained and in runs, and its history are noted as user
    attributes, also where it was pruned or failed.

    Args:
        make_adapter: makes the adapter of a trial, of values by ``trial.suggest_int(...)``.
        epochs: of the main line, the same for all trials.
        minimize: the metric that is better when lower, or else
        maximize: the metric that is better when higher.
        report_every: how many epochs lie between marks; a twentieth of the run by default.
        most_runs: a trial whose plan costs more runs than this is pruned before it begins.

    >>> import optuna
    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import NoisyQuadratic
    >>> def make_adapter(trial):
    ...     return DynamicGridAdapter(
    ...         NoisyQuadratic(), {"lr": [0.01, 0.1, 0.3]}, minimize="loss",
    ...         adapt_every=trial.suggest_int("adapt_every", 5, 20), try_for=1)
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(AdaptedRun(make_adapter, 40, minimize="loss"), n_trials=2)
    >>> [trial.user_attrs["cost_epochs"] for trial in study.trials]
    [50, 48]
    """

    def __init__(
        self,
        make_adapter: Callable[[optuna.Trial], DynamicGridAdapter],
        epochs: int,
        *,
        minimize: str | None = None,
        maximize: str | None = None,
        report_every: int | None = None,
        most_runs: float | None = None,
    ) -> None:
        if not callable(make_adapter):
            raise SettingsError(
                "make_adapter must be a function of a trial that makes an adapter, got "
                f"{shown(make_adapter)}"
            )
        if (minimize is None) == (maximize is None):
            raise SettingsError(
                "give minimize='...' or maximize='...', the metric that trials are compared by, "
                f"got minimize={shown(minimize)}, maximize={shown(maximize)}"
            )
        self.make_adapter = make_adapter
        self.epochs = require_count("epochs", epochs)
        self.metric = str(minimize or maximize)
        self.direction: Literal["minimize", "maximize"] = "minimize" if minimize else "maximize"
        every = max(1, self.epochs // 20) if report_every is None else report_every
        self.report_every = require_count("report_every", every)
        if not (most_runs is None or (isinstance(most_runs, int | float) and most_runs >= 1)):
            raise SettingsError(f"most_runs must be 1 or more, got {shown(most_runs)}")
        self.most_runs = most_runs

    def __call__(self, trial: optuna.Trial) -> float:
        """Carry out the run of one trial."""
        adapter = self.make_adapter(trial)
        if not isinstance(adapter, DynamicGridAdapter):
            raise SettingsError(
                f"make_adapter must give a DynamicGridAdapter, got {shown(adapter)}"
            )
        planned = plan_for(adapter, self.epochs).most
        if self.most_runs is not None and planned.runs > self.most_runs:
            trial.set_user_attr("too_expensive", f"{planned.runs:.2f} runs planned")
            raise optuna.TrialPruned(f"{planned.runs:.2f} runs planned, {self.most_runs} allowed")
        try:
            return self._run(trial, adapter)
        finally:
            cost, history = spent(adapter), history_to_plain(adapter.history)
            trial.set_user_attr(COST, cost.total)
            trial.set_user_attr(RUNS, round(cost.total / self.epochs, 4))
            trial.set_user_attr(HISTORY, json_line({"rounds": history}).decode())

    def _run(self, trial: optuna.Trial, adapter: DynamicGridAdapter) -> float:
        value, last = math.nan, 0
        for round_ in adapter.rounds(self.epochs):
            for mark, measured in self._at_marks(round_, last, value):
                trial.report(measured, mark)
            value, last = self._value(round_), round_.start + round_.epochs
            if last < self.epochs and trial.should_prune():
                raise optuna.TrialPruned(f"pruned after {last} of {self.epochs} epochs")
        if not math.isfinite(value):
            raise MetricError(f"{self.metric!r} must be finite at the end of a run, got {value!r}")
        return value

    def _at_marks(self, round_: Round, done: int, value: float) -> Iterator[tuple[int, float]]:
        """The marks that lie in a round, each with what was last measured by then, where known."""
        measured = [(number + 1, metrics) for number, metrics in round_.measured]
        first = done // self.report_every + 1
        for mark in range(first * self.report_every, done + round_.epochs + 1, self.report_every):
            known = [metrics for number, metrics in measured if number <= mark]
            at_mark = float(known[-1].get(self.metric, math.nan)) if known else value
            if math.isfinite(at_mark):
                yield mark, at_mark

    def _value(self, round_: Round) -> float:
        if self.metric not in round_.metrics:
            raise MetricError(
                f"no metric {self.metric!r} at the end of a round"
                f"{nearest(self.metric, round_.metrics)}"
            )
        return float(round_.metrics[self.metric])


def history_of_trial(trial: optuna.trial.FrozenTrial) -> History:
    """The rounds of a trial's run, as they were noted with it.

    >>> noted = {"history": '{"rounds": []}'}
    >>> history_of_trial(optuna.trial.create_trial(value=0.5, user_attrs=noted))
    History(rounds=())
    """
    if HISTORY not in trial.user_attrs:
        raise SettingsError(
            f"trial {trial.number} has no history: it ended before its run began, or is none of "
            "AdaptedRun"
        )
    return history_from_plain(strict_json(trial.user_attrs[HISTORY].encode())["rounds"])
