"""Tensors to and from arrays that nobody can write into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynhp.errors import SettingsError

__all__ = ["frozen", "frozen_model", "load", "sides", "snapshot"]


def snapshot(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor into a read-only array.

    >>> snapshot(torch.zeros(2)).flags.writeable
    False
    """
    array = np.array(tensor.detach().cpu().numpy(), copy=True)
    array.setflags(write=False)
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Give an array that nobody else can change: itself where that is so already, else a copy.

    >>> array = frozen(np.zeros(2))
    >>> array.flags.writeable, frozen(array) is array
    (False, True)
    """
    # A read-only view is not enough: whoever owns the memory may still write into it.
    if array.flags.owndata and not array.flags.writeable:
        return array
    copy = np.array(array, copy=True)
    copy.setflags(write=False)
    return copy


def load(tensor: Tensor, array: NDArray[Any]) -> None:
    """Copy an array into a tensor of the same shape."""
    if tuple(tensor.shape) != array.shape:
        raise SettingsError(
            f"a state fits the model it was taken from, got {array.shape!r} for "
            f"{tuple(tensor.shape)!r}; build the trainer with the same split and arguments"
        )
    with torch.no_grad():
        if tensor.device.type == "cpu":
            np.copyto(tensor.detach().numpy(), array)
        else:
            tensor.copy_(torch.tensor(array))


def sides(scores: Tensor, positives: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Copy scores, positives first, into two read-only arrays.

    >>> [side.tolist() for side in sides(torch.tensor([3.0, 1.0, 2.0]), 1)]
    [[3.0], [1.0, 2.0]]
    """
    array = snapshot(scores)
    return array[:positives], array[positives:]


def frozen_model(model: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Give a stored model whose arrays nobody else can change."""
    if model is None:
        return None
    return {
        **model,
        "parameters": frozen(model["parameters"]),
        "buffers": tuple(frozen(array) for array in model["buffers"]),
    }
