"""Recommendation: where people of Gowalla go, by factors of people and places."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder

__all__ = ["visits_factors"]

PEOPLE, PLACES = 29_858, 1500
OTHERS = 20
"""The random places that each held-out one is compared with."""


class Factors(nn.Module):
    """A vector for each person and each place, and how popular a place is."""

    def __init__(self, people: int, places: int, width: int = 16) -> None:
        super().__init__()
        self.people = nn.Parameter(0.1 * torch.randn(people, width))
        self.places = nn.Parameter(0.1 * torch.randn(places, width))
        self.popular = nn.Parameter(torch.zeros(places))

    def forward(self, people: Tensor, places: Tensor) -> Tensor:
        """The score of each pair."""
        product = self.people.index_select(0, people) * self.places.index_select(0, places)
        return product.sum(1) + self.popular.index_select(0, places)


@cache
def _visits(data: Path) -> Tensor:
    """The people and places with most visits: pairs of numbers from 0."""
    edges = np.load(data / "graphs/gowalla_user_item.npz")["edge_index"].astype(np.int64)
    edges = np.stack([edges.min(0), edges.max(0) - PEOPLE])
    for side in (1, 0):
        often = np.argsort(-np.bincount(edges[side]), kind="stable")[:PLACES]
        number = np.full(int(edges[side].max()) + 1, -1)
        number[often] = np.arange(len(often))
        edges = edges[:, number[edges[side]] >= 0]
        edges[side] = number[edges[side]]
    return torch.from_numpy(edges)


def visits_factors(seed: int) -> LearningTask:
    """1,500 people and 1,500 places of Gowalla, which place before a random one: Adam."""
    visits = _visits(data_folder())
    order = torch.randperm(visits.shape[1], generator=torch.Generator().manual_seed(seed))
    held_out = visits.shape[1] // 10
    validation, test, train = visits[:, order].split(
        [held_out, held_out, visits.shape[1] - 2 * held_out], 1
    )
    drawn = torch.Generator().manual_seed(seed + 1)
    parts = {
        name: (
            pairs.repeat(1, OTHERS),
            torch.randint(PLACES, (OTHERS * held_out,), generator=drawn),
        )
        for name, pairs in (("validation", validation), ("test", test))
    }
    model = Factors(PLACES, PLACES)

    def margins(pairs: Tensor, other: Tensor) -> Tensor:
        return model(*pairs) - model(pairs[0], other)

    def batch_loss(generator: torch.Generator) -> Tensor:
        rows = torch.randint(train.shape[1], (512,), generator=generator)
        other = torch.randint(PLACES, (512,), generator=generator)
        return nn.functional.softplus(-margins(train[:, rows], other)).mean()

    def measure(part: str) -> Measured:
        found = margins(*parts[part])
        loss = float(nn.functional.softplus(-found).mean())
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adam")
