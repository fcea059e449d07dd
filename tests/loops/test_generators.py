"""The global generators after a loop are those of the plain loop, resumed or not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import adapt, rescue
from dynhp.loops.parts import GeneratorsBefore, Part
from dynhp.storage import checkpoints
from dynhp.triggers import At, OnPlateau
from tests.support.killing import Killed

EPOCHS = 12


class Model:
    """Trains with the global generators of Python and numpy."""

    def __init__(self) -> None:
        self.weight = 3.0

    def state_dict(self) -> dict[str, float]:
        return {"weight": self.weight}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.weight = state["weight"]

    def train(self, rate: Any) -> float:
        noise = 0.1 * float(np.random.normal()) + 0.01 * random.random()
        self.weight = self.weight * (1 - rate) + noise
        return self.weight**2 + 0.1


KINDS: dict[str, dict[str, Any]] = {
    "every few epochs": {"adapt_every": 3},
    "checked": {"adapt_every": 3, "check": "every"},
    "value": {"adapt_every": 3, "keep": "value"},
    "dry": {"adapt_every": 3, "dry_run": True, "randomness": "independent"},
    "moments": {"when": At([2, 7])},
    "plateau": {"when": OnPlateau("loss", patience=1), "start_from": "here", "max_rounds": 3},
    "nothing to rescue": {
        "when": At([4]),
        "start_from": "before",
        "max_rescues": 2,
        "max_rounds": 1,
    },
}
INDEPENDENT: dict[str, dict[str, Any]] = {
    "every few epochs": {"adapt_every": 3},
    "value": {"adapt_every": 3, "keep": "value"},
    "moments": {"when": At([2, 7])},
    "plateau": {"when": OnPlateau("loss", patience=1), "start_from": "best", "max_rounds": 3},
}


def seed() -> tuple[Any, Any]:
    """Where the generators are when the script begins, as each process sets them."""
    random.seed(1)
    np.random.seed(1)
    return positions()


def positions() -> tuple[Any, Any]:
    _, keys, place, *rest = np.random.get_state()
    return random.getstate(), (keys.tolist(), place, *rest)


def script(settings: Any, folder: Path | None = None, killed_in: int | None = None) -> Any:
    """A whole script; gives its loop, its weight, and where the generators are after the loop."""
    seed()
    model = Model()
    given = {"space": {"rate": [0.1, 0.3]}, "minimize": "loss", "try_for": 1, "check": "off"}
    loop = adapt(EPOCHS, state=[model], **{**given, "initial": {"rate": 0.1}, **settings})
    if folder is None:
        train(loop, model, killed_in)
    else:
        with checkpoints(folder, loop):
            train(loop, model, killed_in)
    return loop, model.weight, positions()


def train(loop: Any, model: Model, killed_in: int | None, breaks: Any = ()) -> None:
    left = list(breaks)
    for passes, epoch in enumerate(loop):
        if passes == killed_in:
            raise Killed
        loss = model.train(epoch["rate"])
        if epoch.main and int(epoch) in left:
            left.remove(int(epoch))
            loss = float("nan")
        epoch.report(loss=loss)


def plain(loop: Any) -> Any:
    """The plain loop with the values that were in force, without dynhp."""
    seed()
    model = Model()
    for round_ in loop.history:
        assert not round_.abandoned
        for _ in range(round_.epochs):
            model.train(round_.candidate["rate"])
    return model.weight, positions()


@pytest.mark.parametrize("name", KINDS)
def test_they_are_those_of_the_plain_loop(name: str) -> None:
    loop, *rest = script(KINDS[name])
    assert sum(bool(round_.tries) for round_ in loop.history) > 0
    assert tuple(rest) == plain(loop)


@pytest.mark.parametrize("name", KINDS)
def test_resumed_or_not(name: str, tmp_path: Path) -> None:
    _, *rest = script(KINDS[name])
    for passes in range(1, 24, 4):
        folder = tmp_path / str(passes)
        killed = script_killed(KINDS[name], folder, passes)
        _, *after = script(KINDS[name], folder)
        assert after == rest, killed


def script_killed(settings: Any, folder: Path, passes: int) -> bool:
    try:
        script(settings, folder, passes)
    except Killed:
        return True
    return False


@pytest.mark.parametrize("name", INDEPENDENT)
def test_a_main_line_that_was_seeded_leaves_them_where_they_were(name: str, tmp_path: Path) -> None:
    before = seed()
    settings = {**INDEPENDENT[name], "randomness": "independent"}
    loop, weight, after = script(settings)
    assert any(round_.tries for round_ in loop.history)
    assert after == before
    for passes in range(1, 24, 4):
        folder = tmp_path / str(passes)
        script_killed(settings, folder, passes)
        _, *resumed = script(settings, folder)
        assert resumed == [weight, before]


@pytest.mark.parametrize("breaks", [(), (5,)])
def test_a_rescue_where_nothing_breaks_is_the_plain_loop(breaks: Any, tmp_path: Path) -> None:
    def rescued(folder: Path, killed_in: int | None = None) -> Any:
        before, model = seed(), Model()
        policy = rescue("rate", default=0.1, loss="loss", spike=1e9, try_for=1)
        loop = adapt(EPOCHS, state=[model], policy=policy, check="off")
        with checkpoints(folder, loop):
            train(loop, model, killed_in, breaks)
        return loop, before, (model.weight, positions())

    loop, before, after = rescued(tmp_path / "whole")
    assert sum(round_.rescue for round_ in loop.history) == len(breaks)
    assert after[1] == before if breaks else after == plain(loop)
    for passes in (3, 9):
        with pytest.raises(Killed):
            rescued(tmp_path / str(passes), passes)
        assert rescued(tmp_path / str(passes))[2][1] == after[1]


def test_a_loop_that_never_began_leaves_them_alone() -> None:
    value = [1]
    generators = GeneratorsBefore([Part(get=lambda: value[0], set=lambda new: None)])
    generators.leave([])
    assert generators.part().get() is None
