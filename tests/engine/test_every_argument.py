"""Each argument of when and from where refuses what makes no sense, and the error names it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, lowest, plateau, rescue
from dynhp.errors import SettingsError
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At, Due, Every, OnPlateau, OnSpike


def adapter(**changes: Any) -> Any:
    arguments: dict[str, Any] = {"when": OnPlateau("loss", patience=2), "try_for": 1, **changes}
    return DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1]}, criterion=lowest("loss"), **arguments
    )


def loop(**changes: Any) -> Any:
    arguments: dict[str, Any] = {"when": OnPlateau("loss", patience=2), "try_for": 1, **changes}
    return adapt(
        9, state=[NoisyQuadratic()], space={"lr": [0.1]}, criterion=lowest("loss"), **arguments
    )


def by_sigmas(**changes: Any) -> Any:
    return OnSpike("loss", **{"sigmas": 3.0, **changes})


def names_of(call: Any) -> list[str]:
    return list(inspect.signature(call).parameters)


GOOD: dict[Any, dict[str, Any]] = {
    Every: {"n": 3},
    At: {"moments": [1]},
    OnPlateau: {"metric": "loss", "patience": 2},
    OnSpike: {"metric": "loss", "factor": 2.0},
    Due: {},
    Snapshots: {},
    Ladder: {},
    plateau: {"name": "lr", "default": 0.1},
    rescue: {"name": "lr", "default": 0.1},
}
OF_ADAPTERS = ["when", "try_for", "start_from", "snapshots", "max_rounds", "max_rescues"]
OF_ADAPTERS += ["record_every"]
CALLS = [
    *((call, good, name) for call, good in GOOD.items() for name in names_of(call)),
    *((call, {}, name) for call in (adapter, loop) for name in OF_ADAPTERS),
    (by_sigmas, {}, "sigmas"),
]
BAD = {"object": object(), "-1": -1, "nan": math.nan, "word": "?!", "list": [], "True": True}
WORDS = {"loss": "metric", "spike": "factor", "adapt_every": "when"}  # said as what it becomes


@pytest.mark.parametrize(
    ("call", "good", "name"), CALLS, ids=[f"{call.__name__}-{name}" for call, _, name in CALLS]
)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_nonsense_is_refused(call: Any, good: dict[str, Any], name: str, bad: Any) -> None:
    call(**good)
    if (name, bad) in ALLOWED:
        return
    # That the argument is named is what counts here, in 316 cases.
    with pytest.raises(SettingsError, match=WORDS.get(name, name)):
        call(**{**good, name: bad})


ALLOWED = [
    *((name, "?!") for name in ("metric", "name", "loss", "because")),
    ("alarm", True),
]
