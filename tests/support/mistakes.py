"""What natural mistakes are made with: a small model, a loop and an adapter around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from dynhp import DynamicGridAdapter, adapt
from dynhp.errors import DynhpError, SettingsError
from dynhp.testing import Quadratic
from tests.support.messages import raises

LRS = [0.01, 0.1, 0.5]


class CountedModel(Quadratic):
    """Counts what it trains; it has a size that a value can be bound to."""

    trained = 0
    size = lr = 0.1

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.trained += k
        super().train_k(k, hyperparameters)


class LossFunction:
    def forward(self, outputs: Any, targets: Any) -> float:
        return 0.0

    __call__ = forward


class Hooks:
    def on_round_end(self, round_: Any) -> None: ...


def loop_of(model: CountedModel, **changes: Any) -> Any:
    given: dict[str, Any] = {
        "epochs": 6,
        "state": [model],
        "space": {"lr": LRS},
        "adapt_every": 3,
        "try_for": 1,
    }
    if not {"criterion", "minimize", "maximize"} & changes.keys():
        given["minimize"] = "loss"
    return adapt(**(given | changes))


def adapter_of(model: Any, **changes: Any) -> Any:
    given: dict[str, Any] = {"space": {"lr": LRS}, "minimize": "loss"}
    return DynamicGridAdapter(model, **(given | {"adapt_every": 3, "try_for": 1} | changes))


Act: TypeAlias = Callable[[CountedModel], object]


def made(**changes: Any) -> Act:
    """The mistake is in an argument of ``adapt``."""
    return lambda model: loop_of(model, **changes)


def body(step: Callable[[Any, CountedModel], object], **changes: Any) -> Act:
    """The mistake is in the body of the loop."""

    def run(model: CountedModel) -> list[Any]:
        loop = loop_of(model, **changes)
        for epoch in loop:
            step(epoch, model)
        return [round_.candidate["lr"] for round_ in loop.history]

    return run


def trained(epoch: Any, model: CountedModel) -> float:
    model.train_k(1, epoch.values)
    return model.metrics()["loss"]


def usual(epoch: Any, model: CountedModel) -> None:
    epoch.report(loss=trained(epoch, model))


def rows_of(subject: str, *rows: tuple[Any, ...]) -> list[Any]:
    """The rows of a table about a subject; each begins with its name there."""
    names = [f"{subject}: {name}" for name, *_ in rows]
    return [pytest.param(*row[1:], id=name) for name, row in zip(names, rows, strict=True)]


def explain(act: Act, error: type[Exception]) -> None:
    """The mistake gets this error of ours, a short one, and the model is as it was."""
    model = CountedModel()
    before = model.get_state()
    with raises(error) as caught:
        act(model)
    assert type(caught.value) is error
    assert isinstance(caught.value, DynhpError)
    assert len(str(caught.value)) <= 700
    assert model.get_state() == before
    if error is SettingsError:
        assert model.trained == 0  # refused before anything was trained
