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
from dynhp.errors import (
    ContractError,
    LoopError,
    MetricError,
    SettingsError,
)
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
    ("names alone", made(space={"lr"}), SettingsError, r"is a mapping .*got \{'lr'\}; write \{'n"),
    ("pairs", made(space=[("lr", LRS)]), SettingsError, r"is a mapping from .*got \[\('lr'.*write"),
    (
        "generator",
        made(space={"lr": (r for r in LRS)}),
        SettingsError,
        r"lr: an axis.*write list\(",
    ),
    ("view", made(space={"lr": {"a": 0.1}.values()}), SettingsError, r"dict_values.*write list\("),
    (
        "low, high",
        made(space={"lr": {"low": 0, "high": 1}}),
        SettingsError,
        r"'low'.*write Float\(",
    ),
    ("table", made(space={"lr": np.ones((2, 3))}), SettingsError, r"1-d array .*flatten it"),
    (
        "texts",
        made(space={"lr": ["0.1", "0.2"]}),
        SettingsError,
        r"^lr: '0.1' is text, .*write 0.1",
    ),
    (
        "one text",
        made(space={"lr": "0.1,0.2"}),
        SettingsError,
        r"got '0.1,0.2'; write a list, of nu",
    ),
    (
        "nested",
        made(space={"lr": [LRS]}),
        SettingsError,
        r"got \[0.01, .*one by one, without brack",
    ),
    (
        "pairs as values",
        made(space={"betas": [(0.9, 0.99)]}),
        SettingsError,
        r"\(0.9, 0.99\).*name",
    ),
    ("Ordered(list)", lambda model: Ordered(LRS), SettingsError, r"Ordered: .*one by one"),  # type: ignore[arg-type]
    ("Categorical(list)", lambda model: Categorical(["a"]), SettingsError, r"'a'\]; .*one by one"),  # type: ignore[arg-type]
    ("axis in a list", made(space={"lr": [Float(0.1, 0.2)]}), SettingsError, r"got Float.*string"),
    ("schedule", made(space={"lr": lambda epoch: 0.1}), SettingsError, r"<function.*write a list"),
    (
        "long text",
        made(space={"lr": "x" * 9999}),
        SettingsError,
        r"x\.\.\. \(10001 characters\); wr",
    ),
    (
        "below zero",
        made(space={"lr": [-0.1, 0.1]}),
        SettingsError,
        r"must be above 0, got -0.1; a ne",
    ),
    ("start", made(initial={"lr": LRS}), SettingsError, r"^initial: lr: .*got \[0.01.*one by one"),
    (
        "no start",
        made(initial=[0.1]),
        SettingsError,
        r"^initial: .*mapping from names.*got \[0.1\]",
    ),
)

CRITERIA = rows_of(
    ("min", body(usual, criterion=min), ContractError, r"min> raised TypeError: .*in series\[-1\]"),
    (
        "not called",
        made(criterion=lowest),
        SettingsError,
        r"lowest itself; call it, as in lowest\(",
    ),
    (
        "smoothed",
        lambda model: smoothed(lowest),
        SettingsError,
        r"the function lowest itself; call",
    ),  # type: ignore[arg-type]
    (
        "metrics",
        made(criterion=lambda metrics: 0),
        SettingsError,
        r"other arguments; .*series\[-1\]",
    ),
    (
        "words",
        made(criterion={"loss": "min"}),
        SettingsError,
        r"got \{'loss': 'min'\}; .*lowest\('n",
    ),
    (
        "loss function",
        made(criterion=LossFunction()),
        SettingsError,
        r"belongs into training.*minim",
    ),
    ("a list", made(minimize=["loss"]), SettingsError, r"metric's name must be .*, got \['loss'\]"),
    ("both", made(minimize=lowest("loss")), SettingsError, r"metric's name .*got lowest\('loss'\)"),
    (
        "series as a dict",
        body(usual, criterion=lambda series, progress: -series["loss"]),
        ContractError,
        r"raised TypeError: tuple .*after each epoch of a try, the last ones in series\[-1\]",
    ),
    (
        "keep_best",
        made(keep_best="loss"),
        SettingsError,
        r"got 'loss'; for a metric write .*lowest",
    ),
    (
        "typo",
        body(usual, minimize="los"),
        MetricError,
        r"no metric 'los'; did you mean 'loss'\? Kno",
    ),
    ("never", body(usual, minimize="val"), MetricError, r"no metric 'val'; Known: 'loss'"),
)

