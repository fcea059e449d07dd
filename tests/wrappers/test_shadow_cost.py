"""What an adapted line that failed has cost: every epoch begun, also those of tails."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Shadow, lowest
from dynhp.tails import annealed, scale
from dynhp.testing import Quadratic


class BreaksInItsStretch(Quadratic):
    """Counts the epochs begun, and once a round has begun, long stretches raise."""

    trained = 0
    adapted = False

    def begin(self, event: object) -> None:
        """From now on it is the adapted line that trains."""
        self.adapted = True

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.trained += k
        if k >= 4 and self.adapted:
            raise ArithmeticError("stretch")
        super().train_k(k, hyperparameters)


TAIL = annealed("lr", epochs=3)


@pytest.mark.parametrize("check", ["first", "off"])
@pytest.mark.parametrize(
    "given",
    [
        {"try_for": 1},
        {"try_for": 1, "tail": TAIL},
        {"try_for": 1, "keep": "value", "then": scale(1.0)},
        {"try_for": 1, "keep": "value", "then": scale(1.0), "tail": TAIL},
        {"try_for": 0, "tail": TAIL},
        {"try_for": 1, "dry_run": True},
    ],
)
def test_a_line_that_fails_has_cost_what_was_begun(given: dict[str, Any], check: Any) -> None:
    trainer = BreaksInItsStretch()
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        check=check,
        callbacks=trainer.begin,
        **given,
    )
    delivery = Shadow(adapter, criterion=lowest("loss")).run(20)
    assert delivery.adapted_error == "ArithmeticError: stretch"
    assert delivery.cost.total == trainer.trained


def test_what_counts_steps_is_told_in_steps() -> None:
    class QuadraticOfSteps(Quadratic):
        unit = "steps"

    adapter = DynamicGridAdapter(QuadraticOfSteps(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
                                 adapt_every=5, try_for=1)  # fmt: skip
    delivery = Shadow(adapter, criterion=lowest("loss")).run(10)
    assert str(delivery.cost).startswith("10 steps on the main line")
    assert {delivery.adapted.unit, delivery.shadow.unit} == {"steps"}
