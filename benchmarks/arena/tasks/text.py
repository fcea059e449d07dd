"""Text: the next character of Tiny Shakespeare, by a transformer and by a recurrent network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks._torch_tasks import Characters, letters_of
from benchmarks.arena.tasks.contract import LearningTask, Measured, data_folder

__all__ = ["characters_few", "characters_gru", "characters_transformer"]

CONTEXT, BATCH, HELD_OUT = 24, 16, 150
CUTS = (900_000, 1_000_000)


class RecurrentCharacters(nn.Module):
    """A recurrent network over the last characters."""

    def __init__(self, kinds: int, width: int = 48) -> None:
        super().__init__()
        self.letters = nn.Embedding(kinds, width)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, kinds)

    def forward(self, x: Tensor) -> Tensor:
        """The scores of each next character."""
        return self.out(self.memory(self.letters(x))[0])


def characters_transformer(seed: int) -> LearningTask:
    """A transformer of one layer over 24 characters."""
    letters = letters_of(data_folder())
    return _next_character(Characters(int(letters.max()) + 1, context=CONTEXT), letters)


def characters_gru(seed: int) -> LearningTask:
    """A recurrent network over 24 characters."""
    letters = letters_of(data_folder())
    return _next_character(RecurrentCharacters(int(letters.max()) + 1), letters)


def characters_few(seed: int) -> LearningTask:
    """The same network on the first 6,000 characters alone, which it learns by heart."""
    letters = letters_of(data_folder())
    return _next_character(RecurrentCharacters(int(letters.max()) + 1), letters, train=6000)


def _next_character(model: nn.Module, letters: Tensor, *, train: int | None = None) -> LearningTask:
    learnt, validation, test = letters.tensor_split(CUTS)
    learnt = learnt[:train]
    windows = {"validation": _windows(validation), "test": _windows(test)}
    places = torch.arange(CONTEXT + 1)

    def loss_of(chosen: Tensor) -> Tensor:
        scores = model(chosen[:, :-1]).flatten(0, 1)
        return nn.functional.cross_entropy(scores, chosen[:, 1:].flatten())

    def batch_loss(generator: torch.Generator) -> Tensor:
        starts = torch.randint(len(learnt) - CONTEXT, (BATCH,), generator=generator)
        return loss_of(learnt[starts[:, None] + places])

    def measure(part: str) -> Measured:
        loss = float(loss_of(windows[part]))
        return Measured(-100 * loss, loss)

    return LearningTask(model=model, batch_loss=batch_loss, measure=measure, optimizer="adam")


def _windows(letters: Tensor) -> Tensor:
    """Windows at equal distances."""
    starts = torch.linspace(0, len(letters) - CONTEXT - 1, HELD_OUT).long()
    return letters[starts[:, None] + torch.arange(CONTEXT + 1)]
