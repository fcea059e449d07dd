"""Mistakes of the first hour with settings and runs: the rule, the value, the way out, no harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynhp import (
    Categorical,
    Float,
    KeepBest,
    Ordered,
    Processes,
    Shadow,
    lowest,
    plan,
    plan_for,
    recommended,
    replay,
    schedule_of,
    smoothed,
    spent,
)
from dynhp.errors import ContractError, LoopError, MetricError, SettingsError
from dynhp.planning import Schedule
from dynhp.storage import Journal, history_from_journal, resume, run_with_checkpoints
from tests.support.mistakes import (
    LRS,
    Act,
    CountedModel,
    LossFunction,
    adapter_of,
    body,
    explain,
    loop_of,
    made,
    rows_of,
    usual,
)

SPACES = rows_of(
    "spaces",
    ("names alone", made(space={"lr"}), SettingsError),
    ("pairs", made(space=[("lr", LRS)]), SettingsError),
    ("generator", made(space={"lr": (r for r in LRS)}), SettingsError),
    ("view", made(space={"lr": {"a": 0.1}.values()}), SettingsError),
    ("low, high", made(space={"lr": {"low": 0, "high": 1}}), SettingsError),
    ("table", made(space={"lr": np.ones((2, 3))}), SettingsError),
    ("texts", made(space={"lr": ["0.1", "0.2"]}), SettingsError),
    ("one text", made(space={"lr": "0.1,0.2"}), SettingsError),
    ("nested", made(space={"lr": [LRS]}), SettingsError),
    ("pairs as values", made(space={"betas": [(0.9, 0.99)]}), SettingsError),
    ("Ordered(list)", lambda model: Ordered(LRS), SettingsError),  # type: ignore[arg-type]
    ("Categorical(list)", lambda model: Categorical(["a"]), SettingsError),  # type: ignore[arg-type]
    ("axis in a list", made(space={"lr": [Float(0.1, 0.2)]}), SettingsError),
    ("schedule", made(space={"lr": lambda epoch: 0.1}), SettingsError),
    ("long text", made(space={"lr": "x" * 9999}), SettingsError),
    ("below zero", made(space={"lr": [-0.1, 0.1]}), SettingsError),
    ("start", made(initial={"lr": LRS}), SettingsError),
    ("no start", made(initial=[0.1]), SettingsError),
)

CRITERIA = rows_of(
    "criteria",
    ("min", body(usual, criterion=min), ContractError),
    ("not called", made(criterion=lowest), SettingsError),
    ("smoothed", lambda model: smoothed(lowest), SettingsError),  # type: ignore[arg-type]
    ("metrics", made(criterion=lambda metrics: 0), SettingsError),
    ("words", made(criterion={"loss": "min"}), SettingsError),
    ("loss function", made(criterion=LossFunction()), SettingsError),
    ("a list", made(minimize=["loss"]), SettingsError),
    ("both", made(minimize=lowest("loss")), SettingsError),
    (
        "series as a dict",
        body(usual, criterion=lambda series, progress: -series["loss"]),
        ContractError,
    ),
    ("keep_best", made(keep_best="loss"), SettingsError),
    ("typo", body(usual, minimize="los"), MetricError),
    ("never", body(usual, minimize="val"), MetricError),
)

RUNS = rows_of(
    "runs",
    ("a history", lambda m: replay(adapter_of(CountedModel()).history, m), SettingsError),  # type: ignore[arg-type]
    ("no run", lambda m: plan_for({"lr": LRS}, 6), SettingsError),  # type: ignore[arg-type]
    ("no history", lambda m: schedule_of(m), SettingsError),  # type: ignore[arg-type]
    ("text", lambda m: spent("run.jsonl"), SettingsError),  # type: ignore[arg-type]
    (
        "candidates",
        lambda m: plan(epochs=6, adapt_every=3, try_for=1, candidates=LRS),  # type: ignore[arg-type]
        SettingsError,
    ),
    ("path", lambda m: Schedule.from_json("a.json"), SettingsError),
    ("trainer", lambda m: Shadow(m, criterion=lowest("loss")), SettingsError),  # type: ignore[arg-type]
    ("swapped", lambda m: KeepBest(lowest("loss"), m), SettingsError),  # type: ignore[arg-type]
    ("object", lambda m: Processes(m), SettingsError),  # type: ignore[arg-type]
    ("workers", lambda m: Processes(4), SettingsError),  # type: ignore[arg-type]
    ("purpose", lambda m: recommended({"lr": LRS}), SettingsError),  # type: ignore[arg-type]
    ("folder", lambda m: resume(3, adapter_of(m)), SettingsError),  # type: ignore[arg-type]
    ("swap", lambda m: resume(adapter_of(m), "run"), SettingsError),  # type: ignore[arg-type]
    ("journal", lambda m: Journal(None), SettingsError),  # type: ignore[arg-type]
    ("read", lambda m: history_from_journal([]), SettingsError),  # type: ignore[arg-type]
    ("loop", lambda m: run_with_checkpoints(loop_of(m), 6, checkpoint="a"), LoopError),
    ("run again", lambda m: adapter_of(m).run("6"), SettingsError),
)

TABLE = [*SPACES, *CRITERIA, *RUNS]


@pytest.mark.parametrize(("act", "error"), TABLE)
def test_a_mistake_is_explained_and_harms_nothing(
    act: Act,
    error: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    explain(act, error)
