"""Three small real tasks for torch: clothes, characters and the nodes of a graph."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["TASKS", "Characters", "TorchTask", "letters_of", "read_idx"]


@dataclass(slots=True)
class TorchTask:
    """A model, how one epoch of it is trained, and its losses on held-out data."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: torch.Generator
    train_epoch: Callable[[], None]
    validation: Callable[[], float]
    test: Callable[[], float]

    @property
    def state(self) -> list[Any]:
        """All that decides the future."""
        return [self.model, self.optimizer, self.batches]


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def read_idx(path: Path) -> Tensor:
    """The array of a file in the format of MNIST."""
    raw = gzip.decompress(path.read_bytes())
    sizes = [int.from_bytes(raw[4 + 4 * n : 8 + 4 * n], "big") for n in range(raw[3])]
    return torch.from_numpy(
        np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes).copy()
    )


@cache
def _images(data: Path) -> tuple[Tensor, Tensor]:
    x = (
        read_idx(data / "images/train-images-idx3-ubyte.gz").reshape(-1, 784)[:9000].float() / 255
        - 0.3
    )
    return x, read_idx(data / "images/train-labels-idx1-ubyte.gz")[:9000].long()


def clothes(data: Path, seed: int, rate: float) -> TorchTask:
    """Fashion-MNIST: 2,000 images, a perceptron with one layer, 40 batches an epoch."""
    torch.manual_seed(seed)
    x, y = _images(data)
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    batches = torch.Generator().manual_seed(seed)
    loss = nn.functional.cross_entropy

    def train_epoch() -> None:
        for rows in torch.randperm(2000, generator=batches).split(50):
            _step(optimizer, loss(model(x[rows]), y[rows]))

    def measured(rows: slice) -> Callable[[], float]:
        return lambda: _without_gradients(lambda: loss(model(x[rows]), y[rows]))

    return TorchTask(
        model, optimizer, batches, train_epoch, measured(slice(4000, 5000)),
        measured(slice(5000, 9000)),
    )  # fmt: skip


class Characters(nn.Module):
    """A transformer of one layer over the last 24 characters."""

    def __init__(self, kinds: int, width: int = 32, context: int = 24) -> None:
        super().__init__()
        self.letters = nn.Embedding(kinds, width)
        self.places = nn.Parameter(torch.zeros(context, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(width, kinds)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(context))

    def forward(self, x: Tensor) -> Tensor:
        """The scores of each next character."""
        return self.out(self.layers(self.letters(x) + self.places, mask=self.mask))  # type: ignore[no-any-return]


@cache
def letters_of(data: Path) -> Tensor:
    """Tiny Shakespeare, a number for each character."""
    text = (data / "text/tinyshakespeare.txt").read_bytes()
    kinds = np.unique(np.frombuffer(text, np.uint8), return_inverse=True)[1]
    return torch.from_numpy(kinds.reshape(-1).astype(np.int64))


def characters(data: Path, seed: int, rate: float) -> TorchTask:
    """Tiny Shakespeare: a small transformer over characters, 20 batches an epoch."""
    torch.manual_seed(seed)
    letters = letters_of(data)
    cuts = letters[:900_000], letters[900_000:1_000_000], letters[1_000_000:]
    model = Characters(int(letters.max()) + 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    batches = torch.Generator().manual_seed(seed)

    def loss_on(part: Tensor, starts: Tensor) -> Tensor:
        windows = part[starts[:, None] + torch.arange(25)]
        scores = model(windows[:, :-1])
        return nn.functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())

    def train_epoch() -> None:
        for _ in range(20):
            starts = torch.randint(len(cuts[0]) - 25, (16,), generator=batches)
            _step(optimizer, loss_on(cuts[0], starts))

    def measured(part: Tensor) -> Callable[[], float]:
        starts = torch.arange(0, len(part) - 25, len(part) // 100)
        return lambda: _without_gradients(lambda: loss_on(part, starts))

    return TorchTask(model, optimizer, batches, train_epoch, measured(cuts[1]), measured(cuts[2]))


@cache
def _photo(data: Path) -> tuple[Tensor, Tensor]:
    """The nodes' 150 commonest words, averaged over two steps of the graph, and their classes."""
    file = np.load(data / "graphs/AmazonPhoto.npz")
    count = int(file["num_nodes"])
    words = np.zeros(tuple(file["x_shape"]), np.float32)
    rows = np.repeat(np.arange(count), np.diff(file["x_indptr"]))
    words[rows, file["x_indices"]] = file["x_data"]
    x = torch.from_numpy(words[:, np.argsort(-words.sum(0), kind="stable")[:150]])
    one_way = torch.from_numpy(file["edge_index"].astype(np.int64))
    edges = torch.cat([one_way, one_way.flip(0), torch.arange(count).repeat(2, 1)], 1)
    degree = torch.bincount(edges[0], minlength=count).float().rsqrt()
    weights, shape = degree[edges[0]] * degree[edges[1]], (count, count)
    graph = torch.sparse_coo_tensor(edges, weights, shape, check_invariants=True)
    return graph @ (graph @ x), torch.from_numpy(file["y"].astype(np.int64))


def nodes(data: Path, seed: int, rate: float) -> TorchTask:
    """Amazon Photo: a simplified graph convolution on 400 nodes, 20 batches an epoch."""
    torch.manual_seed(seed)
    x, y = _photo(data)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(7))
    parts = order[:400], order[400:1400], order[1400:]
    model = nn.Sequential(nn.Linear(150, 32), nn.ReLU(), nn.Linear(32, int(y.max()) + 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    batches = torch.Generator().manual_seed(seed)
    loss = nn.functional.cross_entropy

    def train_epoch() -> None:
        for places in torch.randperm(400, generator=batches).split(20):
            rows = parts[0][places]
            _step(optimizer, loss(model(x[rows]), y[rows]))

    def measured(rows: Tensor) -> Callable[[], float]:
        return lambda: _without_gradients(lambda: loss(model(x[rows]), y[rows]))

    return TorchTask(model, optimizer, batches, train_epoch, measured(parts[1]), measured(parts[2]))


def _without_gradients(loss: Callable[[], Tensor]) -> float:
    with torch.no_grad():
        return float(loss())


# Each with its sweep of five constant rates; the middle one is the good start.
TASKS: dict[str, tuple[Callable[[Path, int, float], TorchTask], tuple[float, ...]]] = {
    "clothes": (clothes, (0.001, 0.003, 0.01, 0.03, 0.1)),
    "characters": (characters, (0.01, 0.03, 0.1, 0.3, 1.0)),
    "nodes": (nodes, (0.001, 0.003, 0.01, 0.03, 0.1)),
}
