"""Mistakes of the first hour with loops: the rule, the value, the way out, and no harm."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynhp.errors
from dynhp import (
    Best,
    Counter,
    FullGrid,
    attribute,
    everything,
    schedule_of,
    spent,
)
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


def pairs(model: CountedModel) -> None:
    for _epoch, _batch in loop_of(model):
        pass


def nested(model: CountedModel) -> None:
    loop = loop_of(model)
    for _ in loop:
        for _ in loop:
            pass


def set_value(epoch: Any, model: CountedModel) -> None:
    epoch["lr"] = 0.3


STATES = rows_of(
    (
        "a word among rates",
        made(space={"lr": [0.1, "high"]}, bind={"lr": attribute(CountedModel(), "lr")}),
        SettingsError,
        r"a learning rate must be a number, got 'high'; list numbers alone",
    ),
    ("Auto", made(state="Auto"), SettingsError, r'got \'Auto\'; write state=\[.*or state="auto"'),
    (
        "dict",
        made(state={"model": 1}),
        SettingsError,
        r"list of objects, got \{'model'.*write state=",
    ),
    ("generator", made(state=(m for m in [1])), SettingsError, r"list of objects, got <generator"),
    (
        "names",
        made(state=["model"]),
        SettingsError,
        r"each object must have .*, got 'model'; give P",
    ),
    (
        "None",
        made(state=[CountedModel(), None]),
        SettingsError,
        r"each object must .*got None; leave it out",
    ),
    (
        "nested",
        made(state=[[CountedModel()]]),
        SettingsError,
        r"each object .*; list its items one by one",
    ),
    (
        "its state",
        made(state=[{"w": 1}]),
        SettingsError,
        r"the object itself, not its state_dict\(\)",
    ),
    (
        "iterator",
        made(state=[iter([1])]),
        SettingsError,
        r"an iterator cannot be put back: give what",
    ),
    (
        "float",
        made(state=[CountedModel(), 0.5]),
        SettingsError,
        r"got 0.5; a number .* as a Counter of dyn",
    ),
    ("huge", made(state=["x" * 9999]), SettingsError, r"got 'x.*\(10001 characters\); give Part"),
    (
        "nothing",
        lambda model: everything(),
        SettingsError,
        r"needs what is trained, as in everything",
    ),
    (
        "text",
        lambda model: everything("model"),
        SettingsError,
        r"str 1 \(str\) holds nothing .*Part",
    ),
    ("count", lambda model: Counter("3"), SettingsError, r"start with a number, got '3'"),  # type: ignore[arg-type]
    ("no count", lambda model: Counter(None), SettingsError, r"start with a number, got None"),  # type: ignore[arg-type]
    (
        "binding",
        made(bind=attribute(CountedModel(), "size")),
        SettingsError,
        r"must map names to bindings",
    ),
    (
        "functions",
        made(bind={"lr": (len, print)}),
        SettingsError,
        r"'lr' must be .*such as attribute",
    ),
    (
        "object",
        made(bind={"lr": CountedModel()}),
        SettingsError,
        r"bind: 'lr' must be an object with set\(",
    ),
    ("place", lambda m: attribute(m, "layers[0].p"), SettingsError, r"got .*write 'layers.0.p'"),
)

BODIES = rows_of(
    ("pairs", pairs, LoopError, r"write `for epoch in loop`; .*epoch\['name'\] or epoch.values"),
    ("nested", nested, LoopError, r"runs once; call adapt\(...\) again for another"),
    ("list(loop)", lambda m: list(loop_of(m)), LoopError, r"was not reported; call epoch.report"),
    (
        "loop.report",
        lambda m: loop_of(m).report(loss=1),
        UnknownName,
        r"a loop has no 'report'; .*ep",
    ),
    ("loop['lr']", lambda m: loop_of(m)["lr"], UnknownName, r"a loop has no \['lr'\]; .*epoch\['"),
    ("loop.run", lambda m: loop_of(m).run(6), UnknownName, r"a loop has no 'run'; iterate over it"),
    ("loop.best", lambda m: loop_of(m).best, LoopError, r"no state was kept; .*keep_best=True"),
    ("epoch.lr", body(lambda e, m: e.lr), UnknownName, r"write epoch\['lr'\], not epoch.lr"),
    ("epoch.log", body(lambda e, m: e.log(loss=1)), UnknownName, r"no 'log'; it has report\(...\)"),
    ("epoch['LR']", body(lambda e, m: e["LR"]), LoopError, r"no hyperparameter 'LR'; Known: 'lr'"),
    (
        "set",
        body(set_value),
        LoopError,
        r"are chosen for it and read, as in epoch\['lr'\]; .*initi",
    ),
    ("values.lr", body(lambda e, m: e.values.lr), UnknownName, r"'lr'; .*as in candidate\['lr'\]"),
    ("values['LR']", body(lambda e, m: e.values["LR"]), UnknownName, r"^no hyperparameter 'LR'; K"),
    (
        "name, value",
        body(lambda e, m: e.report("loss", 1)),
        LoopError,
        r"takes names, .*got loss, 1",
    ),
    ("text", body(lambda e, m: e.report("loss=1")), LoopError, r"takes names, as in .*got loss=1"),
    (
        "None",
        body(lambda e, m: e.report(loss=None)),
        MetricError,
        r"a number, got None; give one num",
    ),
    ("many", body(lambda e, m: e.report(loss=np.ones(999))), MetricError, r"array.*mean of many"),
    (
        "within",
        body(lambda e, m: e.report(val={"loss": 1})),
        MetricError,
        r"'val' must be a number",
    ),
    (
        "number as name",
        body(lambda e, m: e.report({0: 1})),
        MetricError,
        r"name must be a string, got",
    ),
    ("no call", body(lambda e, m: e.report), LoopError, r"was not reported; call epoch.report"),
    (
        "main only",
        body(lambda e, m: e.main and e.report(loss=1)),
        LoopError,
        r"not reported.*steps=",
    ),
    ("nan", body(lambda e, m: e.report(loss=float("nan"))), AllTriesFailed, r"loss is nan after"),
    (
        "no effect",
        body(lambda e, m: e["lr"] and e.report(loss=1)),
        ValueNotUsed,
        r"although their va",
    ),
    (
        "not used",
        body(lambda e, m: e.report(loss=1)),
        LoopError,
        r"neither bound nor read.*give bind",
    ),
)

OPTIONS = rows_of(
    ("swapped", made(proposer=Best(), selection=FullGrid()), SettingsError, r"got Best\(\)"),
    (
        "no argument",
        made(callbacks=[lambda: None]),
        SettingsError,
        r"called with it alone.*give it",
    ),
    (
        "two",
        made(callbacks=[lambda a, b: None]),
        SettingsError,
        r"called with it alone, got <funct",
    ),
    (
        "class",
        made(callbacks=[Journal]),
        SettingsError,
        r"Journal'>; .*make an object of the class",
    ),
    ("hooks", made(callbacks=[Hooks()]), SettingsError, r"list of functions of an event, got \[<"),
    ("a file", made(callbacks="run.jsonl"), SettingsError, r"list of functions .*'run.jsonl'"),
    (
        "seed",
        made(seed=np.random.default_rng()),
        SettingsError,
        r"whole number of 0 .*got Generator",
    ),
    (
        "check",
        made(check=True),
        SettingsError,
        r"check must be 'first' or 'every' or 'off', got Tr",
    ),
    (
        "tolerance",
        made(tolerance="1e-6"),
        SettingsError,
        r"tolerance must be a number .*got '1e-6'",
    ),
    ("dry run", made(dry_run="yes"), SettingsError, r"dry_run must be True or False, got 'yes'"),
    ("share", made(try_for=1.2), SettingsError, r"try_for must be a whole number above 0.*got 1.2"),
    ("length", made(epochs=range(6)), SettingsError, r"epochs must be a whole number .*got range"),
)

TABLE = [*STATES, *BODIES, *OPTIONS]


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


def test_what_python_asks_for_is_no_mistake() -> None:
    assert not hasattr(loop_of(CountedModel()), "_repr_html_")


def test_the_table_is_long() -> None:
    assert len(TABLE) >= 45


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
    act: Act, answer: Any, hint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dynhp.errors, "_given", set())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert act(CountedModel()) == answer
    texts = [str(each.message) for each in given if each.category is Hint]
    assert hint is None or any(re.search(hint, text) for text in texts)
