"""What should be left alone: dropout and label smoothing, where some images are mislabelled."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder
from benchmarks.arena.tasks.images import clothes

__all__ = ["mislabelled"]

TRAIN, HELD_OUT, WRONG, BATCH = 2000, 1000, 0.2, 50


def mislabelled(seed: int) -> LearningTask:
    """Fashion-MNIST, a fifth of the training labels drawn at random."""
    x, y = clothes(data_folder())
    drawn = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(y), generator=drawn)
    rows, validation, _ = order.split([TRAIN, HELD_OUT, len(y) - TRAIN - HELD_OUT])
    images, labels = x[rows].flatten(1), y[rows].clone()
    wrong = torch.rand(TRAIN, generator=drawn) < WRONG
    labels[wrong] = torch.randint(10, (int(wrong.sum()),), generator=drawn)
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    settings = {"dropout": 0.2, "label_smoothing": 0.1}

    def batch_loss(generator: torch.Generator) -> Tensor:
        at = torch.randint(TRAIN, (BATCH,), generator=generator)
        hidden = model[:2](images[at])
        # A mask of the task's own generator: that of torch's dropout is not part of the state.
        kept = torch.rand(hidden.shape, generator=generator) >= settings["dropout"]
        scores = model[2](hidden * kept / (1 - settings["dropout"]))
        smooth = settings["label_smoothing"]
        return nn.functional.cross_entropy(scores, labels[at], label_smoothing=smooth)

    def measure(part: str) -> Measured:
        scores = model(x[validation].flatten(1))
        loss = float(nn.functional.cross_entropy(scores, y[validation]))
        return Measured(100 * float((scores.argmax(1) == y[validation]).float().mean()), loss)

    return LearningTask(
        model=model, batch_loss=batch_loss, measure=measure, optimizer="sgd", settings=settings
    )