RUNS = rows_of(
    (
        "a history",
        lambda m: replay(adapter_of(CountedModel()).run(6), m),
        SettingsError,
        r"schedule_of\(hi",
    ),  # type: ignore[arg-type]
    (
        "no run",
        lambda m: plan_for({"lr": LRS}, 6),
        SettingsError,
        r"DynamicGridAdapter or the loop",
    ),  # type: ignore[arg-type]
    (
        "no history",
        lambda m: schedule_of(m),
        SettingsError,
        r"a History is needed, got <.*loop.hist",
    ),  # type: ignore[arg-type]
    (
        "text",
        lambda m: spent("run.jsonl"),
        SettingsError,
        r"a History is needed, got 'run.jsonl'; g",
    ),  # type: ignore[arg-type]
    (
        "candidates",
        lambda m: plan(epochs=6, adapt_every=3, try_for=1, candidates=LRS),  # type: ignore[arg-type]
        SettingsError,
        r"candidates must be a whole number above 0, got \[0.01",
    ),
    (
        "path",
        lambda m: Schedule.from_json("a.json"),
        SettingsError,
        r"got 'a.json'; .*read_text\(\)",
    ),
    (
        "trainer",
        lambda m: Shadow(m, criterion=lowest("loss")),
        SettingsError,
        r"Shadow: adapter must",
    ),  # type: ignore[arg-type]
    (
        "swapped",
        lambda m: KeepBest(lowest("loss"), m),
        SettingsError,
        r"lowest\('loss'\) lacks get_s",
    ),  # type: ignore[arg-type]
    (
        "object",
        lambda m: Processes(m),
        SettingsError,
        r"a function that builds a fresh trainer, got",
    ),  # type: ignore[arg-type]
    (
        "workers",
        lambda m: Processes(4),
        SettingsError,
        r"make_trainer must be a function .*, got 4",
    ),  # type: ignore[arg-type]
    (
        "purpose",
        lambda m: recommended({"lr": LRS}),
        SettingsError,
        r"nothing is known about \{'lr'",
    ),  # type: ignore[arg-type]
    ("folder", lambda m: resume(3, adapter_of(m)), SettingsError, r"must be a path, .*, got 3"),  # type: ignore[arg-type]
    (
        "swap",
        lambda m: resume(adapter_of(m), "run"),
        SettingsError,
        r"adapt\(...\) is needed, got 'r",
    ),  # type: ignore[arg-type]
    (
        "journal",
        lambda m: Journal(None),
        SettingsError,
        r"Journal: the path must be a path.*got None",
    ),  # type: ignore[arg-type]
    (
        "read",
        lambda m: history_from_journal([]),
        SettingsError,
        r"journal must be a path.*got \[\]",
    ),  # type: ignore[arg-type]
    (
        "loop",
        lambda m: run_with_checkpoints(loop_of(m), 6, checkpoint="a"),
        LoopError,
        r"iterate ov",
    ),
    ("run again", lambda m: adapter_of(m).run("6"), SettingsError, r"epochs must be .*got '6'"),
)

TABLE = [*SPACES, *CRITERIA, *RUNS]


@pytest.mark.parametrize(("act", "error", "message"), TABLE)
def test_a_mistake_is_explained_and_harms_nothing(
    act: Act,
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    explain(act, error, message)
