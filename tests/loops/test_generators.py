"""The global generators after a loop are those of the plain loop, resumed or not."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import adapt, rescue
from dynhp.errors import Hint, SettingsError
from dynhp.loops.parts import GeneratorsBefore, Part, part_of
from dynhp.storage import checkpoints
from dynhp.triggers import At, OnPlateau, OnSpike
from tests.support.killing import Killed
from tests.support.messages import raises, warns

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


RESCUES: dict[str, Any] = {
    "when": OnSpike("loss", factor=1e9),
    "start_from": "before",
    "max_rescues": 5,
    "max_rounds": 0,
}
SAVED: dict[str, dict[str, Any]] = {
    **KINDS,
    **{
        f"{name}, independent": {**settings, "randomness": "independent"}
        for name, settings in INDEPENDENT.items()
    },
    "nothing breaks": RESCUES,
    "breaks": {**RESCUES, "odds": 0.2},
    "breaks, independent": {**RESCUES, "odds": 0.2, "randomness": "independent"},
}


class SavedScript:
    """A script that saves the loop, its model and the generators after epochs of the main line."""

    def __init__(self, settings: dict[str, Any]) -> None:
        settings = {"space": {"rate": [0.1, 0.3]}, "check": "off", "try_for": 1, **settings}
        settings["initial"] = {"rate": 0.1}
        self.odds = settings.pop("odds", 0.0)
        self.model = Model()
        self.loop = adapt(EPOCHS, state=[self.model], minimize="loss", **settings)
        self.saved: list[Any] = []

    def save(self) -> None:
        state = self.loop.state_dict()
        if not state["adapter"]["held"]:  # those are as the parts of the state gave them
            plain = json.loads(json.dumps(state))
            assert state == plain
            state = plain
        generators = random.getstate(), np.random.get_state()
        self.saved.append(copy.deepcopy((state, self.model.state_dict(), generators)))

    def load(self, saved: Any) -> None:
        state, weights, generators = saved
        self.model.load_state_dict(weights)
        random.setstate(generators[0])
        np.random.set_state(generators[1])
        self.loop.load_state_dict(state)

    def run(self, *, saving: bool = False) -> Any:
        """Train, and give all that a script sees of it afterwards."""
        for epoch in self.loop:
            loss = self.model.train(epoch["rate"])
            breaks = self.odds > 0 and np.random.random() < self.odds and epoch.main
            epoch.report(loss=float("nan") if breaks else loss)
            if epoch.main and saving:
                self.save()
        measured = repr(self.loop.history.measured)  # because what is not a number equals nothing
        return self.loop.history, measured, self.model.weight, positions()


@pytest.mark.parametrize("name", SAVED)
def test_saved_by_hand_and_loaded_or_not(name: str) -> None:
    before = seed()
    whole = SavedScript(SAVED[name])
    whole.save()
    end = whole.run(saving=True)
    whole.save()
    seeded = any(round_.seed is not None for round_ in whole.loop.history)
    assert seeded == ("independent" in name or name.partition(",")[0] == "breaks")
    assert (end[-1] == before) == seeded
    assert any(state["round"] is not None for state, *_ in whole.saved)
    for place, saved in enumerate(whole.saved):
        random.seed(2 + place)  # the second process begins elsewhere
        np.random.seed(2 + place)
        again = SavedScript(SAVED[name])
        again.load(saved)
        again.save()
        twice = SavedScript(SAVED[name])
        twice.load(again.saved[0])
        assert twice.run() == end


def test_rescues_may_be_allowed_when_a_run_goes_on(tmp_path: Path) -> None:
    """The generators before the loop are saved although the first process could not seed them."""
    before = seed()
    first = SavedScript({**RESCUES, "max_rescues": 0, "max_rounds": 1})
    with checkpoints(tmp_path, first.loop):
        first.loop.adapter.epochs = 4
        first.run()
    seed()
    again = SavedScript({**RESCUES, "max_rounds": 1, "odds": 0.4})
    with checkpoints(tmp_path, again.loop):
        *_, after = again.run()
    assert any(round_.rescue for round_ in again.loop.history)
    assert after == before


def test_a_generator_that_does_not_take_its_state_is_named() -> None:
    settings = {"when": At([2, 7]), "randomness": "independent"}
    before = seed()
    first = SavedScript(settings)
    first.run(saving=True)
    state, *rest = first.saved[-1]
    assert list(state["generators"]) == ["module random", "numpy.random"]

    again = SavedScript(settings)
    of_another_machine = {**state["generators"], "numpy.random": ["MT19937", 3], "acme": [1]}
    again.load(({**state, "generators": of_another_machine}, *rest))
    with warns(Hint):
        *_, after = again.run()
    assert after[0] == before[0]

    with raises(SettingsError):
        SavedScript(settings).loop.load_state_dict({**state, "generators": 3})


def test_a_loop_that_never_began_leaves_them_alone() -> None:
    value = [1]
    generators = GeneratorsBefore([Part(get=lambda: value[0], set=lambda new: None)])
    generators.leave([])
    assert generators.part().get() == {}


def test_generators_of_others_are_stored_as_plain_data_too() -> None:
    state = {"key": np.arange(3), "place": (1, 2.5)}
    generators = GeneratorsBefore([Part(get=lambda: state, set=lambda new: None)])
    generators.enter()
    assert generators.to_plain() == {"generator 0": {"key": [0, 1, 2], "place": [1, 2.5]}}


def test_a_random_state_around_another_generator_is_seeded_and_put_back() -> None:
    source = np.random.RandomState(np.random.PCG64(3))  # type: ignore[arg-type]
    part = part_of(source)
    assert part.reseed is not None
    source.normal()  # it keeps a second one for the next call
    before = part.get()
    drawn = [source.normal() for _ in range(3)]
    part.set(before)
    assert [source.normal() for _ in range(3)] == drawn
    seeded = []
    for seed in (5, 6, 5):
        part.reseed(seed)
        seeded.append([source.normal() for _ in range(3)])
    assert seeded[0] == seeded[2] != seeded[1]
