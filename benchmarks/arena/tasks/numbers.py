"""Numbers that are drawn anew for each seed: the density of a spiral, the course of a weather."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured

__all__ = ["spirals_flow", "weather_tcn"]


class Coupling(nn.Module):
    """Half of the numbers are shifted and scaled by what a small network makes of the others."""

    def __init__(self, size: int, *, first: bool) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size // 2, 32), nn.Tanh(), nn.Linear(32, size))
        self.first = first

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What the numbers become, and the logarithm of the volume's change."""
        kept, moved = x.chunk(2, 1) if self.first else x.chunk(2, 1)[::-1]
        scale, shift = self.net(kept).chunk(2, 1)
        scale = scale.tanh()
        moved = moved * scale.exp() + shift
        both = (kept, moved) if self.first else (moved, kept)
        return torch.cat(both, 1), scale.sum(1)


class Flow(nn.Module):
    """Couplings one after the other: a density that can be written down."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(size, first=n % 2 == 0) for n in range(6))
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        """The negative logarithm of the density at each point."""
        volume = torch.zeros(len(x))
        for coupling in self.couplings:
            x, change = coupling(x)
            volume = volume + change
        return 0.5 * x.square().sum(1) + 0.5 * self.size * math.log(2 * math.pi) - volume


def spirals_flow(seed: int) -> LearningTask:
    """Two spirals in the plane and their product in four numbers: a normalising flow, Adam."""
    drawn = torch.Generator().manual_seed(seed)
    x = torch.cat([_spirals(2000 + 4000, drawn), _spirals(2000 + 4000, drawn)], 1)
    parts = {"validation": slice(2000, 4000), "test": slice(4000, 6000)}
    model = Flow(4)

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(2000, (64,), generator=generator)
        return model(x[rows]).mean()

    def measure(part: str) -> Measured:
        loss = float(model(x[parts[part]]).mean())
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adam")


def _spirals(count: int, drawn: torch.Generator) -> Tensor:
    along = torch.rand(count, generator=drawn).sqrt() * 3 * math.pi
    arm = torch.where(torch.rand(count, generator=drawn) < 0.5, 1.0, -1.0)
    noise = 0.15 * torch.randn(count, 2, generator=drawn)
    points = torch.stack([arm * along * along.cos(), arm * along * along.sin()], 1)
    return points / 4 + noise


class CausalNetwork(nn.Module):
    """Convolutions over the past alone, each twice as far apart as the one before."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv1d(3 if n == 0 else width, width, 2, dilation=2**n) for n in range(4)
        )
        self.out = nn.Conv1d(width, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The expected change after the last of these moments."""
        for layer in self.layers:
            x = layer(x).relu()
        return self.out(x)[:, :, -1]


def weather_tcn(seed: int) -> LearningTask:
    """Lorenz's weather, seen through noise, some time ahead: a causal network, SGD."""
    drawn = torch.Generator().manual_seed(seed)
    course = _lorenz(40, 300, drawn)
    seen = course + 0.05 * torch.randn(course.shape, generator=drawn)
    windows = seen.unfold(2, 16, 1)[:, :, :-12].transpose(1, 2)  # paths, moments, 3, 16
    ahead = (course[:, :, 27:] - seen[:, :, 15:-12]).transpose(1, 2)
    parts = {"train": slice(0, 10), "validation": slice(10, 25), "test": slice(25, 40)}
    every = {"train": 1, "validation": 3, "test": 3}
    x = {part: windows[rows].flatten(0, 1)[:: every[part]] for part, rows in parts.items()}
    y = {part: ahead[rows].flatten(0, 1)[:: every[part]] for part, rows in parts.items()}
    model = CausalNetwork()

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(len(x["train"]), (32,), generator=generator)
        return nn.functional.mse_loss(model(x["train"][rows]), y["train"][rows])

    def measure(part: str) -> Measured:
        loss = float(nn.functional.mse_loss(model(x[part]), y[part]))
        worth = -100 * math.log10(loss) if math.isfinite(loss) and loss > 0 else math.nan
        return Measured(worth, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="sgd")


def _lorenz(paths: int, moments: int, drawn: torch.Generator, step: float = 0.02) -> Tensor:
    """Lorenz's equations from random starts, in units of their spread: paths, 3, moments."""
    x = torch.randn(paths, 3, generator=drawn, dtype=torch.float64) + torch.tensor([0.0, 0.0, 25.0])

    def slope(x: Tensor) -> Tensor:
        a, b, c = x.unbind(1)
        return torch.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c], 1)

    course = []
    for moment in range(moments + 200):
        first = slope(x)
        second = slope(x + step / 2 * first)
        third = slope(x + step / 2 * second)
        fourth = slope(x + step * third)
        x = x + step / 6 * (first + 2 * second + 2 * third + fourth)
        if moment >= 200:
            course.append(x)
    path = torch.stack(course, 2)
    return ((path - torch.tensor([0.0, 0.0, 23.5])[:, None]) / 8.5).float()
