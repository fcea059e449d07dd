"""What a trainer's state is made of: tensors copied to and from read-only arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynhp.errors import SettingsError
from dynhp_pyg.model.engines.factory import Engine

__all__ = ["frozen", "frozen_model", "load", "load_model", "model_of", "sides", "snapshot"]


def snapshot(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor into a read-only array.

    >>> snapshot(torch.zeros(2)).flags.writeable
    False
    """
    array = np.array(tensor.detach().cpu().numpy(), copy=True)
    array.setflags(write=False)
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Give an array that nothing can change: itself where that is so already, else a copy.

    >>> array = frozen(np.zeros(2))
    >>> array.flags.writeable, frozen(array) is array
    (False, True)
    """
    # A read-only view is not enough: the array that owns the memory may still be written into.
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


def model_of(engine: Engine) -> dict[str, Any]:
    """Copy an engine's parameters and buffers into read-only arrays."""
    return {
        "parameters": snapshot(engine.parameters),
        "buffers": tuple(snapshot(buffer) for buffer in engine.buffers),
    }


def load_model(engine: Engine, model: Mapping[str, Any]) -> None:
    """Copy what ``model_of`` gave back into an engine."""
    load(engine.parameters, model["parameters"])
    for buffer, array in zip(engine.buffers, model["buffers"], strict=True):
        load(buffer, array)


def frozen_model(model: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Give a stored model whose arrays nothing can change."""
    if model is None:
        return None
    return {
        **model,
        "parameters": frozen(model["parameters"]),
        "buffers": tuple(frozen(array) for array in model["buffers"]),
    }
