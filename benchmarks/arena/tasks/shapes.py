"""Shapes that are drawn anew for each seed: clouds of points to tell apart, and masks to find."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured

__all__ = ["clouds_pointnet", "masks_unet"]

POINTS, KINDS = 32, 6


class PointNet(nn.Module):
    """The same layers for each point, the largest of each feature, and a class of that."""

    def __init__(self) -> None:
        super().__init__()
        self.points = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, KINDS))

    def forward(self, x: Tensor) -> Tensor:
        """The scores of each class."""
        return self.head(self.points(x).amax(2))


def clouds_pointnet(seed: int) -> LearningTask:
    """Six surfaces, 1,000 noisy clouds of 32 points, turned at random: a PointNet, SGD."""
    drawn = torch.Generator().manual_seed(seed)
    x, y = _clouds(1000 + 2 * 1000, drawn)
    parts = {"validation": slice(1000, 1500), "test": slice(1500, 3000)}
    model = PointNet()

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(1000, (16,), generator=generator)
        return nn.functional.cross_entropy(model(x[rows]), y[rows])

    def measure(part: str) -> Measured:
        loss = float(nn.functional.cross_entropy(model(x[parts[part]]), y[parts[part]]))
        return Measured(-100 * loss, loss)

    return LearningTask(
        model=model, batch_loss=batch_loss, measure=measure, optimizer="sgd",
        normalised_on=x[:128].split(16),
    )  # fmt: skip


def _clouds(count: int, drawn: torch.Generator) -> tuple[Tensor, Tensor]:
    """Points on an ellipsoid, a box, a torus, a cylinder, a cone and a saddle."""
    kinds = torch.randint(KINDS, (count,), generator=drawn)
    u, v = torch.rand(2, count, POINTS, generator=drawn)
    around, height = 2 * math.pi * u, 2 * v - 1
    normal = torch.randn(count, 3, POINTS, generator=drawn)
    ball = normal / normal.norm(dim=1, keepdim=True)
    box = normal.clamp(-1, 1)
    box = box / box.abs().amax(1, keepdim=True)
    ring = 0.7 + 0.3 * (2 * math.pi * v).cos()
    torus = torch.stack(
        [ring * around.cos(), ring * around.sin(), 0.3 * (2 * math.pi * v).sin()], 1
    )
    cylinder = torch.stack([0.7 * around.cos(), 0.7 * around.sin(), height], 1)
    cone = torch.stack([v * around.cos(), v * around.sin(), 1 - 2 * v], 1)
    flat, deep = 2 * u - 1, height
    saddle = torch.stack([flat, deep, flat.square() - deep.square()], 1)
    all_kinds = torch.stack([ball, box, torus, cylinder, cone, saddle])
    x = all_kinds[kinds, torch.arange(count)]
    x = x * (0.7 + 0.6 * torch.rand(count, 3, 1, generator=drawn))  # stretched
    turns = torch.linalg.qr(torch.randn(count, 3, 3, generator=drawn)).Q
    return turns @ x + 0.08 * torch.randn(x.shape, generator=drawn), kinds


class SmallUNet(nn.Module):
    """One level down and up again, with GroupNorm and a connection across."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU())
        self.deep = nn.Sequential(
            nn.Conv2d(8, 16, 2, stride=2), nn.GroupNorm(4, 16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 2, stride=2),
        )  # fmt: skip
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """The score of each pixel."""
        fine = self.down(x)
        return self.out(torch.cat([fine, self.deep(fine).relu()], 1))


def masks_unet(seed: int) -> LearningTask:
    """Ellipses among noise and stripes, 300 pictures of 20 by 20: a small U-Net, AdamW."""
    drawn = torch.Generator().manual_seed(seed)
    x, y = _pictures(300 + 100 + 300, drawn)
    parts = {"validation": slice(300, 400), "test": slice(400, 700)}
    model = SmallUNet()
    loss_of = nn.functional.binary_cross_entropy_with_logits

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(300, (8,), generator=generator)
        return loss_of(model(x[rows]), y[rows])

    def measure(part: str) -> Measured:
        loss = float(loss_of(model(x[parts[part]]), y[parts[part]]))
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adamw")


def _pictures(count: int, drawn: torch.Generator, side: int = 20) -> tuple[Tensor, Tensor]:
    """Two ellipses in each, brighter than what is around them, stripes and noise on top."""
    places = torch.linspace(-1, 1, side)
    down, across = torch.meshgrid(places, places, indexing="ij")
    mask = torch.zeros(count, side, side, dtype=torch.bool)
    for _ in range(2):
        middle_y, middle_x = 1.4 * torch.rand(2, count, 1, 1, generator=drawn) - 0.7
        high, wide = 0.2 + 0.3 * torch.rand(2, count, 1, 1, generator=drawn)
        mask |= ((down - middle_y) / high).square() + ((across - middle_x) / wide).square() < 1
    angle, phase = 2 * math.pi * torch.rand(2, count, 1, 1, generator=drawn)
    stripes = (8 * (down * angle.cos() + across * angle.sin()) + phase).sin()
    noise = torch.randn(mask.shape, generator=drawn)
    x = 0.8 * mask.float() + 0.6 * stripes + 0.6 * noise
    return x[:, None], mask[:, None].float()
