"""A module comes back whole: parameters, gradients, buffers, modes, in the tensors it has."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dynhp.errors import ContractError, SettingsError
from dynhp_torch import adapt
from dynhp_torch.parts import cloned, torch_part
from tests.support.messages import raises


class AwkwardModule(nn.Module):
    """Buffers of all kinds, and a state of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.tied = self.linear  # shared: once is enough
        self.register_buffer("hidden", torch.zeros(2), persistent=False)
        self.register_buffer("late", None)
        self.register_buffer("growing", torch.zeros(1))
        self.count = 0

    def get_extra_state(self) -> Any:
        return {"count": [self.count]}

    def set_extra_state(self, state: Any) -> None:
        self.count = state["count"][0]


def test_a_module_comes_back_whole() -> None:
    model: Any = AwkwardModule()
    part = torch_part(model)
    weight, own = model.linear.weight, model.hidden
    before = weight.detach().clone()
    state = part.get()
    for _ in range(2):  # again and again
        with torch.no_grad():
            weight.zero_()
        outside = torch.full((2,), 7.0)
        model.hidden, model.late, model.growing = outside, torch.ones(1), torch.ones(5)
        model.count = 4
        model.linear.eval()
        model.linear.bias.requires_grad_(False)
        weight.grad = torch.ones(2, 2)
        part.set(state)
        assert model.linear.weight is weight
        assert torch.equal(weight, before)
        assert model.hidden is own
        assert torch.equal(own, torch.zeros(2))
        assert torch.equal(outside, torch.full((2,), 7.0))  # not written into
        assert model.late is None
        assert torch.equal(model.growing, torch.zeros(1))
        assert (model.count, model.linear.training, model.training) == (0, True, True)
        assert model.linear.bias.requires_grad
        assert weight.grad is None


def test_a_buffer_that_grew_on_the_main_line_comes_back_too() -> None:
    model: Any = AwkwardModule()
    part = torch_part(model)
    model.growing, model.late = torch.ones(3), torch.ones(1)
    state = part.get()
    model.growing = torch.zeros(5)
    for _ in range(2):
        part.set(state)
        assert model.growing.tolist() == [1.0, 1.0, 1.0]
        assert model.late.tolist() == [1.0]
        model.growing.zero_()  # and not shared with the state
        model.late = None


def test_gradients_belong_to_the_state() -> None:
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.ones(2)
    for thing in (weight, nn.ParameterList([weight])):
        part = torch_part(thing)
        state = part.get()
        held = weight.grad
        held.fill_(5.0)
        part.set(state)
        assert weight.grad is held
        assert torch.equal(held, torch.ones(2))
        weight.grad = None
        part.set(state)
        assert weight.grad is not None
        weight.grad.fill_(5.0)
        part.set(state)
        assert torch.equal(weight.grad, torch.ones(2))  # and not shared with the state


def test_sparse_gradients() -> None:
    embedding = nn.Embedding(3, 2, sparse=True)
    output: Any = embedding(torch.tensor([1])).sum()
    output.backward()
    part = torch_part(embedding)
    state = part.get()
    part.set(state)
    grad = embedding.weight.grad
    assert grad is not None
    assert grad.is_sparse
    assert grad.to_dense()[1].tolist() == [1.0, 1.0]


def test_a_module_must_keep_its_shape() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    part = torch_part(model)
    state = part.get()
    model.append(nn.Linear(2, 1))
    with raises(ContractError):
        part.set(state)


def test_a_lazy_module_is_refused() -> None:
    with raises(SettingsError):
        torch_part(nn.LazyLinear(2))


def test_copies_share_nothing() -> None:
    inner = torch.ones(1)
    value = {"list": [inner, (inner, 3)], "other": {4}}
    copied = cloned(value)
    inner.zero_()
    assert repr(copied) == "{'list': [tensor([1.]), (tensor([1.]), 3)], 'other': {4}}"
    assert isinstance(copied["list"][0], Tensor)


def test_parts_without_parameters_that_come_and_go_are_named_and_all_else_is_put_back() -> None:
    model = nn.Sequential(nn.Linear(2, 1), nn.Sequential(nn.ReLU()))
    part = torch_part(model)
    state = part.get()
    before = cloned(model[0].weight)
    model.append(nn.Sequential(nn.Dropout(0.1)))
    model[1].append(nn.Tanh())
    nn.init.zeros_(model[0].weight)
    with raises(ContractError):
        part.set(state)
    assert torch.equal(model[0].weight, before)
    part.set(state)  # it is as it was
    assert len(model) == 2
    assert len(model[1]) == 1
    del model[1]
    with raises(ContractError):
        part.set(state)


def test_a_module_that_gets_a_part_in_mid_run_ends_the_run_and_no_state_is_lost() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(32, 3)
    model = nn.Sequential(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run() -> None:
        for epoch in adapt(8, state=[model, optimizer], space={"w": [0.5, 1.0]}, minimize="loss",
                           adapt_every=4, try_for=1):  # fmt: skip
            if epoch == 4:
                model.append(nn.Dropout(0.1))
            optimizer.zero_grad()
            loss = epoch["w"] * model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            epoch.report(loss=model(inputs).square().mean().item())

    with raises(ContractError):
        run()
    assert len(model) == 1
