"""Settings of adaptation chosen by a study: each trial is one whole adapted run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from dynhp import DynamicGridAdapter, History
from dynhp.errors import AllTriesFailed, SettingsError, shown
from dynhp.records.text import label, text_table
from dynhp_optuna.checks import require_count, require_sampler
from dynhp_optuna.objective import COST, RUNS, AdaptedRun, history_of_trial
from dynhp_optuna.quiet import quiet_optuna

__all__ = ["Tuned", "tune"]

ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
INTERRUPTED, ERROR = "interrupted", "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What a study of adapted runs came to; ``print`` shows all trials.

    Attributes:
        study: the study itself, for everything that Optuna can do with one.
        params: what the best trial was made with.
        value: its metric at the end of the main line.
        history: its rounds, for ``schedule_of`` and reports.
        cost: the epochs that all trials together have trained, those of failed ones included.
        failed: why trials failed, by their numbers.

    >>> from dynhp.testing import NoisyQuadratic
    >>> def make_adapter(trial):
    ...     return DynamicGridAdapter(
    ...         NoisyQuadratic(), {"lr": [0.01, 0.1, 0.3]}, minimize="loss",
    ...         adapt_every=trial.suggest_categorical("adapt_every", [5, 10]), try_for=1)
    >>> tuned = tune(make_adapter, 40, trials=4, minimize="loss")
    >>> tuned.history.epochs, tuned.failed
    (40, {})
    """

    study: optuna.Study
    params: Mapping[str, Any]
    value: float
    history: History
    cost: int
    failed: Mapping[int, str]

    def __str__(self) -> str:
        trials = self.study.get_trials(deepcopy=False)
        names = list(dict.fromkeys(name for trial in trials for name in trial.params))
        rows = [["trial", "ended", "value", "runs", *names]]
        rows += [_row(trial, names, self.study.best_trial.number) for trial in trials]
        failures = [f"trial {number} failed: {why}" for number, why in self.failed.items()]
        return "\n".join([text_table(rows), *failures, f"{self.cost} epochs trained in all"])


def tune(
    make_adapter: Callable[[optuna.Trial], DynamicGridAdapter],
    epochs: int,
    *,
    trials: int,
    minimize: str | None = None,
    maximize: str | None = None,
    sampler: Callable[..., BaseSampler] = TPESampler,
    pruner: BasePruner | None = None,
    seed: int = 0,
    storage: str | BaseStorage | None = None,
    name: str | None = None,
    report_every: int | None = None,
    most_runs: float | None = None,
) -> Tuned:
    """Choose settings of adaptation (its lengths, criterion, proposer) by a study of Optuna.

    A trial that raises has failed: it is recorded, and the others go on. With a storage and a name
    the same call goes on with a study until it has that many ``trials``; each has a sampler with a
    seed of its own, so a study that was stopped between two trials ends as one that was not.

    Args:
        make_adapter: makes the adapter of a trial, of values by ``trial.suggest_int(...)``.
        epochs: of the main line, the same for all trials.
        trials: how many the study has in the end, pruned and failed ones included.
        minimize: the metric that is better when lower, or else
        maximize: the metric that is better when higher.
        sampler: a class such as ``TPESampler``, or a function of ``seed`` that makes a sampler.
        pruner: ends trials that do badly; Optuna's own default where none is given.
        seed: of the samplers.
        storage: where Optuna keeps the study, such as ``"sqlite:///study.db"``; memory by default.
        name: of the study in the storage.
        report_every: how many epochs lie between reports to the pruner; see ``AdaptedRun``.
        most_runs: a trial whose plan costs more runs than this is pruned before it begins.

    >>> from dynhp.testing import NoisyQuadratic
    >>> def make_adapter(trial):
    ...     adapt_every = trial.suggest_int("adapt_every", 5, 20)
    ...     return DynamicGridAdapter(
    ...         NoisyQuadratic(), {"lr": [0.01, 0.1, 0.3]}, minimize="loss",
    ...         adapt_every=adapt_every, try_for=trial.suggest_int("try_for", 1, adapt_every // 2))
    >>> tuned = tune(make_adapter, 40, trials=3, minimize="loss")
    >>> sorted(tuned.params), len(tuned.study.trials)
    (['adapt_every', 'try_for'], 3)
    """
    run = AdaptedRun(
        make_adapter,
        epochs,
        minimize=minimize,
        maximize=maximize,
        report_every=report_every,
        most_runs=most_runs,
    )
    trials = require_count("trials", trials)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise SettingsError(f"seed must be a whole number of 0 or more, got {shown(seed)}")
    require_sampler("tune", sampler)
    if (storage is None) != (name is None):
        raise SettingsError(
            "a storage and a name belong together, so that the study can be gone on with, got "
            f"storage={shown(storage)}, name={shown(name)}"
        )
    with quiet_optuna("tune"):
        study = _study(storage, name, pruner, run, seed)
    while sum(map(_counts, study.get_trials(deepcopy=False, states=ENDED))) < trials:
        _one_trial(study, run, sampler, seed)
    return _tuned(study)


