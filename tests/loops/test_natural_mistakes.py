"""Mistakes of the first hour with loops: the rule, the value, the way out, and no harm."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynhp.errors
from dynhp import Best, Counter, FullGrid, attribute, everything, schedule_of, spent
from dynhp.errors import (
    AllTriesFailed,
    Hint,
    LoopError,
    MetricError,
    SettingsError,
    UnknownName,
    ValueNotUsed,
)
from dynhp.storage import Journal, checkpoints
from dynhp.testing import Quadratic
from tests.support.mistakes import (
    LRS,
    Act,
    CountedModel,
    Hooks,
    adapter_of,
    body,
    explain,
    loop_of,
    made,
    rows_of,
    usual,
)


def nested(model: CountedModel) -> None:
    loop = loop_of(model)
    for _ in loop:
        for _ in loop:
            pass


def set_value(epoch: Any, model: CountedModel) -> None:
    epoch["lr"] = 0.3


STATES = rows_of(
    "states",
    (
        "a word among rates",
        made(space={"lr": [0.1, "high"]}, bind={"lr": attribute(CountedModel(), "lr")}),
        SettingsError,
    ),
    ("Auto", made(state="Auto"), SettingsError),
    ("dict", made(state={"model": 1}), SettingsError),
    ("generator", made(state=(m for m in [1])), SettingsError),
    ("names", made(state=["model"]), SettingsError),
    ("None", made(state=[CountedModel(), None]), SettingsError),
    ("nested", made(state=[[CountedModel()]]), SettingsError),
    ("its state", made(state=[{"w": 1}]), SettingsError),
    ("iterator", made(state=[iter([1])]), SettingsError),
    ("float", made(state=[CountedModel(), 0.5]), SettingsError),
    ("huge", made(state=["x" * 9999]), SettingsError),
    ("nothing", lambda model: everything(), SettingsError),
    ("text", lambda model: everything("model"), SettingsError),
    ("count", lambda model: Counter("3"), SettingsError),  # type: ignore[arg-type]
    ("no count", lambda model: Counter(None), SettingsError),  # type: ignore[arg-type]
    ("binding", made(bind=attribute(CountedModel(), "size")), SettingsError),
    ("functions", made(bind={"lr": (len, print)}), SettingsError),
    ("object", made(bind={"lr": CountedModel()}), SettingsError),
    ("place", lambda m: attribute(m, "layers[0].p"), SettingsError),
)

BODIES = rows_of(
    "bodies",
    ("nested", nested, LoopError),
    ("list(loop)", lambda m: list(loop_of(m)), LoopError),
    ("loop.report", lambda m: loop_of(m).report(loss=1), UnknownName),
    ("loop.report({})", lambda m: loop_of(m).report({"loss": 1}), UnknownName),
    ("loop['lr']", lambda m: loop_of(m)["lr"], UnknownName),
    ("loop.run", lambda m: loop_of(m).run(6), UnknownName),
    ("loop.best", lambda m: loop_of(m).best, LoopError),
    ("epoch.lr", body(lambda e, m: e.lr), UnknownName),
    ("epoch.log", body(lambda e, m: e.log(loss=1)), UnknownName),
    ("epoch['LR']", body(lambda e, m: e["LR"]), LoopError),
    ("set", body(set_value), LoopError),
    ("values.lr", body(lambda e, m: e.values.lr), UnknownName),
    ("values['LR']", body(lambda e, m: e.values["LR"]), UnknownName),
    ("name, value", body(lambda e, m: e.report("loss", 1)), LoopError),
    ("text", body(lambda e, m: e.report("loss=1")), LoopError),
    ("None", body(lambda e, m: e.report(loss=None)), MetricError),
    ("many", body(lambda e, m: e.report(loss=np.ones(999))), MetricError),
    ("within", body(lambda e, m: e.report(val={"loss": 1})), MetricError),
    ("number as name", body(lambda e, m: e.report({0: 1})), MetricError),
    ("no call", body(lambda e, m: e.report), LoopError),
    ("main only", body(lambda e, m: e.main and e.report(loss=1)), LoopError),
    ("nan", body(lambda e, m: e.report(loss=float("nan"))), AllTriesFailed),
    ("no effect", body(lambda e, m: e["lr"] and e.report(loss=1)), ValueNotUsed),
    ("not used", body(lambda e, m: e.report(loss=1)), LoopError),
)

OPTIONS = rows_of(
    "options",
    ("swapped", made(proposer=Best(), selection=FullGrid()), SettingsError),
    ("no argument", made(callbacks=[lambda: None]), SettingsError),
    ("two", made(callbacks=[lambda a, b: None]), SettingsError),
    ("class", made(callbacks=[Journal]), SettingsError),
    ("hooks", made(callbacks=[Hooks()]), SettingsError),
    ("a file", made(callbacks="run.jsonl"), SettingsError),
    ("seed", made(seed=np.random.default_rng()), SettingsError),
    ("check", made(check=True), SettingsError),
    ("tolerance", made(tolerance="1e-6"), SettingsError),
    ("dry run", made(dry_run="yes"), SettingsError),
    ("share", made(try_for=1.2), SettingsError),
    ("length", made(epochs=iter(range(6))), SettingsError),
)

TABLE = [*STATES, *BODIES, *OPTIONS]


@pytest.mark.parametrize(("act", "error"), TABLE)
def test_a_mistake_is_explained_and_harms_nothing(
    act: Act,
    error: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    explain(act, error)


def test_what_python_asks_for_is_no_mistake() -> None:
    assert not hasattr(loop_of(CountedModel()), "_repr_html_")


def with_checkpoints(model: CountedModel) -> list[Any]:
    loop = loop_of(model)
    with checkpoints("run", loop):
        for epoch in loop:
            usual(epoch, model)
    return [round_.candidate["lr"] for round_ in loop.history]


def left_in_a_try(model: CountedModel) -> list[Any]:
    loop = loop_of(model)
    for epoch in loop:
        usual(epoch, model)
        break
    assert model.get_state() == Quadratic().get_state()  # at the round's start
    return list(loop.history)


WORKS = rows_of(
    "works",
    ("numpy counts", body(usual, epochs=np.int64(6), seed=np.uint8(1)), [0.5, 0.5], None),
    ("numpy lengths", body(usual, adapt_every=np.int64(3), try_for=np.int32(1)), [0.5, 0.5], None),
    ("an array", body(usual, space={"lr": np.array(LRS)}), [0.5, 0.5], None),
    ("single", body(usual, space={"lr": np.float32([0.1, 0.2])}), [0.2, 0.2], None),
    ("numbers", body(usual, space={"lr": [np.float32(0.1), np.array(0.2)]}), [0.2, 0.2], None),
    ("range", body(usual, space={"lr": range(1, 3)}), [1, 1], None),
    ("one callback", body(usual, callbacks=lambda event: None), [0.5, 0.5], None),
    ("keep_best=None", body(usual, keep_best=None), [0.5, 0.5], None),
    ("one object", lambda m: body(usual, state=m)(m), [0.5, 0.5], None),
    ("checkpoints", with_checkpoints, [0.5, 0.5], None),
    ("break in a try", left_in_a_try, [], None),
    ("loop", lambda m: spent(loop_of(m)).total, 0, None),
    ("adapter", lambda m: schedule_of(adapter_of(m)).epochs, 0, None),
    ("numpy counter", lambda m: Counter(np.int64(3)).value, 3, None),
    ("maximize", body(usual, maximize="loss"), [0.01, 0.01], r"looks like a loss; use minimize="),
    ("one value", body(usual, space={"lr": [0.1]}), [0.1, 0.1], r"nothing to choose; list several"),
    (
        "long",
        body(usual, adapt_every=9),
        [0.5],
        r"adapt_every=9 is more than the 6 epochs .*smaller",
    ),
    ("pair", body(usual, space={"lr": (0.1, 0.5)}), [0.5, 0.5], r"write Float\(0.1, 0.5\) for all"),
    (
        "run twice",
        lambda m: [len(each) for each in map(adapter_of(m).run, (6, 6))],
        [2, 2],
        r"has 6 already, so nothing is trained; add them",
    ),
)


@pytest.mark.parametrize(("act", "answer", "hint"), WORKS)
def test_what_is_natural_works_and_what_is_odd_gets_a_hint(
    act: Act,
    answer: Any,
    hint: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dynhp.errors, "_given", set())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert act(CountedModel()) == answer
    texts = [str(each.message) for each in given if each.category is Hint]
    assert hint is None or any(re.search(hint, text) for text in texts)
