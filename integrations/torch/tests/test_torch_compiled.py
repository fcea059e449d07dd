"""Compiled models: trying and putting back compiles nothing anew, which is counted here."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

from dynhp.errors import Hint
from dynhp_torch import adapt, attribute, tensor_value

INPUTS = torch.randn(32, 4, generator=torch.Generator().manual_seed(1))
TARGETS = INPUTS.sum(1, keepdim=True)
RATES = [0.01, 0.02, 0.05, 0.1]


class CountingBackend:
    """Compiles nothing, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.count += 1
        return graph.forward


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("dynhp.errors._given", set())  # hints come once in a process
    torch._dynamo.reset()
    yield CountingBackend()
    torch._dynamo.reset()


class Faded(nn.Module):
    """Scales its inputs by a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("strength", torch.tensor(1.0))

    def forward(self, inputs: Any) -> Any:
        return inputs * self.strength


def model_of() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(Faded(), nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))


def train(loop: Any, model: Any, optimizer: Any, step: Any, backend: CountingBackend) -> list[int]:
    """How often was compiled, after each pass."""
    counts = []
    for epoch in loop:
        model.train()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(INPUTS), TARGETS).backward()
        step()
        model.eval()
        with torch.no_grad():
            loss = nn.functional.mse_loss(model(INPUTS), TARGETS).item()
        if hasattr(epoch, "report"):
            epoch.report(loss=loss)
        counts.append(backend.count)
    return counts


SETTINGS: Any = {"minimize": "loss", "adapt_every": 4, "try_for": 1}


def test_a_compiled_model_is_compiled_once_for_training_and_once_for_evaluation(
    backend: CountingBackend,
) -> None:
    model = torch.compile(model_of(), backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loop = adapt(8, state=[model, optimizer], lr=RATES, **SETTINGS)
    assert set(train(loop, model, optimizer, optimizer.step, backend)) == {2}


@pytest.mark.parametrize(
    ("kind", "tensor"),
    [(torch.optim.SGD, True), (torch.optim.Adam, True), (torch.optim.SGD, False)],
)
def test_a_compiled_step_with_a_tensor_for_a_rate_is_not_compiled_again(
    backend: CountingBackend, kind: Any, tensor: bool
) -> None:
    model = model_of()
    more = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    optimizer = kind(model.parameters(), lr=torch.tensor(0.05) if tensor else 0.05, **more)
    rate = optimizer.param_groups[0]["lr"]
    step = torch.compile(optimizer.step, backend=backend)
    train(range(2), model, optimizer, step, backend)  # its memory is there before the first try
    before = backend.count
    loop = adapt(8, state=[model, optimizer], lr=RATES, **SETTINGS)
    counts = train(loop, model, optimizer, step, backend)
    if tensor:
        assert set(counts) == {before}
        assert optimizer.param_groups[0]["lr"] is rate
    else:  # or the count above would show nothing
        assert counts[-1] > before


def test_a_dry_run_of_a_compiled_model_is_the_plain_loop(backend: CountingBackend) -> None:
    ends = []
    for dry in (False, True):
        model = torch.compile(model_of(), backend="aot_eager")
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.05))
        loop: Any = range(6)
        if dry:
            loop = adapt(
                6, state=[model, optimizer], lr=[0.01, 0.05, 0.1], dry_run=True, **SETTINGS
            )
        train(loop, model, optimizer, optimizer.step, backend)
        ends.append(torch.cat([each.detach().flatten() for each in model.parameters()]))
    assert torch.equal(*ends)


def adapted(model: Any, optimizer: Any, bind: Any) -> tuple[Any, str]:
    with warnings.catch_warnings(record=True) as lines:
        warnings.simplefilter("always")
        space = {"value": [0.1, 0.2, 0.3, 0.4]}
        loop = adapt(8, state=[model, optimizer], space=space, bind={"value": bind}, **SETTINGS)
    return loop, " ".join(str(line.message) for line in lines if line.category is Hint)


@pytest.mark.parametrize("way", ["function", "method"])
def test_a_plain_attribute_compiles_for_each_value_and_a_hint_says_so(
    backend: CountingBackend, way: str
) -> None:
    inner = model_of()
    if way == "method":
        inner.compile(backend=backend)
    model = torch.compile(inner, backend=backend) if way == "function" else inner
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.05)
    loop, hints = adapted(model, optimizer, attribute(inner, "3.p"))
    assert "value: the model is compiled, and compiled again for every new value of '3.p'" in hints
    if way == "function":  # how much of a module its own compile() takes is torch's affair
        assert train(loop, model, optimizer, optimizer.step, backend)[-1] == 8


def test_a_number_in_a_buffer_compiles_nothing_again(backend: CountingBackend) -> None:
    inner = model_of()
    inner[0].strength.fill_(0.1)
    model = torch.compile(inner, backend=backend)
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.05)
    loop, hints = adapted(model, optimizer, tensor_value(model, "0.strength"))
    assert "compiled" not in hints
    assert set(train(loop, model, optimizer, optimizer.step, backend)) == {2}
    _, hints = adapted(inner, optimizer, attribute(nn.Dropout(0.1), "p"))
    assert "compiled" not in hints  # another module than the compiled one