def _study(
    storage: str | BaseStorage | None,
    name: str | None,
    pruner: BasePruner | None,
    run: AdaptedRun,
    seed: int,
) -> optuna.Study:
    """A new study, or the one of that name, where it was begun with the same settings."""
    settings = {"epochs": run.epochs, "metric": run.metric, "direction": run.direction}
    settings |= {"report_every": run.report_every, "seed": seed}
    if storage is None or name not in optuna.get_all_study_names(storage):
        study = optuna.create_study(
            storage=storage, study_name=name, direction=run.direction, pruner=pruner
        )
        study.set_user_attr("dynhp", settings)
        return study
    study = optuna.load_study(study_name=name, storage=storage, pruner=pruner)
    saved = study.user_attrs.get("dynhp")
    if saved != settings:
        raise SettingsError(
            f"the study {name!r} was begun with other settings; give the same ones, or another "
            f"name: saved {shown(saved)}, here {shown(settings)}"
        )
    return study


def _one_trial(
    study: optuna.Study, run: AdaptedRun, sampler: Callable[..., BaseSampler], seed: int
) -> None:
    # A sampler that was made once would say the same again after a resume.
    number = len(study.get_trials(deepcopy=False))
    own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    with quiet_optuna("tune"):
        study.sampler = sampler(seed=own_seed)
        trial = study.ask()
    try:
        study.tell(trial, run(trial))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except Exception as error:
        trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:500])
        study.tell(trial, state=TrialState.FAIL)
    except BaseException:  # Ctrl-C: the trial is begun again by the next call
        trial.set_user_attr(INTERRUPTED, True)
        study.tell(trial, state=TrialState.FAIL)
        raise


def _counts(trial: FrozenTrial) -> bool:
    return INTERRUPTED not in trial.user_attrs


def _tuned(study: optuna.Study) -> Tuned:
    trials = study.get_trials(deepcopy=False)
    failed = {
        trial.number: str(trial.user_attrs.get(ERROR, "interrupted"))
        for trial in trials
        if trial.state == TrialState.FAIL
    }
    if not any(trial.state == TrialState.COMPLETE for trial in trials):
        reasons = "; ".join(f"trial {number}: {why}" for number, why in failed.items())
        raise AllTriesFailed(
            f"none of {len(trials)} trials came to its end"
            + (f": {reasons}" if reasons else ", all were pruned; allow more by most_runs=")
        )
    best = study.best_trial
    return Tuned(
        study=study,
        params=dict(best.params),
        value=study.best_value,
        history=history_of_trial(best),
        cost=sum(trial.user_attrs.get(COST, 0) for trial in trials),
        failed=failed,
    )


def _row(trial: FrozenTrial, names: list[str], best: int) -> list[str]:
    value = "-" if trial.state != TrialState.COMPLETE or trial.value is None else trial.value
    ended = "best" if trial.number == best else trial.state.name.lower()
    return [
        str(trial.number),
        ended,
        value if isinstance(value, str) else f"{value:.5g}",
        f"{trial.user_attrs.get(RUNS, 0):.2f}",
        *(label(trial.params.get(name, "-")) for name in names),
    ]
