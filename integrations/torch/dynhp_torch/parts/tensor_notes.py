"""What a tensor is: its values, whether it is trained, and its gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from dynhp_torch.parts.tensors import cloned, fits, made, set_grad, write_into

__all__ = ["TensorNote"]


class TensorNote:
    """What a tensor was, to be put back into it, because an optimiser may hold the very same one.

    >>> alpha = torch.zeros(1); note = TensorNote(alpha)
    >>> _ = alpha.add_(1).requires_grad_()
    >>> note.put_into(alpha) is alpha, alpha
    (True, tensor([0.]))
    """

    __slots__ = ("grad", "leaf", "trained", "values")

    def __init__(self, tensor: Tensor) -> None:
        self.values, self.leaf = cloned(tensor), tensor.is_leaf
        # That of a result is its history, which cannot be made again.
        self.trained = self.leaf and tensor.requires_grad
        self.grad = cloned(tensor.grad) if self.leaf else None

    def put_into(self, tensor: Tensor) -> Tensor:
        """The tensor as it was, or another one where torch does not let it be changed."""
        try:
            self._write(tensor)
            if self.leaf:
                self._train(tensor)
        except RuntimeError:  # made in inference mode, or several places of it share one memory
            if not self._is_as_it_was(tensor):
                return self._another(tensor)
        return tensor

    def _write(self, tensor: Tensor) -> None:
        if self.leaf and not tensor.is_leaf:  # a loss with a history was added in place
            tensor.detach_()
        if fits(tensor, self.values):
            write_into(tensor, self.values)
        else:
            tensor.grad = None  # which has to be of the same kind
            tensor.data = made(self.values, tensor)

    def _train(self, tensor: Tensor) -> None:
        if tensor.requires_grad != self.trained:
            tensor.requires_grad_(self.trained)
        if tensor.grad is not None or self.grad is not None:
            set_grad(tensor, self.grad)

    def _is_as_it_was(self, tensor: Tensor) -> bool:
        same = fits(tensor, self.values) and isinstance(self.values, Tensor)
        if not same or not torch.equal(tensor, self.values):
            return False
        if not self.leaf:
            return True
        return tensor.is_leaf and tensor.requires_grad == self.trained and tensor.grad is self.grad

    def _another(self, tensor: Tensor) -> Tensor:
        new: Tensor = made(self.values, tensor)
        new.requires_grad_(self.trained)
        set_grad(new, self.grad)
        return new
