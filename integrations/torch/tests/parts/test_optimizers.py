"""An optimiser comes back whole: its settings and memory, in the groups and tensors it has."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dynhp.errors import ContractError
from dynhp.loops.parts import Parts
from dynhp_torch.parts import torch_part
from tests.support.messages import raises


def step(model: nn.Module, optimizer: Any) -> None:
    optimizer.zero_grad()
    output: Any = model(torch.ones(3, 2)).square().sum()
    output.backward()
    optimizer.step()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    "adam, tensor lr": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1)),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "own state_dict": lambda p: OwnStateDict(p, lr=0.1, momentum=0.9),
}


class OwnStateDict(torch.optim.SGD):
    """An optimiser with a state_dict of its own."""

    steps = 0

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "steps": self.steps}

    def load_state_dict(self, state_dict: Any) -> None:
        self.steps = state_dict["steps"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "steps"})


@pytest.mark.parametrize("trained", [0, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimiser_comes_back_whole(name: str, trained: int) -> None:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    optimizer: Any = OPTIMIZERS[name](model.parameters())
    for _ in range(trained):
        step(model, optimizer)
    parts = Parts([torch_part(model), torch_part(optimizer)])
    state = parts.get_state()
    results = []
    for _ in range(3):
        parts.set_state(state)
        for _ in range(3):
            step(model, optimizer)
        results.append(repr((optimizer.state_dict(), model.state_dict())))
        optimizer.param_groups[0]["new"] = 3
    assert results[0] == results[1] == results[2]
    if not trained:
        parts.parts[1].set(state[1])
        assert "adagrad" in name or not optimizer.state_dict()["state"]


def test_memory_comes_back_after_it_was_dropped() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    part = torch_part(optimizer)
    empty = part.get()
    step(model, optimizer)
    trained, wanted = part.get(), repr(optimizer.state_dict())
    for _ in range(2):
        part.set(empty)
        assert not optimizer.state
        part.set(trained)
        assert repr(optimizer.state_dict()) == wanted
        optimizer.state[model.weight]["momentum_buffer"].zero_()  # and not shared with the state


def test_groups_and_tensors_stay_the_same_objects() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    step(model, optimizer)
    part = torch_part(optimizer)
    state = part.get()
    group, lr = optimizer.param_groups[0], optimizer.param_groups[0]["lr"]
    average = optimizer.state[model.weight]["exp_avg"]
    lr.fill_(0.5)
    group["extra"] = 1
    step(model, optimizer)
    part.set(state)
    assert optimizer.param_groups[0] is group
    assert group["lr"] is lr
    assert lr.item() == pytest.approx(0.1)
    assert "extra" not in group
    assert optimizer.state[model.weight]["exp_avg"] is average


def test_lbfgs_with_its_lists_of_tensors() -> None:
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)

    def closure() -> Any:
        optimizer.zero_grad()
        loss: Any = (model(torch.ones(3, 2)) - 1).square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    parts = Parts([torch_part(model), torch_part(optimizer)])
    state = parts.get_state()
    results = []
    for _ in range(2):
        parts.set_state(state)
        optimizer.step(closure)
        results.append(repr(model.state_dict()))
    assert results[0] == results[1]


class KeepsGradient(torch.optim.Optimizer):
    """Keeps the very tensor of the gradient, and something under a name of its own."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["last"] = parameter.grad
            parameter.sub_(0.1 * parameter.grad)
        self.state["counter"] = {"steps": 1}


@pytest.mark.parametrize("order", [1, -1])
def test_memory_shared_with_the_gradient_is_not_written_into(order: int) -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = KeepsGradient([weight])
    parts = Parts([torch_part(weight), torch_part(optimizer)][::order])
    weight.grad = torch.tensor([1.0])
    optimizer.step()
    weight.grad = torch.tensor([2.0])  # now "last" is 1 and the gradient 2
    state = parts.get_state()
    optimizer.step()  # now both are one tensor
    parts.set_state(state)
    assert (optimizer.state[weight]["last"].item(), weight.grad.item()) == (1.0, 2.0)
    assert optimizer.state["counter"] == {"steps": 1}


def test_an_optimiser_must_keep_its_groups() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    part = torch_part(optimizer)
    state = part.get()
    optimizer.add_param_group({"params": [model.bias]})
    with raises(ContractError):
        part.set(state)


class ScheduleFree(torch.optim.SGD):
    """Like schedule-free optimisers: the parameters change with the optimiser's mode."""

    def switch(self, training: bool) -> None:
        for group in self.param_groups:
            if group.setdefault("train_mode", True) != training:
                for parameter in group["params"]:
                    parameter.data.mul_(2.0 if training else 0.5)
                group["train_mode"] = training


def test_an_optimiser_with_modes_goes_together_with_its_weights() -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = ScheduleFree([weight], lr=0.1)
    optimizer.switch(False)
    parts = Parts([torch_part(weight), torch_part(optimizer)])
    state = parts.get_state()
    optimizer.switch(True)
    parts.set_state(state)
    optimizer.switch(True)
    assert weight.item() == 1.0
