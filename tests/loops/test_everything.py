"""A state that lists itself: what it takes, what it leaves, what it refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp import Counter, adapt, everything, lowest
from dynhp.errors import Hint, SettingsError
from dynhp.loops import Part, copied
from dynhp.loops.everything import named_state
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises, warns


class Scaler:
    """Anything with the usual pair of methods."""

    def __init__(self, **inside: Any) -> None:
        self.__dict__.update(inside)

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class Saves(Scaler):
    """One that saves something else than all that it stores."""

    def __init__(self, saved: Any, **inside: Any) -> None:
        super().__init__(**inside)
        self.saved: Callable[[], Any] = lambda: saved

    def state_dict(self) -> dict[str, Any]:
        return dict(self.saved())


class SomeOptimizer(Scaler):
    def __init__(self, *parameters: Any) -> None:
        super().__init__(param_groups=[{"params": list(parameters)}])


class FakeModule:
    """As a module of torch is made."""

    def __init__(self, *, tensors: int = 1, **modules: Any) -> None:
        self._modules = modules
        self._parameters: dict[str, Any] = {str(n): np.ones(1) for n in range(tensors)}
        self._buffers: dict[str, Any] = {}


class Game:
    """An environment, which is copied with all that it stores."""

    def __init__(self, **inside: Any) -> None:
        self.__dict__.update(inside)

    def step(self) -> None: ...

    def reset(self) -> None: ...


def taken(take: Callable[[], list[Any]]) -> tuple[list[Any], str]:
    with pytest.warns(Hint) as lines:
        state = take()
    (line,) = lines
    assert line.filename == __file__
    return state, str(line.message)


def test_all_kinds_are_taken_from_what_is_given_each_once() -> None:
    model, rng = FakeModule(inner=FakeModule()), np.random.default_rng(0)
    optimizer = SomeOptimizer(model._parameters["0"])
    loader = SimpleNamespace(sampler=SimpleNamespace(generator=rng), size=3, data=np.ones(3))
    run = SimpleNamespace(
        scaler=Scaler(scale=2.0), steps=Counter(), plain=3, loss=FakeModule(tensors=0)
    )
    state, line = taken(lambda: everything(model, optimizer, loader, run, optimizer))
    wanted = [model, optimizer, run.scaler, run.steps, rng]
    assert len(state) == len(wanted)
    assert all(thing is other for thing, other in zip(state, wanted, strict=True))
    assert line == (
        "the state is: model (FakeModule), optimizer (SomeOptimizer), run.scaler (Scaler), "
        "run.steps (Counter), loader.sampler.generator (Generator)"
    )


def test_what_has_no_name_is_called_by_its_kind() -> None:
    _, line = taken(lambda: everything(Scaler(), Scaler(), *[Counter(n) for n in range(12)]))
    assert line.startswith("the state is: Scaler 1 (Scaler), Scaler 2 (Scaler), Counter 3 (")
    assert line.endswith(" and 2 more")


def test_a_part_is_taken_as_it_is() -> None:
    part = Part(get=dict, set=print)
    state, line = taken(lambda: everything(part))
    assert state[0] is part
    assert line == "the state is: part (Part)"


def test_a_module_inside_of_another_and_a_wrapper_are_not_taken_again() -> None:
    inner = FakeModule()
    model = FakeModule(inner=inner)
    wrapper = FakeModule(tensors=0, model=model)
    run = SimpleNamespace(a=model, b=wrapper, c=inner)
    state, _ = taken(lambda: everything(run))
    assert state == [model]


def test_parameters_that_are_in_no_module_are_taken_too() -> None:
    model, weight, hidden = FakeModule(), np.ones(2), np.ones(3)
    own = model._parameters["0"]
    optimizers = [SomeOptimizer(own, weight, hidden), SomeOptimizer(weight)]
    run = SimpleNamespace(model=model, optimizers=optimizers, weight=weight)
    state, line = taken(lambda: everything(run))
    wanted = [model, *optimizers, weight, hidden]
    assert all(thing is other for thing, other in zip(state, wanted, strict=True))
    assert "run.weight (ndarray), run.optimizers[0]: parameter 2 (ndarray)" in line


class AroundMemory:
    """A tensor around some memory, as those of a ``state_dict`` are around the module's."""

    def __init__(self, place: int) -> None:
        self.place = place

    def data_ptr(self) -> int:
        return self.place


def module_of(weight: Any) -> FakeModule:
    module = FakeModule()
    module._parameters["0"] = weight
    return module


