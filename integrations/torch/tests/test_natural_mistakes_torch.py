"""Mistakes of the first hour in torch: the rule, the value, the way out, and the model unharmed."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, lr_scheduler

from dynhp import adapt as plain_adapt
from dynhp import attribute
from dynhp.errors import (
    DynhpError,
    Hint,
    LoopError,
    MetricError,
    SettingsError,
    ValueNotInForce,
    ValueNotUsed,
)
from dynhp_torch import AveragedWeights, adapt, optimizer_param, schedule_scale

LRS = [0.01, 0.1, 0.5]
INPUTS = torch.linspace(-1, 1, 16).reshape(-1, 1)


class Setup:
    """A model, its optimiser and the loss; ``loop`` adapts the learning rate."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(1, 1)
        self.optimizer = SGD(self.model.parameters(), lr=0.1)

    def loop(self, **changes: Any) -> Any:
        given: dict[str, Any] = {"epochs": 6, "state": [self.model, self.optimizer]}
        given |= {"adapt_every": 3, "try_for": 1}
        given |= {} if {"space", "lr"} & changes.keys() else {"lr": LRS}
        given |= {} if {"criterion", "maximize"} & changes.keys() else {"minimize": "loss"}
        return adapt(**(given | changes))

    def step(self) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss: torch.Tensor = (self.model(INPUTS) - 2 * INPUTS).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss

    def seen(self) -> list[Any]:
        weights = [each.tolist() for each in self.model.parameters()]
        return [weights, self.optimizer.param_groups[0]["lr"], dict(self.optimizer.state)]


