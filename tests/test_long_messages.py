"""No error prints more than 500 characters of an object, however large the object is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp import (
    BestByMargin,
    Categorical,
    DynamicGridAdapter,
    Float,
    Int,
    KeepBest,
    Neighbors,
    Ordered,
    Placebo,
    Racing,
    Shadow,
    Space,
    adapt,
    attribute,
    complete_search,
    fixed,
    highest,
    lowest,
    plan_for,
    random_search,
    recommended,
    replay,
    smoothed,
    trainer_from,
)
from dynhp.errors import DynhpError, nearest, shown
from dynhp.read_back import check_value, plain_metrics
from dynhp.testing import NoisyQuadratic, Quadratic


class Huge:
    """An object that says a great deal about itself."""

    def __repr__(self) -> str:
        return "Huge(" + "x" * 100_000 + ")"


class Raises:
    """An object that cannot even say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def adapter_of(trainer: Any = None, space: Any = None, **settings: Any) -> DynamicGridAdapter:
    known: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    space = {"lr": [0.1, 0.2]} if space is None else space
    return DynamicGridAdapter(trainer or NoisyQuadratic(), space, **(known | settings))


def with_metrics(metrics: Any) -> Any:
    trainer: Any = Quadratic()
    trainer.metrics = lambda: metrics
    return trainer


def reading(values: Any) -> Any:
    trainer: Any = Quadratic()
    trainer.hyperparameters = lambda: values
    return trainer


SETTINGS = ["criterion", "adapt_every", "try_for", "proposer", "selection", "executor", "keep"]
SETTINGS += ["randomness", "initial", "epochs", "seed", "callbacks", "check", "tolerance"]
BAD: dict[str, Callable[[Any], object]] = {
    **{name: lambda bad, name=name: adapter_of(**{name: bad}) for name in SETTINGS},
    "trainer": lambda bad: adapter_of(trainer=bad),
    "space": lambda bad: adapter_of(space=bad),
    "an axis": lambda bad: Space({"x": bad}),
    "a value": lambda bad: Space({"x": [bad, bad]}),
    "a name": lambda bad: Space({"x": [1, 2]}).candidate({str(shown(bad, 10**6)): 1}),
    "values": lambda bad: Space({"x": [1, 2]}).candidate(bad),
    "one value": lambda bad: Space({"x": [1, 2]}).candidate({"x": bad}),
    "Float low": lambda bad: Float(bad, 1.0),
    "Float points": lambda bad: Float(0.1, 1.0, points=bad),
    "Int high": lambda bad: Int(1, bad),
    "Ordered": lambda bad: Ordered(bad),
    "Categorical": lambda bad: Categorical(bad, bad),
    "Racing keep": lambda bad: Racing(keep=bad),
    "BestByMargin": lambda bad: BestByMargin(delta=bad),
    "Neighbors": lambda bad: Neighbors(bad),
    "Placebo": lambda bad: Placebo(bad),
    "highest": lambda bad: highest(bad),
    "smoothed": lambda bad: smoothed(bad),
    "window": lambda bad: smoothed(lowest("loss"), bad),
    "metrics": lambda bad: adapter_of(with_metrics(bad)),
    "a metric": lambda bad: plain_metrics({"loss": bad}),
    "many metrics": lambda bad: adapter_of(with_metrics({f"m{i}" * 99: 1.0 for i in range(999)})),
    "read back": lambda bad: adapter_of(reading(bad)),
    "a value at the start": lambda bad: adapter_of(reading({"lr": "x" * 100_000})),
    "not in force": lambda bad: check_value("lr", 0.1, bad, "now"),
    "large space": lambda bad: adapter_of(space={"lr": list(range(1, 999))}, initial={"lr": -1}),
    "run": lambda bad: adapter_of().run(bad),
    "plan_for": lambda bad: plan_for(adapter_of(), bad),
    "complete_search": lambda bad: complete_search(
        Quadratic(), {"lr": [1, 2]}, criterion=lowest("loss"), epochs=bad
    ),
    "random_search": lambda bad: random_search(Quadratic(), {"lr": [1, 2]}, epochs=bad),
    "fixed": lambda bad: fixed(Quadratic(), {"lr": 0.1}, epochs=bad),
    "replay": lambda bad: replay(bad, Quadratic()),
    "recommended": lambda bad: recommended(bad, epochs=100, loss="loss"),
    "trainer_from": lambda bad: trainer_from(
        get_state=bad, set_state=bad, train_k=bad, metrics=bad
    ),
    "attribute": lambda bad: attribute(Quadratic(), bad),
    "Shadow": lambda bad: Shadow(adapter_of(), criterion=bad),
    "KeepBest": lambda bad: KeepBest(Quadratic(), criterion=bad),
    "bind": lambda bad: adapt(
        2,
        state=[Quadratic()],
        space={"lr": [1, 2]},
        criterion=lowest("loss"),
        adapt_every=1,
        try_for=1,
        bind={"lr": bad},
    ),
}
HUGE = {
    "huge": Huge(),
    "no repr": Raises(),
    "array": np.arange(2000).tolist(),
    "text": "y" * 10**5,
}


def message(make: Any, bad: Any) -> str:
    """What the error says; nothing where there is none, as a long text is a fine name."""
    try:
        make(bad)
    except DynhpError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("bad", HUGE)
@pytest.mark.parametrize("make", BAD)
def test_no_error_prints_much_of_an_object(make: str, bad: str) -> None:
    text = message(BAD[make], HUGE[bad])
    assert text or bad in ("array", "text")
    assert len(text) < 1200
    assert "x" * 500 not in text
    assert "y" * 500 not in text


def test_an_object_is_shown_up_to_a_limit() -> None:
    assert shown("a" * 198) == repr("a" * 198)
    cut = shown(Huge())
    assert len(cut) <= 200
    assert cut.startswith("Huge(xxx")
    assert cut.endswith("... (100006 characters)")
    assert shown(Raises()) == "<Raises whose repr raises RuntimeError>"
    assert len(shown(list(range(1000)), 60)) <= 60


def test_known_names_are_not_listed_without_end() -> None:
    text = nearest("m3x", [f"m{i}" for i in range(1000)])
    assert text.endswith("(1000 in all)")
    assert len(text) < 300