def test_a_scheduler_is_taken_with_its_optimiser() -> None:
    model = FakeModule()
    optimizer = SomeOptimizer(model._parameters["0"])
    scheduler = Saves({"step": 3}, optimizer=optimizer)
    state, line = taken(lambda: everything(model, scheduler))
    assert state == [model, scheduler, optimizer]
    assert line.endswith("scheduler (Saves), scheduler.optimizer (SomeOptimizer)")


def test_a_class_that_holds_the_training_is_taken_with_its_parts() -> None:
    """Gradients and modes are in no state_dict, so a model that is trained is taken by itself."""
    weight = AroundMemory(7)
    model, optimizer = module_of(weight), SomeOptimizer(weight)
    training = Saves({"model": {"weight": AroundMemory(7)}}, model=model, optimizer=optimizer)
    state, _ = taken(lambda: everything(training))
    assert state == [training, model, optimizer]


@pytest.mark.parametrize(
    ("weight", "saved", "twice"),
    [
        (
            AroundMemory(7),
            {"shadow": [{"weight": AroundMemory(7), "tied": AroundMemory(7)}], "steps": 3},
            False,
        ),
        (AroundMemory(7), {"shadow": (AroundMemory(8),), "steps": 3}, True),
        (AroundMemory(0), {"shadow": AroundMemory(0)}, True),  # nobody knows where it lies
    ],
)
def test_an_average_that_is_in_its_owners_state_is_not_taken_once_more(
    weight: Any, saved: Any, twice: bool
) -> None:
    module = module_of(weight)
    ema = Saves(saved, module=module)
    state, _ = taken(lambda: everything(ema))
    assert state == ([ema, module] if twice else [ema])


def test_auto_takes_a_class_with_a_state_of_its_own_though_it_holds_a_module() -> None:
    ema: Any = Saves({"steps": 3}, module=module_of(AroundMemory(7)))
    with warns(Hint):
        state = named_state("auto")
    assert state == [ema, ema.module]


def test_a_module_inside_of_an_environment_is_in_no_state_dict() -> None:
    game: Any = Game(module=module_of(AroundMemory(7)))
    state, _ = taken(lambda: everything(game))
    assert state == [game, game.module]


def test_what_an_environment_stores_is_copied_with_it() -> None:
    game = Game(rng=random.Random(0), parts=[random.Random(1)])
    other = Scaler()
    state, _ = taken(lambda: everything(game, other))
    assert state == [game, other]


@pytest.mark.parametrize(
    "thing",
    [
        SimpleNamespace(it=(n for n in range(3))),
        SimpleNamespace(it=iter([3])),
        SimpleNamespace(persistent_workers=True),
        Game(it=(n for n in range(3))),
        3,
    ],
)
def test_what_cannot_be_put_back_is_refused_by_its_name(thing: Any) -> None:
    with raises(SettingsError):
        everything(thing)


def test_an_iterator_at_its_end_and_an_open_file_are_let_be(tmp_path: Any) -> None:
    done = (n for n in range(0))
    list(done)
    with (tmp_path / "log").open("w") as log:
        run = SimpleNamespace(done=done, log=log, steps=Counter())
        state, _ = taken(lambda: everything(run))
    assert state == [run.steps]


def test_auto_takes_what_the_code_around_has_names_for() -> None:
    model, steps, numbers = NoisyQuadratic(), Counter(), [1, 2]
    with warns(Hint):
        loop = adapt(
            4,
            state="auto",
            space={"lr": [0.1, 0.5]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
    for epoch in loop:
        model.train_k(1, epoch.values)
        steps += 1
        epoch.report(loss=model.metrics()["loss"])
    assert steps == 4
    assert numbers == [1, 2]


def test_auto_takes_parts_that_have_names() -> None:
    """What a part copies is not taken once more by itself."""
    model, game, seen = NoisyQuadratic(), Game(place=0), {"epochs": 0}
    memory, played = Part(get=seen.copy, set=seen.update), copied(game)
    with warns(Hint):
        state = named_state("auto")
    assert state[-2:] == [memory, played]
    assert any(thing is model for thing in state)
    assert not any(thing is game for thing in state)


def test_auto_that_takes_nothing_is_refused() -> None:
    space: dict[str, Any] = {"__name__": "script", "named_state": named_state}
    with raises(SettingsError):
        exec("named_state('auto')", space)


def test_any_other_state_is_left_as_it_is() -> None:
    state = [Counter()]
    assert named_state(state) is state
    assert named_state(state[0]) == state  # one object is a list of one
