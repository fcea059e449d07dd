"""Loops around a toy model, and what is seen of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynhp import adapt, lowest, replay, schedule_of
from dynhp.loops import Epoch, Loop
from dynhp.testing.toys.quadratic import NoisyQuadratic

LRS = [0.01, 0.1, 0.3]


class Layer:
    p = 0.1


def loop_over(model: NoisyQuadratic, epochs: int = 9, **settings: Any) -> Loop:
    arguments: dict[str, Any] = {
        "state": [model],
        "space": {"lr": LRS},
        "criterion": lowest("loss"),
        "adapt_every": 3,
        "try_for": 1,
        "check": "off",  # it has tests of its own
    }
    return adapt(epochs, **{**arguments, **settings})


def train(model: NoisyQuadratic, epoch: Any) -> None:
    model.train_k(1, {"lr": epoch["lr"]})
    epoch.report(**model.metrics())


def run(loop: Loop, body: Callable[[Epoch], None]) -> None:
    for epoch in loop:
        body(epoch)


def seen(model: NoisyQuadratic) -> str:
    return repr(model.get_state())


def replayed(loop: Loop) -> NoisyQuadratic:
    model = NoisyQuadratic()
    replay(schedule_of(loop.history), model)
    return model
