"""Snapshots of torch's objects: nothing shared, nothing missed, everything in place."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

import dynhp
from dynhp import lowest
from dynhp.errors import ContractError, SettingsError
from dynhp.loops import Part
from dynhp_torch import adapt, optimizer_param, schedule_scale, torch_part
from dynhp_torch.parts import generators
from dynhp_torch.parts.tensors import cloned


class Odd(nn.Module):
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


def step(model: nn.Module, optimizer: Any) -> None:
    optimizer.zero_grad()
    output: Any = model(torch.ones(3, 2)).square().sum()
    output.backward()
    optimizer.step()


def test_a_module_comes_back_whole() -> None:
    model: Any = Odd()
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
        assert torch.equal(outside, torch.full((2,), 7.0))  # nobody else's tensor is written into
        assert model.late is None
        assert torch.equal(model.growing, torch.zeros(1))
        assert (model.count, model.linear.training, model.training) == (0, True, True)
        assert model.linear.bias.requires_grad
        assert weight.grad is None


def test_a_buffer_that_grew_on_the_main_line_comes_back_too() -> None:
    model: Any = Odd()
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
    with pytest.raises(ContractError, match=r"changed: 1\.bias, 1\.weight"):
        part.set(state)


def test_a_lazy_module_is_refused() -> None:
    with pytest.raises(SettingsError, match="'weight' has no shape yet"):
        torch_part(nn.LazyLinear(2))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    "adam, tensor lr": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1)),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "own state_dict": lambda p: OwnStateDict(p, lr=0.1, momentum=0.9),
}


class OwnStateDict(torch.optim.SGD):
    """An optimiser that overrides state_dict is taken at its word."""

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
    parts = [torch_part(model), torch_part(optimizer)]
    states = [part.get() for part in parts]
    results = []
    for _ in range(3):
        for part, state in zip(parts, states, strict=True):
            part.set(state)
        for _ in range(3):
            step(model, optimizer)
        results.append(repr((optimizer.state_dict(), model.state_dict())))
        optimizer.param_groups[0]["new"] = 3
    assert results[0] == results[1] == results[2]
    if not trained:
        parts[1].set(states[1])
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
    parts = [torch_part(model), torch_part(optimizer)]
    states = [part.get() for part in parts]
    results = []
    for _ in range(2):
        for part, state in zip(parts, states, strict=True):
            part.set(state)
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
    parts = [torch_part(weight), torch_part(optimizer)][::order]
    weight.grad = torch.tensor([1.0])
    optimizer.step()
    weight.grad = torch.tensor([2.0])  # now "last" is 1 and the gradient 2
    states = [part.get() for part in parts]
    optimizer.step()  # now both are one tensor
    for part, state in zip(parts, states, strict=True):
        part.set(state)
    assert (optimizer.state[weight]["last"].item(), weight.grad.item()) == (1.0, 2.0)
    assert optimizer.state["counter"] == {"steps": 1}


def test_an_optimiser_must_keep_its_groups() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    part = torch_part(optimizer)
    state = part.get()
    optimizer.add_param_group({"params": [model.bias]})
    with pytest.raises(ContractError, match=r"groups of \(1, 1\) parameters instead of \(1,\)"):
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
    parts = [torch_part(weight), torch_part(optimizer)]
    states = [part.get() for part in parts]
    optimizer.switch(True)
    for part, state in zip(parts, states, strict=True):
        part.set(state)
    optimizer.switch(True)
    assert weight.item() == 1.0


def drawn(thing: Any) -> list[int]:
    return [int(index) for index in thing]


def test_generators_samplers_and_loaders() -> None:
    data = TensorDataset(torch.arange(20))
    own = torch.Generator().manual_seed(0)
    sampler = RandomSampler(data, generator=torch.Generator().manual_seed(1))
    loader: Any = DataLoader(
        data, sampler=RandomSampler(data, generator=torch.Generator()), generator=own
    )
    order = lambda: [int(batch[0]) for batch in loader]  # noqa: E731
    for thing, draw in ((sampler, lambda: drawn(sampler)), (loader, order)):
        part = torch_part(thing)
        assert part.reseed is not None
        state = part.get()
        first = draw()
        part.set(state)
        assert draw() == first != draw()
        part.reseed(9)
        seeded = draw()
        part.reseed(9)
        assert draw() == seeded
    part = torch_part(own)
    assert part.reseed is not None
    part.reseed(2**63 - 1)
    assert own.initial_seed() == 2**63 - 1


def test_samplers_with_other_generators_or_an_epoch() -> None:
    sampler: Any = torch.utils.data.SequentialSampler([1, 2])
    for source in (np.random.default_rng(0), random.Random(0)):
        sampler.generator = source
        part = torch_part(sampler)
        state = part.get()
        first = source.random()
        part.set(state)
        assert source.random() == first
    distributed: Any = DistributedSampler(list(range(8)), num_replicas=1, rank=0)
    part = torch_part(distributed)
    state = part.get()
    first = list(distributed)
    distributed.set_epoch(3)
    assert list(distributed) != first
    part.set(state)
    assert list(distributed) == first


class StatefulLoader(DataLoader[Any]):
    """Like torchdata's: it knows its position."""

    position = 0

    def state_dict(self) -> dict[str, int]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.position = state["position"]


