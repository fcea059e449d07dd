"""Images: Fashion-MNIST with two small networks, and the digits of scikit-learn."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from benchmarks._torch_tasks import read_idx
from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder

__all__ = ["clothes", "clothes_cnn", "clothes_mlp", "clothes_resnet", "digits_mlp", "digits_noisy"]

POOL = 20_000
"""The images that training and validation images are drawn from, others for each seed."""


def clothes_mlp(seed: int) -> LearningTask:
    """Fashion-MNIST: 2,000 images, a perceptron with one hidden layer."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    return _classified(model, *clothes(data_folder()), seed=seed, train=2000, batch=50)


def clothes_cnn(seed: int) -> LearningTask:
    """Fashion-MNIST: 2,000 images, two convolutions."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 5 * 5, 10),
    )  # fmt: skip
    return _classified(
        model, *clothes(data_folder()), seed=seed, train=2000, batch=32, held_out=600
    )


def digits_mlp(seed: int) -> LearningTask:
    """The digits of scikit-learn: 500 images, a perceptron with one hidden layer."""
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return _classified(model, *_digits(), seed=seed, train=500, batch=25, held_out=500, by="loss")


class _Block(nn.Module):
    """Two convolutions with BatchNorm around a short cut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """The input and what the convolutions add to it."""
        return (x + self.body(x)).relu()


def clothes_resnet(seed: int) -> LearningTask:
    """Fashion-MNIST: 2,000 images, a residual network with BatchNorm."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 4, stride=4, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        _Block(8), nn.Conv2d(8, 16, 2, stride=2, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        _Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    return _classified(
        model, *clothes(data_folder()), seed=seed, train=2000, batch=32, held_out=600
    )


def digits_noisy(seed: int) -> LearningTask:
    """The digits of scikit-learn, a fifth of the training labels drawn at random: it overfits."""
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return _classified(
        model, *_digits(), seed=seed, train=500, batch=25, held_out=500, by="loss", wrong=0.2
    )


@cache
def clothes(data: Path) -> tuple[Tensor, Tensor]:
    """Images and labels of Fashion-MNIST."""
    images = read_idx(data / "images/train-images-idx3-ubyte.gz")[:POOL, None].float()
    labels = read_idx(data / "images/train-labels-idx1-ubyte.gz")[:POOL].long()
    return images / 255 - 0.3, labels


@cache
def _digits() -> tuple[Tensor, Tensor]:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return torch.from_numpy(images).float() / 16 - 0.3, torch.from_numpy(labels).long()


def _classified(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    seed: int,
    train: int,
    batch: int,
    held_out: int = 1000,
    by: Literal["accuracy", "loss"] = "accuracy",
    wrong: float = 0.0,
) -> LearningTask:
    """A task of classes; which images train, validate and test depends on the seed."""
    drawn = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(y), generator=drawn)
    rows, validation, test = order[: train + 2 * held_out].split([train, held_out, held_out])
    x_train, y_train = x[rows], y[rows]
    if wrong:
        mislabelled = torch.rand(train, generator=drawn) < wrong
        y_train[mislabelled] = torch.randint(10, (int(mislabelled.sum()),), generator=drawn)
    parts = {"validation": (x[validation], y[validation]), "test": (x[test], y[test])}

    def batch_loss(generator: torch.Generator) -> Tensor:
        drawn = torch.randint(train, (batch,), generator=generator)
        chosen, labels = x_train.index_select(0, drawn), y_train.index_select(0, drawn)
        return nn.functional.cross_entropy(model(chosen), labels)

    def measure(part: str) -> Measured:
        inputs, labels = parts[part]
        scores = model(inputs)
        loss = float(nn.functional.cross_entropy(scores, labels))
        right = 100 * float((scores.argmax(1) == labels).float().mean())
        return Measured(right if by == "accuracy" else -100 * loss, loss)

    return LearningTask(
        model=model, batch_loss=batch_loss, measure=measure, optimizer="sgd",
        normalised_on=x_train[: 8 * batch].split(batch),
    )  # fmt: skip
