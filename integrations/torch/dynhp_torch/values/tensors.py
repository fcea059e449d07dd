"""One number of a tensor as a place for a value: filled in place, as compiled code needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dynhp.errors import SettingsError, nearest, shown
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = ["TensorValue", "number_in", "tensor_value"]


@dataclass(frozen=True, slots=True)
class TensorValue:
    """One number of a tensor, looked up each time; ``tensor_value`` makes it.

    >>> TensorValue(torch.tensor([1.0, 3.0]), ("1",)).get()
    3.0
    """

    root: Any
    path: tuple[str, ...]

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is: what the tensor is called."""
        return next((name for name in reversed(self.path) if not name.isdecimal()), "")

    def set(self, value: Value) -> None:
        """Write the number into the tensor that is there."""
        number = self._number()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"tensor_value: {self._name()} is a number, got {shown(value)}")
        if not number.is_floating_point() and value != int(value):
            raise SettingsError(
                f"tensor_value: {self._name()} holds whole numbers ({number.dtype}) and cannot be "
                f"{value!r}; make the tensor with dtype=torch.float32"
            )
        with torch.no_grad():
            number.fill_(value)

    def get(self) -> Value:
        """The number that the tensor holds."""
        return number_in(self._number())

    def _name(self) -> str:
        return ".".join(self.path) or "the tensor"

    def _number(self) -> Tensor:
        place = self.root
        for name in self.path:
            place = _step(place, name, self._name())
        if not isinstance(place, Tensor) or place.numel() != 1:
            size = f"a tensor of {place.numel()}" if isinstance(place, Tensor) else shown(place)
            raise SettingsError(
                f"tensor_value: {self._name()} must be one number of a tensor, got {size}; give "
                "its place too, as in tensor_value(loss, 'weight.1')"
            )
        if place.requires_grad:
            raise SettingsError(
                f"tensor_value: {self._name()} is trained (requires_grad), so each step would "
                "overwrite the value; bind to a tensor that is not trained"
            )
        return place


def tensor_value(root: Any, path: str = "") -> Binding:
    """Bind to one number of a tensor, such as a weight of a loss.

    Args:
        root: the tensor, or a module or any object that has it.
        path: the way to the number, as ``"weight.1"``; a tensor of one number needs none.

    The tensor is filled in place, so a compiled model goes on without compiling again, and it is
    looked up each time, so a module may be moved to a GPU in between.

    >>> loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0]))
    >>> rare = tensor_value(loss, "weight.1")
    >>> rare.set(0.3); loss.weight.tolist()[0], rare.get()
    (1.0, 0.3)
    """
    if not isinstance(path, str):
        raise SettingsError(f"tensor_value: the path must look like 'weight.1', got {shown(path)}")
    bound = TensorValue(root, tuple(filter(None, path.split("."))))
    bound.get()
    return bound


def number_in(number: Tensor) -> Value:
    """The number of a tensor as it was meant: 0.1, also where its type holds that only nearly.

    >>> number_in(torch.tensor(0.1, dtype=torch.bfloat16))
    0.1
    """
    value = number.item()
    if not isinstance(value, float) or value != value:
        return value
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    same = (each for each in candidates if torch.tensor(each, dtype=number.dtype).item() == value)
    return next(same, value)


def _step(place: Any, name: str, path: str) -> Any:
    if isinstance(place, Tensor):
        if not name.isdecimal() or not place.dim() or int(name) >= len(place):
            raise SettingsError(
                f"tensor_value: no {name!r} on the way of {path}, in a tensor of shape "
                f"{tuple(place.shape)}; its places are numbers from 0"
            )
        if 0 in place.stride() and place.numel() > 1:
            raise SettingsError(
                f"tensor_value: on the way of {path}, a tensor repeats one number for all places "
                "(expand), so each would change with the others; make it with clone()"
            )
        return place[int(name)]
    try:
        return getattr(place, name)
    except AttributeError:
        names = [each for each, thing in _tensors_of(place) if isinstance(thing, Tensor)]
        raise SettingsError(
            f"tensor_value: there is no {name!r} in {type(place).__name__}{nearest(name, names)}"
        ) from None


def _tensors_of(place: Any) -> list[tuple[str, Any]]:
    if isinstance(place, torch.nn.Module):
        return list(place.named_buffers())
    return list(getattr(place, "__dict__", {}).items())
