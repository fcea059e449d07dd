"""The training data once more, to measure statistics of averaged weights on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynhp_torch.ending import AverageEnding, average_ending
from dynhp_torch.parts import data_part
from dynhp_transformers.state import loader_numbers

__all__ = ["AVERAGE", "training_ending"]

AVERAGE = "dynhp_average.pt"  # the averaged weights, in a checkpoint's folder


def training_ending(trainer: Any, loader: Any, course: object) -> AverageEnding | None:
    """The averaged weights that a training ends by, if the course of its policy asks for them."""
    base = getattr(loader, "base_dataloader", loader)

    def batches() -> Iterator[Any]:
        return map(trainer._prepare_inputs, iter(base))

    drawn = [data_part(base), loader_numbers(loader)]
    return average_ending(course, trainer.model, batches=batches, drawn=drawn)
