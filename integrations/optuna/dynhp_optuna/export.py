"""The rounds of a run as a study, so that Optuna's pictures and its dashboard show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from dynhp.errors import SettingsError, nearest, shown
from dynhp.planning.budget import HasHistory, history_of
from dynhp.records import Round, Try
from dynhp.spaces import Axis
from dynhp_optuna.distributions import range_of
from dynhp_optuna.quiet import quiet_optuna
from dynhp_optuna.ranks import ranks_of

__all__ = ["study_of"]


def study_of(
    history: Sequence[Round] | HasHistory,
    *,
    value: Literal["rank", "score"] = "rank",
    metric: str | None = None,
    space: Mapping[str, Axis] | None = None,
    storage: str | BaseStorage | None = None,
    name: str | None = None,
) -> optuna.Study:
    """Make a study of a run: every try is a trial, with its values, its curve and its round.

    A try that failed is a failed trial, one that a race dropped is a pruned one. The intermediate
    values are a metric by the epoch of the main line. User attributes: ``round``, ``kept``,
    ``in_force`` (whether it tried the value in force), ``score``, ``epochs``, ``reason`` and
    ``error``.

    Args:
        history: the rounds, or an adapter or a loop that has them.
        value: a trial's value. By default its "rank": the share of its round's other tries that it
            beat, because the scores of different rounds cannot be compared; or its "score".
        metric: of the intermediate values; needed where several are measured and none is the score.
        space: the space of the run, for the bounds of its axes; those that occur by default.
        storage: where Optuna keeps the study, such as ``"sqlite:///rounds.db"``; memory by default.
        name: of the study.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import NoisyQuadratic
    >>> adapter = DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.01, 0.1, 0.3]}, minimize="loss",
    ...                              adapt_every=5, try_for=2)
    >>> study = study_of(adapter.run(10))
    >>> [(trial.user_attrs["round"], trial.params["lr"], trial.value) for trial in study.trials[:3]]
    [(0, 0.1, 0.5), (0, 0.01, 0.0), (0, 0.3, 1.0)]
    >>> sorted(study.trials[0].intermediate_values)
    [0, 1]
    """
    if value not in ("rank", "score"):
        raise SettingsError(f"value must be 'rank' or 'score', got {shown(value)}")
    rounds = history_of(history)
    tries = [try_ for round_ in rounds for try_ in round_.tries]
    shown_metric = _metric(tries, metric)
    ranges = _ranges(tries, space or {})
    with quiet_optuna("study_of"):
        try:
            study = optuna.create_study(storage=storage, study_name=name, direction="maximize")
        except optuna.exceptions.DuplicatedStudyError:
            raise SettingsError(
                f"the storage has a study {name!r} already; choose another name, or delete it by "
                "optuna.delete_study"
            ) from None
        study.set_metric_names([value if value == "score" else "share of tries beaten"])
        study.add_trials(_trials(rounds, value, shown_metric, ranges))
    return study


def _trials(
    rounds: Sequence[Round],
    value: str,
    metric: str | None,
    ranges: Mapping[str, BaseDistribution],
) -> Iterator[FrozenTrial]:
    begun = datetime.now()
    for round_ in rounds:
        for place, (try_, rank) in enumerate(zip(round_.tries, ranks_of(round_), strict=True)):
            state = _state(try_, round_)
            # Who was alone, or cannot be compared, is neither better nor worse.
            worth = try_.score if value == "score" else 0.5 if rank is None else rank
            trial = create_trial(
                state=state,
                value=None if state == TrialState.FAIL else worth,
                params=dict(try_.candidate),
                distributions=dict(ranges),
                intermediate_values=_curve(try_, round_, metric),
                user_attrs=_attributes(try_, round_, place),
            )
            trial.datetime_start, begun = begun, begun + timedelta(seconds=try_.seconds)
            trial.datetime_complete = begun
            yield trial


def _state(try_: Try, round_: Round) -> TrialState:
    if try_.rank_key == -math.inf:
        return TrialState.FAIL
    return TrialState.PRUNED if try_.epochs < round_.winner.epochs else TrialState.COMPLETE


def _curve(try_: Try, round_: Round, metric: str | None) -> dict[int, float]:
    values = ((round_.start + place, metrics.get(metric or "")) for place, metrics in try_.measured)
    return {epoch: value for epoch, value in values if value is not None}


def _attributes(try_: Try, round_: Round, place: int) -> dict[str, Any]:
    kept = place == round_.chosen
    return {
        "round": round_.index,
        "kept": kept,
        "in_force": try_.candidate == round_.previous,
        "score": try_.score if math.isfinite(try_.score) else None,
        "epochs": try_.epochs,
        **({"reason": round_.reason} if kept else {}),
        **({} if try_.error is None else {"error": try_.error[:500]}),
    }


def _metric(tries: Sequence[Try], metric: str | None) -> str | None:
    """The metric that is asked for, or the only one, or the one whose last value is the score."""
    names = dict.fromkeys(name for try_ in tries for each in try_.series for name in each)
    if metric is not None:
        if metric not in names:
            raise SettingsError(f"no try has a metric {shown(metric)}{nearest(metric, names)}")
        return metric
    sound = [try_ for try_ in tries if try_.error is None and try_.series]
    judged = [
        name
        for name in names
        if all(abs(try_.series[-1].get(name, math.nan)) == abs(try_.score) for try_ in sound)
    ]
    if len(names) > 1 and not judged:
        raise SettingsError(
            f"say which metric the curves show: metric= must be one of {', '.join(names)}"
        )
    return next(iter(judged or names), None)


def _ranges(tries: Sequence[Try], space: Mapping[str, Axis]) -> dict[str, BaseDistribution]:
    names = tries[0].candidate if tries else {}
    return {
        name: range_of([try_.candidate[name] for try_ in tries], space.get(name)) for name in names
    }
