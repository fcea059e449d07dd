"""What a task is: a model, how it learns from a batch, and how good it is on held-out data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["DataMissing", "LearningTask", "Measured", "data_folder"]

DATA = "DYNHP_DATA"


class DataMissing(Exception):
    """The data of a task are not there."""


class Measured(NamedTuple):
    """How good a model is: a score, which is better when higher, and a loss."""

    score: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningTask:
    """A model of torch, the loss of its next batch, and its measurements.

    Attributes:
        model: what learns.
        batch_loss: draws the next batch with this generator, and gives its loss.
        measure: measures on the data for "validation" or "test"; it draws nothing.
        optimizer: the optimiser that people use here.
        train_loss: what the training loss of an epoch is, given the mean loss of its batches.
        settings: what else can be adapted, by name, with the values in force.
        world: what else decides the future: how it is copied out, and written back.
        normalised_on: batches of inputs on which BatchNorm's statistics are measured again for
            averaged weights; without BatchNorm they are not needed.
    """

    model: nn.Module
    batch_loss: Callable[[torch.Generator], Tensor]
    measure: Callable[[Literal["validation", "test"]], Measured]
    optimizer: Literal["sgd", "adam", "adamw"]
    train_loss: Callable[[float], float] = field(default=float)
    settings: dict[str, float] = field(default_factory=dict)
    world: tuple[Callable[[], Any], Callable[[Any], None]] | None = None
    normalised_on: Sequence[Tensor] = ()


def data_folder() -> Path:
    """The folder with images/, text/ and graphs/, which the environment names.

    A path in the settings of a run would be in its results.
    """
    folder = os.environ.get(DATA)
    if not folder or not Path(folder).is_dir():
        raise DataMissing(
            f"this task needs data: pass --data DIR, or set {DATA} to a folder with images/, text/ "
            f"and graphs/ in it, got {folder!r}"
        )
    return Path(folder)
