"""Settings made again from a file: the plan is that of the adapter, and no text can do harm."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynhp import (
    BestByMargin,
    DynamicGridAdapter,
    Float,
    Int,
    Interpolation,
    Neighbors,
    Racing,
    lowest,
    plan_for,
)
from dynhp.proposers import Climb
from dynhp.report.page import run_of
from dynhp.report.page.rebuilt import log_scales, plan_of, rebuilt
from dynhp.saved import policy_text
from dynhp.snapshots import Snapshots
from dynhp.spaces import Around
from dynhp.tails import annealed, scale
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, OnPlateau, OnSpike

CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "checked": {"check": "every"},
    "unchecked": {"check": "off"},
    "racing neighbours": {"proposer": Neighbors(2), "selection": Racing(), "try_for": 4},
    "interpolation": {"proposer": Interpolation(), "selection": BestByMargin(noise=1)},
    "independent": {"keep": "value", "randomness": "independent"},
    "plateau": {"when": OnPlateau("loss", patience=2), "adapt_every": None, "max_rounds": 3},
    "at": {"when": At([0, 10]), "adapt_every": None},
    "before": {
        "when": OnSpike("loss", factor=50.0), "adapt_every": None, "max_rounds": 0,
        "max_rescues": 2, "start_from": "before", "snapshots": Snapshots(k=3, every=2),
    },
    "best": {
        "when": OnPlateau("loss", patience=2), "adapt_every": None, "max_rounds": 3,
        "start_from": "best",
    },
}  # fmt: skip


def made(**settings: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {"adapt_every": 8, "try_for": 2, "initial": {"lr": 0.1}}
    return DynamicGridAdapter(
        NoisyQuadratic(seed=2),
        {"lr": Float(0.01, 1.0, log=True, points=5)},
        criterion=lowest("loss"),
        **(given | settings),
    )


@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_the_one_that_was_made_before_the_run(name: str) -> None:
    adapter = made(**CASES[name])
    planned = plan_for(adapter, 40)
    history = adapter.run(40)
    run = run_of(name, history, about={"settings": adapter.described, "epochs": 40})
    assert run.plan == planned
    assert log_scales(run.settings) == {"lr": True}
    assert run.missing == ["the versions", "the command"]


def test_the_plan_of_a_search_for_a_learning_rate() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(seed=2), {"lr": Around(0.1)}, criterion=lowest("loss"), when=At([0]),
        try_for=0, keep="value", proposer=Climb(8), tail=annealed("lr", epochs=0.1),
        then=scale(0.316228), initial={"lr": 0.003},
    )  # fmt: skip
    planned = plan_for(adapter, 40)
    history = adapter.run(40)
    about = {"settings": adapter.described, "epochs": 40}
    assert run_of("rate", history, about=about).plan == planned


def test_a_value_at_the_start_that_joined_the_space_is_in_the_plan() -> None:
    class StartsAt(NoisyQuadratic):
        rate: Any = 0.2

        def train_k(self, k: int, values: Any) -> None:
            self.rate = values["lr"]
            super().train_k(k, values)

        def hyperparameters(self) -> dict[str, Any]:
            return {"lr": self.rate}

    adapter = DynamicGridAdapter(
        StartsAt(seed=2),
        {"lr": [0.01, 0.1, 1.0]},
        criterion=lowest("loss"),
        adapt_every=8,
        try_for=2,
    )
    planned = plan_for(adapter, 40)
    history = adapter.run(40)
    assert len(history[0].tries) == 4
    about = {"settings": adapter.described, "epochs": 40}
    assert "0.2" not in adapter.described["space"]
    assert run_of("joined", history, about=about).plan == planned


def test_an_adapter_says_its_settings_when_its_first_round_begins() -> None:
    adapter = made()
    assert adapter.described == {}
    adapter.run(8)
    assert adapter.described == policy_text(adapter.policy)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('x')",
        "().__class__",
        "Best().key",
        "lambda: 0",
        "x" * 30_000,
        "Racing(",
        "Unknown(3)",
        "eval",
        "{**{'a': 1}}",
        "Space(**{'lr': 3})",
        "Neighbors(*[1])",
    ],
)
def test_what_is_not_of_dynhp_is_not_made(text: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        rebuilt(text)
    settings = {**made_settings(), "selection": text}
    assert plan_of(settings, (), 40) is None
    assert log_scales({"space": text}) == {}


@pytest.mark.parametrize("text", ["-" * 15_000 + "1", "1" + "+1" * 9_000, "[" * 10_000])
def test_what_is_nested_too_deeply_is_not_made(text: str) -> None:
    with pytest.raises((MemoryError, RecursionError, SyntaxError)):  # it depends on the Python
        rebuilt(text)
    assert plan_of({**made_settings(), "selection": text}, (), 40) is None
    assert log_scales({"space": text}) == {}


def test_a_space_that_is_none_has_no_plan() -> None:
    assert plan_of({**made_settings(), "space": "3"}, (), 40) is None


def made_settings() -> dict[str, str]:
    adapter = made()
    adapter.run(8)
    return dict(adapter.described)


def test_what_plain_texts_stand_for() -> None:
    text = "{'a': [1, -2.5, None], 'b': (True, 'x', inf)}"
    assert rebuilt(text) == {"a": [1, -2.5, None], "b": (True, "x", math.inf)}
    assert rebuilt("Int(1, 3)") == Int(1, 3)


def test_without_a_length_there_is_no_plan() -> None:
    assert plan_of(made_settings(), (), 0) is None
    assert run_of("old", (), about={}).plan is None
