"""An epoch is a number wherever torch takes one, and a loop may go through a loader's batches."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from dynhp.loops import Epoch
from dynhp.records import Candidate
from dynhp_torch import adapt

EPOCH = Epoch(Candidate({"lr": 0.1}), number=3, trying=False)


def saved(thing: Any) -> Any:
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def restarted(number: Any) -> Any:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 5)
    schedule.step(number + 0.5)
    return schedule.get_last_lr()


USES: dict[str, Callable[[Any], Any]] = {
    "tensor": torch.tensor,
    "as_tensor": torch.as_tensor,
    "list": lambda number: torch.tensor([number, number]),
    "nested": lambda number: torch.tensor([[number], [number]]),
    "mixed": lambda number: torch.tensor([number, 0.5]),
    "full": lambda number: torch.full((2,), number),
    "filled": lambda number: torch.zeros(2).fill_(number),
    "times": lambda number: number * torch.ones(2),
    "index": lambda number: torch.arange(9)[number],
    "indices": lambda number: torch.arange(9)[[number]],
    "slice": lambda number: torch.arange(9)[:number],
    "two": lambda number: torch.ones(4, 4)[number, number],
    "where": lambda number: torch.where(torch.ones(1) > 0, number, 0),
    "seed": lambda number: torch.Generator().manual_seed(number).initial_seed(),
    "randint": lambda number: torch.randint(0, number, (2,)).shape,
    "size": lambda number: torch.empty(number, number).shape,
    "layer": lambda number: nn.Conv2d(1, 1, number).kernel_size,
    "batch": lambda number: torch.utils.data.default_collate([number, number]),
    "schedule": restarted,
    "saved": lambda number: int(saved({"epoch": number})["epoch"]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_epoch_is_a_number_to_torch(use: Callable[[Any], Any]) -> None:
    mine, its = use(EPOCH), use(3)
    assert type(mine) is type(its)
    if isinstance(its, torch.Tensor):
        assert (mine.dtype, mine.tolist()) == (its.dtype, its.tolist())
    else:
        assert mine == its


class Noisy(Dataset[Any]):
    """Its augmentation draws from torch's global generator."""

    def __len__(self) -> int:
        return 48

    def __getitem__(self, place: int) -> Any:
        return torch.full((3,), place / 48) + 0.1 * torch.randn(3), torch.ones(1)


def loaders(seed: int) -> Iterator[DataLoader[Any]]:
    yield DataLoader(Noisy(), batch_size=4, shuffle=True)
    generator = torch.Generator().manual_seed(seed)
    yield DataLoader(Noisy(), batch_size=4, shuffle=True, generator=generator)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_dry_run_over_a_loader_ends_as_the_plain_loop(kind: int) -> None:
    def train(adapted: bool) -> list[Any]:
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
        loader = list(loaders(5))[kind]
        state = [model, optimizer] + ([] if loader.generator is None else [loader.generator])
        batches: Any = loader
        if adapted:
            batches = adapt(steps=loader, state=state, lr=[0.01, 0.1, 0.03], initial={"lr": 0.03},
                            minimize="loss", adapt_every=5, try_for=2, dry_run=True)  # fmt: skip
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = (model(inputs) - targets).square().mean()
            loss.backward()
            optimizer.step()
            if adapted:
                batches.now.report(loss=loss.item())
        return [*(each.tolist() for each in model.parameters()), torch.rand(1).item()]

    assert train(adapted=True) == train(adapted=False)