class Deep(nn.Module):
    """A model that prints as very many lines."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, 1) for size in range(1, 200)])


Act: TypeAlias = Callable[[Setup], object]


def body(step: Callable[[Any, Setup], object], **changes: Any) -> Act:
    """The mistake is in the body of the loop."""

    def run(setup: Setup) -> list[Any]:
        loop = setup.loop(**changes)
        for epoch in loop:
            step(epoch, setup)
        return [round_.candidate["lr"] for round_ in loop.history]

    return run


def usual(epoch: Any, setup: Setup) -> None:
    epoch.report(loss=setup.step().item())


def new_optimizer(epoch: Any, setup: Setup) -> None:
    setup.optimizer = SGD(setup.model.parameters(), lr=0.05)
    usual(epoch, setup)


def by_hand(epoch: Any, setup: Setup) -> None:
    setup.optimizer.param_groups[0]["lr"] = 0.3
    usual(epoch, setup)


def many(epoch: Any, setup: Setup) -> None:
    setup.step()
    epoch.report(loss=setup.model(INPUTS))


def bound(make: Callable[[Setup], Any]) -> Act:
    """The mistake is in a binding."""
    return lambda setup: setup.loop(space={"lr": LRS}, bind={"lr": make(setup)})


def below(key: Callable[[Setup], Any], axes: Any) -> Act:
    """The mistake is in a space by optimisers."""
    return lambda setup: setup.loop(space={key(setup): axes})


def listed(make: Callable[[Setup], Any], **changes: Any) -> Act:
    """The mistake is in the state."""
    return lambda setup: setup.loop(state=make(setup), **changes)


def rows_of(*rows: tuple[str, Act, Any, str | None]) -> list[Any]:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


STATES = rows_of(
    (
        "class",
        listed(lambda s: [s.model, SGD]),
        SettingsError,
        r"got 0 among .*the class SGD.*list",
    ),
    ("no optimiser", listed(lambda s: s.model), SettingsError, r"among 'Linear'; list the optimis"),
    ("two", listed(lambda s: [s.optimizer, Adam([INPUTS])]), SettingsError, r"got 2 .*; say which"),
    (
        "no model",
        listed(lambda s: [s.optimizer]),
        SettingsError,
        r"2 of 2 parameters.*list the modu",
    ),
    (
        "Auto",
        listed(lambda s: "Auto"),
        SettingsError,
        r"must be a list of objects, got 'Auto'; write",
    ),
    (
        "dict",
        listed(lambda s: {"m": s.model}),
        SettingsError,
        r"must be a list .*write state=\[mode",
    ),
    (
        "parameters",
        listed(lambda s: [s.model.parameters(), s.optimizer]),
        SettingsError,
        r"got <generator object Module.parameters .*give what it is made of, such as the model",
    ),
    (
        "parameters in a list",
        listed(lambda s: [list(s.model.parameters()), s.optimizer]),
        SettingsError,
        r"got \[Parameter containing.*list its items one by one",
    ),
    (
        "state_dict",
        listed(lambda s: [Deep().state_dict(), s.optimizer]),
        SettingsError,
        r"characters\); give the object itself, not its state_dict\(\)",
    ),
    (
        "one state_dict",
        listed(lambda s: Deep().state_dict()),
        SettingsError,
        r"must be a list of objects, got OrderedDict.*with the objects themselves",
    ),
    (
        "no scheduler",
        listed(lambda s: [s.model, s.optimizer, None]),
        SettingsError,
        r"got None; leave it out",
    ),
    (
        "scheduler without its optimiser",
        listed(lambda s: [s.model, lr_scheduler.StepLR(s.optimizer, 1)], space={"p": LRS}),
        SettingsError,
        r"the optimiser of StepLR is missing; list it too",
    ),
    (
        "iterator",
        listed(lambda s: [s.model, s.optimizer, iter(torch.utils.data.DataLoader(LRS))]),  # type: ignore[arg-type]
        SettingsError,
        r"an iterator cannot be put back",
    ),
    (
        "the plain adapt",
        lambda s: plain_adapt(
            6, state=[s.model], space={"lr": LRS}, minimize="loss", adapt_every=3, try_for=1
        ),
        SettingsError,
        r"Linear is a torch object.*use adapt of dynhp_torch",
    ),
)

SPACES = rows_of(
    (
        "None",
        lambda s: s.loop(lr=[None, 0.1]),
        SettingsError,
        r"must be a number, got None; list nu",
    ),
    (
        "word",
        lambda s: s.loop(lr=[0.1, "high"]),
        SettingsError,
        r"must be a number, got 'high'; lis",
    ),
    ("text", lambda s: s.loop(lr=["0.1", "0.2"]), SettingsError, r"lr: '0.1' is text, .*write 0.1"),
    ("negative", lambda s: s.loop(lr=[-0.1, 0.1]), SettingsError, r"must be above 0, got -0.1"),
    ("number", lambda s: s.loop(lr=0.3), SettingsError, r"got 0.3; write a list, such as \[0.01"),
    ("by name", below(lambda s: "optimizer", {"lr": LRS}), SettingsError, r"its object is the key"),
    (
        "by model",
        below(lambda s: Deep(), {"lr": LRS}),
        SettingsError,
        r"a name or an optimiser.*bind",
    ),
    (
        "by class",
        below(lambda s: SGD, {"lr": LRS}),
        SettingsError,
        r"got <class 'torch.optim.sgd.SGD",
    ),
    (
        "foreign",
        below(lambda s: Setup().optimizer, {"lr": LRS}),
        SettingsError,
        r"missing.*list it",
    ),
    (
        "group",
        bound(lambda s: optimizer_param(s.optimizer, "lr", [1])),
        SettingsError,
        r"no group 1",
    ),
    (
        "place",
        bound(lambda s: optimizer_param(s.optimizer, "lr", 0)),
        SettingsError,
        r"a list of pl",
    ),  # type: ignore[arg-type]
    (
        "optimiser",
        bound(lambda s: s.optimizer),
        SettingsError,
        r"must be an object with set\(value\)",
    ),
    (
        "of a class",
        bound(lambda s: optimizer_param(SGD, "lr")),
        SettingsError,
        r"needs an optimiser",
    ),  # type: ignore[arg-type]
    ("attribute", bound(lambda s: attribute(s.optimizer, "lr")), SettingsError, r"'param_groups'"),
    (
        "weights",
        bound(lambda s: attribute(s.model, "weight")),
        SettingsError,
        r"values must be numb",
    ),
    (
        "scale",
        lambda s: schedule_scale(Deep()),
        SettingsError,
        r"needs an optimiser of torch.*charac",
    ),  # type: ignore[arg-type]
    (
        "average",
        lambda s: AveragedWeights(s.optimizer, horizon=9),
        SettingsError,
        r"needs a module",
    ),  # type: ignore[arg-type]
)


def decay(setup: Setup) -> object:
    loop = setup.loop(space={setup.optimizer: {"weight_decay": [0.0, None]}})
    for epoch in loop:
        usual(epoch, setup)
    return loop


BODIES = rows_of(
    (
        "criterion",
        lambda s: s.loop(criterion=nn.MSELoss()),
        SettingsError,
        r"belongs into training",
    ),
    (
        "decay",
        decay,
        SettingsError,
        r"weight_decay of SGD must be a number, got None; leave it out",
    ),
    ("tensor", body(lambda e, s: e.report(s.step())), LoopError, r"takes names.*got tensor\("),
    ("item", body(lambda e, s: e.report(loss=s.step().item)), MetricError, r"built-in method item"),
    ("many", body(many), MetricError, r"'loss' must be a number, got tensor.*mean of many"),
    (
        "by hand",
        body(by_hand),
        ValueNotInForce,
        r"lr should be 0.1 but is 0.3 after .*schedule_scale",
    ),
    ("new optimiser", body(new_optimizer), ValueNotUsed, r"all 3 tries of round 0 came to exactly"),
)

TABLE = [*STATES, *SPACES, *BODIES]


@pytest.mark.parametrize(("act", "error", "message"), TABLE)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_a_mistake_is_explained_and_harms_nothing(
    act: Act, error: type[Exception], message: str
) -> None:
    setup = Setup()
    optimizer = setup.optimizer
    before = setup.seen()
    with pytest.raises(error, match=f"(?s){message}") as caught:
        act(setup)
    assert type(caught.value) is error
    assert isinstance(caught.value, DynhpError)
    assert len(str(caught.value)) <= 700
    setup.optimizer = optimizer
    assert setup.seen() == before


def test_the_table_is_long() -> None:
    assert len(TABLE) >= 35


WORKS = rows_of(
    ("tensor of rates", body(usual, lr=torch.tensor(LRS)), [0.1, 0.1], None),
    ("tensors", body(usual, lr=[torch.tensor(0.1), torch.tensor(0.2)]), [0.1, 0.1], None),
    ("start", body(usual, initial={"lr": torch.tensor(0.1)}), [0.1, 0.1], None),
    ("epochs", body(usual, epochs=torch.tensor(6)), [0.1, 0.1], None),
    ("gradient", body(lambda e, s: e.report(loss=s.step())), [0.1, 0.1], None),
    ("one element", body(lambda e, s: e.report(loss=s.step().reshape(1))), [0.1, 0.1], None),
    ("maximize", body(usual, maximize="loss"), [0.1, 0.1], "higher counts as better here"),
)


@pytest.mark.parametrize(("act", "answer", "hint"), WORKS)
def test_what_is_natural_works(
    act: Act, answer: Any, hint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert act(Setup()) == answer
    texts = [str(each.message) for each in given if each.category is Hint]
    assert hint is None or any(hint in text for text in texts)


def test_an_epoch_is_no_tensor() -> None:
    setup = Setup()
    before = setup.seen()
    with pytest.raises(TypeError, match=r"has no length; write int\(epoch\) in its place"):
        body(lambda epoch, setup: torch.tensor(epoch))(setup)
    assert setup.seen() == before


def test_an_epoch_in_a_file_of_torch_is_a_number() -> None:
    file, setup = io.BytesIO(), Setup()
    for epoch in setup.loop():
        usual(epoch, setup)
        if epoch == 5 and epoch.main:
            torch.save({"epoch": epoch, "model": setup.model.state_dict()}, file)
    file.seek(0)
    assert type(torch.load(file)["epoch"]) is int  # with weights_only, as by default


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"weight_decay": [0.0, 0.1]},
            r"'weight_decay'.*space={optimizer: {'weight_decay': \[\.\.\.",
        ),
        (
            {"minimise": "loss"},
            r"unexpected keyword argument 'minimise'; did you mean 'minimize'\?",
        ),
    ],
)
def test_a_keyword_that_does_not_exist_is_named(wrong: dict[str, Any], message: str) -> None:
    setup = Setup()
    with pytest.raises(TypeError, match=message):
        adapt(6, state=[setup.model, setup.optimizer], adapt_every=3, try_for=1, **wrong)
