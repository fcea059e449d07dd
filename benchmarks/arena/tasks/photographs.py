"""A photograph as a function: the colour at each place, by a network of sines."""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured

__all__ = ["photograph_siren"]

SIDE = 64


class Sines(nn.Module):
    """A network whose layers are followed by sines."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width)])
        self.out = nn.Linear(width, 3)
        nn.init.uniform_(self.layers[0].weight, -0.5, 0.5)
        for layer in (self.layers[1], self.out):
            bound = math.sqrt(6 / width) / 30
            nn.init.uniform_(layer.weight, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """The colours at these places."""
        for layer in self.layers:
            x = (30 * layer(x)).sin()
        return self.out(x)


@cache
def _flower() -> Tensor:
    from sklearn.datasets import load_sample_image

    image = torch.from_numpy(load_sample_image("flower.jpg").copy()).float() / 255
    return image[:384, 128:512].reshape(SIDE, 6, SIDE, 6, 3).mean((1, 3))


def photograph_siren(seed: int) -> LearningTask:
    """Half of a photograph's points, drawn at random; the others are to be filled in: Adam."""
    image = _flower()
    places = torch.linspace(-1, 1, SIDE)
    x = torch.cartesian_prod(places, places)
    y = 2 * image.reshape(-1, 3) - 1
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    rows, validation, test = order.split([2048, 1024, 1024])
    parts = {"validation": validation, "test": test}
    model = Sines()

    def batch_loss(generator: torch.Generator) -> Tensor:
        chosen = rows[torch.randint(len(rows), (256,), generator=generator)]
        return nn.functional.mse_loss(model(x[chosen]), y[chosen])

    def measure(part: str) -> Measured:
        loss = float(nn.functional.mse_loss(model(x[parts[part]]), y[parts[part]]))
        worth = -100 * math.log10(loss) if math.isfinite(loss) and loss > 0 else math.nan
        return Measured(worth, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adam")
