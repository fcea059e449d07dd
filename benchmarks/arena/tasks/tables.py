"""Tables: a regression with noise, and a diagnosis from thirty measurements."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured

__all__ = ["cancer", "regression"]


def regression(seed: int) -> LearningTask:
    """A linear target with noise, 500 rows of 20 numbers, a perceptron: a script of ten lines."""
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randn(2500, 20, generator=drawn)
    weights = torch.randn(20, 1, generator=drawn)
    y = x @ weights + 0.5 * torch.randn(2500, 1, generator=drawn)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))
    parts = {"validation": slice(500, 1500), "test": slice(1500, 2500)}

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(500, (16,), generator=generator)
        return nn.functional.mse_loss(model(x[rows]), y[rows])

    def measure(part: str) -> Measured:
        loss = float(nn.functional.mse_loss(model(x[parts[part]]), y[parts[part]]))
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adam")


@cache
def _patients() -> tuple[Tensor, Tensor]:
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return torch.from_numpy((x - x.mean(0)) / x.std(0)).float(), torch.from_numpy(y).float()


def cancer(seed: int) -> LearningTask:
    """Breast cancer, 200 patients to learn from: a perceptron with two layers, AdamW."""
    x, y = _patients()
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    rows, validation, test = order[:569].split([200, 184, 185])
    model = nn.Sequential(
        nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    parts = {"validation": validation, "test": test}
    loss_of = nn.functional.binary_cross_entropy_with_logits

    def batch_loss(generator: torch.Generator) -> Tensor:
        chosen = rows[torch.randint(len(rows), (16,), generator=generator)]
        return loss_of(model(x[chosen])[:, 0], y[chosen])

    def measure(part: str) -> Measured:
        loss = float(loss_of(model(x[parts[part]])[:, 0], y[parts[part]]))
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adamw")
