"""A tensor among the attributes goes back whole: values, kind, whether it is trained, gradient."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from dynhp_torch.parts import attributes_part


def train(tensor: Tensor) -> None:
    tensor.requires_grad_()
    (2 * tensor).sum().backward()  # type: ignore[no-untyped-call]


def halve(tensor: Tensor) -> None:
    tensor.grad = None
    tensor.data = tensor.data.half()


def enlarge(tensor: Tensor) -> None:
    tensor.grad = None
    tensor.data = torch.ones(5)


def stop(tensor: Tensor) -> None:
    tensor.requires_grad_(False)


def give_gradient(tensor: Tensor) -> None:
    tensor.grad = torch.full_like(tensor, 7.0)


def forget_gradient(tensor: Tensor) -> None:
    tensor.grad = None


def add_a_loss(tensor: Tensor) -> None:
    if tensor.requires_grad:
        tensor.requires_grad_(False)
    tensor += torch.ones(1, requires_grad=True)


CHANGES = [train, halve, enlarge, stop, give_gradient, forget_gradient, add_a_loss]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("gradient", [False, True])
def test_a_tensor_is_put_back_whole(
    change: Callable[[Tensor], None], trained: bool, gradient: bool
) -> None:
    tensor = torch.zeros(2, requires_grad=trained)
    tensor.grad = torch.ones(2) if gradient else None
    owner = SimpleNamespace(tensor=tensor)
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    for _ in range(2):  # a state can be taken back again and again
        change(tensor)
        part.set(state)
        assert owner.tensor is tensor  # an optimiser may hold it
        assert (tensor.dtype, tensor.is_leaf) == (torch.float32, True)
        assert tensor.requires_grad == trained
        assert tensor.tolist() == [0, 0]
        assert (None if tensor.grad is None else tensor.grad.tolist()) == (
            [1, 1] if gradient else None
        )


def test_a_tensor_that_torch_does_not_let_change_is_made_anew() -> None:
    base = torch.zeros(1)
    tensor = base.expand(2).detach().requires_grad_()
    tensor.grad = torch.ones(2)
    owner = SimpleNamespace(tensor=tensor)
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    base.add_(1)
    stop(tensor)
    part.set(state)
    assert owner.tensor.tolist() == [0, 0]
    assert owner.tensor.requires_grad
    assert owner.tensor.grad.tolist() == [1, 1]


def test_a_result_that_changed_its_kind_is_put_back() -> None:
    owner = SimpleNamespace(loss=torch.ones(1, requires_grad=True) * 2)
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    owner.loss.data = torch.zeros(1).half()
    part.set(state)
    assert owner.loss.dtype == torch.float32
    assert owner.loss.tolist() == [2]
