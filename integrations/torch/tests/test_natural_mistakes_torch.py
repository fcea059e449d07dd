"""Mistakes of the first hour in torch: the rule, the value, the way out, and the model unharmed."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
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
from tests.support.messages import raises

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


def rows_of(*rows: tuple[Any, ...]) -> list[Any]:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


STATES = rows_of(
    ("class", listed(lambda s: [s.model, SGD]), SettingsError),
    ("no optimiser", listed(lambda s: s.model), SettingsError),
    ("two", listed(lambda s: [s.optimizer, Adam([INPUTS])]), SettingsError),
    ("no model", listed(lambda s: [s.optimizer]), SettingsError),
    ("Auto", listed(lambda s: "Auto"), SettingsError),
    ("dict", listed(lambda s: {"m": s.model}), SettingsError),
    ("parameters", listed(lambda s: [s.model.parameters(), s.optimizer]), SettingsError),
    (
        "parameters in a list",
        listed(lambda s: [list(s.model.parameters()), s.optimizer]),
        SettingsError,
    ),
    ("state_dict", listed(lambda s: [Deep().state_dict(), s.optimizer]), SettingsError),
    ("one state_dict", listed(lambda s: Deep().state_dict()), SettingsError),
    ("no scheduler", listed(lambda s: [s.model, s.optimizer, None]), SettingsError),
    (
        "scheduler without its optimiser",
        listed(lambda s: [s.model, lr_scheduler.StepLR(s.optimizer, 1)], space={"p": LRS}),
        SettingsError,
    ),
    (
        "iterator",
        listed(lambda s: [s.model, s.optimizer, iter(torch.utils.data.DataLoader(LRS))]),  # type: ignore[arg-type]
        SettingsError,
    ),
    (
        "the plain adapt",
        lambda s: plain_adapt(
            6, state=[s.model], space={"lr": LRS}, minimize="loss", adapt_every=3, try_for=1
        ),
        SettingsError,
    ),
)

SPACES = rows_of(
    ("None", lambda s: s.loop(lr=[None, 0.1]), SettingsError),
    ("word", lambda s: s.loop(lr=[0.1, "high"]), SettingsError),
    ("text", lambda s: s.loop(lr=["0.1", "0.2"]), SettingsError),
    ("negative", lambda s: s.loop(lr=[-0.1, 0.1]), SettingsError),
    ("number", lambda s: s.loop(lr=0.3), SettingsError),
    ("by name", below(lambda s: "optimizer", {"lr": LRS}), SettingsError),
    ("by model", below(lambda s: Deep(), {"lr": LRS}), SettingsError),
    ("by class", below(lambda s: SGD, {"lr": LRS}), SettingsError),
    ("foreign", below(lambda s: Setup().optimizer, {"lr": LRS}), SettingsError),
    ("group", bound(lambda s: optimizer_param(s.optimizer, "lr", [1])), SettingsError),
    ("place", bound(lambda s: optimizer_param(s.optimizer, "lr", 0)), SettingsError),  # type: ignore[arg-type]
    ("optimiser", bound(lambda s: s.optimizer), SettingsError),
    ("of a class", bound(lambda s: optimizer_param(SGD, "lr")), SettingsError),  # type: ignore[arg-type]
    ("attribute", bound(lambda s: attribute(s.optimizer, "lr")), SettingsError),
    ("weights", bound(lambda s: attribute(s.model, "weight")), SettingsError),
    ("scale", lambda s: schedule_scale(Deep()), SettingsError),  # type: ignore[arg-type]
    ("average", lambda s: AveragedWeights(s.optimizer, horizon=9), SettingsError),  # type: ignore[arg-type]
)


def decay(setup: Setup) -> object:
    loop = setup.loop(space={setup.optimizer: {"weight_decay": [0.0, None]}})
    for epoch in loop:
        usual(epoch, setup)
    return loop


BODIES = rows_of(
    ("criterion", lambda s: s.loop(criterion=nn.MSELoss()), SettingsError),
    ("decay", decay, SettingsError),
    ("tensor", body(lambda e, s: e.report(s.step())), LoopError),
    ("item", body(lambda e, s: e.report(loss=s.step().item)), MetricError),
    ("many", body(many), MetricError),
    ("by hand", body(by_hand), ValueNotInForce),
    ("new optimiser", body(new_optimizer), ValueNotUsed),
)

TABLE = [*STATES, *SPACES, *BODIES]


@pytest.mark.parametrize(("act", "error"), TABLE)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_a_mistake_is_explained_and_harms_nothing(act: Act, error: type[Exception]) -> None:
    setup = Setup()
    optimizer = setup.optimizer
    before = setup.seen()
    with raises(error) as caught:
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


_RESUMED = """
import sys, torch
assert not any(name.startswith("dynhp") for name in sys.modules)
epoch = torch.load(sys.argv[1])["epoch"]  # with weights_only, as by default
start = epoch + 1
same = [0] * start == [0] * 6
print(int(epoch), f"{start:03d}", list(range(start, 8)), bool(start % 5 == 1), same)
"""


def test_an_epoch_in_a_file_of_torch_is_a_number_in_any_process(tmp_path: Path) -> None:
    file, setup = tmp_path / "checkpoint.pt", Setup()
    for epoch in setup.loop():
        usual(epoch, setup)
        if epoch == 5 and epoch.main:
            torch.save({"epoch": epoch, "model": setup.model.state_dict()}, file)
    command = [sys.executable, "-c", _RESUMED, str(file)]
    resumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resumed.stdout == "5 006 [6, 7] True True\n", resumed.stderr
    assert torch.load(file)["epoch"] == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight_decay": [0.0, 0.1]},
        {"minimise": "loss"},
    ],
)
def test_a_keyword_that_does_not_exist_is_named(wrong: dict[str, Any]) -> None:
    setup = Setup()
    with raises(TypeError):
        adapt(6, state=[setup.model, setup.optimizer], adapt_every=3, try_for=1, **wrong)
