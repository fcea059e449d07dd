"""What a shadow delivers has its values in force."""

from __future__ import annotations

from typing import Any

from dynhp import DynamicGridAdapter, Shadow, highest, lowest
from dynhp.testing.toys.quadratic import Quadratic


def test_the_values_of_a_shadow_that_is_delivered_are_in_force() -> None:
    class RemembersRate(Quadratic):
        rate = 0.5

        def hyperparameters(self) -> Any:
            return {"lr": self.rate}

        def train_k(self, k: int, hyperparameters: Any) -> None:
            self.rate = hyperparameters["lr"]
            super().train_k(k, hyperparameters)

    trainer = RemembersRate()
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.5]}, criterion=highest("loss"), adapt_every=2, try_for=1
    )
    assert Shadow(adapter, criterion=lowest("loss")).run(6).delivered == "shadow"
    assert adapter.current == {"lr": 0.1}
    assert trainer.rate == 0.5