def test_a_stateful_loader_keeps_its_position() -> None:
    loader = StatefulLoader(TensorDataset(torch.arange(3)))
    part = torch_part(loader)
    state = part.get()
    loader.position = 7
    part.set(state)
    assert loader.position == 0


def test_persistent_workers_are_refused() -> None:
    loader: Any = DataLoader(TensorDataset(torch.arange(3)), num_workers=1, persistent_workers=True)
    with pytest.raises(SettingsError, match="persistent_workers=False"):
        torch_part(loader)


def test_accelerators_are_taken_care_of(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: ["state"])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", calls.append)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", calls.append)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    for name in ("get_rng_state", "set_rng_state", "manual_seed"):
        monkeypatch.setattr(torch.mps, name, lambda *value, name=name: calls.append(name))
    _, cuda, mps = generators.torch_generators()
    cuda.set(cuda.get())  # not started: not touched
    assert calls == []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    cuda.set(cuda.get())
    assert cuda.reseed is not None
    cuda.reseed(3)
    assert calls == [["state"], 3]
    mps.set(mps.get())
    assert calls[2:] == ["get_rng_state", "set_rng_state"]


def loop(*state: Any) -> Any:
    return adapt(
        2,
        state=list(state),
        space={"lr": [1.0]},
        criterion=lowest("loss"),
        adapt_every=1,
        try_for=1,
    )


def test_a_state_with_something_missing_is_refused() -> None:
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.raises(SettingsError, match="2 of 4 parameters of SGD are in no module"):
        loop(model, optimizer)
    with pytest.raises(SettingsError, match="the optimiser of StepLR is missing"):
        loop(model, other, scheduler)
    with pytest.raises(SettingsError, match="state must be a list"):
        adapt(
            2,
            state=model,
            space={"lr": [1.0]},
            criterion=lowest("loss"),  # type: ignore[arg-type]
            adapt_every=1,
            try_for=1,
        )
    loop(model, other, optimizer, scheduler)
    loop(model, *other.parameters(), optimizer)
    loop(optimizer, Part(get=lambda: None, set=lambda state: None))  # who knows what is in it


def test_copies_share_nothing() -> None:
    inner = torch.ones(1)
    value = {"list": [inner, (inner, 3)], "other": {4}}
    copied = cloned(value)
    inner.zero_()
    assert repr(copied) == "{'list': [tensor([1.]), (tensor([1.]), 3)], 'other': {4}}"
    assert isinstance(copied["list"][0], Tensor)


def test_a_bound_optimiser_must_be_in_the_state() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    for binding in (optimizer_param(optimizer, "lr"), schedule_scale(optimizer)):
        with pytest.raises(SettingsError, match="'lr' is bound to SGD, which is missing"):
            adapt(4, state=[model], space={"lr": [0.1, 1.0]}, bind={"lr": binding}, **settings)


def test_the_core_sends_torch_objects_here() -> None:
    with pytest.raises(SettingsError, match=r"Linear is a torch object.*use adapt of dynhp_torch"):
        dynhp.adapt(
            4,
            state=[nn.Linear(2, 1)],
            space={"lr": [0.1, 1.0]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
