"""What one run is asked for, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.arena.stepped import Averaging, MakeOptimizer
from benchmarks.arena.tasks.registry import make_trainer
from benchmarks.arena.tracked import Checkpoint, Tracked

__all__ = ["BUDGET", "RunSetting", "outcome"]

BUDGET = 1.4
"""The runs that methods with tries or trials of their own may cost: as many for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetting:
    """A run: its task, the rate that it starts with, its seed, and its length."""

    task: str
    rate: float
    seed: int
    epochs: int
    steps: int

    @property
    def all_steps(self) -> int:
        """The steps of the whole run."""
        return self.epochs * self.steps

    @property
    def budget(self) -> int:
        """The epochs that a method may train in all."""
        return round(BUDGET * self.epochs)

    def trainer(
        self,
        factors: Sequence[float] | None = None,
        optimizer: MakeOptimizer | None = None,
        *,
        averaged: Averaging | None = None,
    ) -> Tracked:
        """The trainer as it is before its first epoch."""
        return make_trainer(
            self.task, seed=self.seed, steps=self.steps, factors=factors, optimizer=optimizer,
            averaged=averaged,
        )  # fmt: skip


def outcome(best: Checkpoint, setting: RunSetting, *, epochs: float, **more: Any) -> dict[str, Any]:
    """The result of a run: its test value at the best-validation checkpoint, and its cost."""
    return {
        "value": best.test,
        "val": best.val,
        "epochs": epochs,
        "runs": epochs / setting.epochs,
        **more,
    }
