"""One number of a tensor as a value: weights of a loss, in place, whatever its type."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.testing import check_trainer
from dynhp_torch import adapt, tensor_value, torch_trainer
from dynhp_torch.values.tensors import number_in
from tests.support.messages import raises

INPUTS = torch.randn(32, 3, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS.sum(1) > 1).long()
WEIGHTS = {"rare": [1.0, 3.0, 10.0]}


class WeightedLoss:
    """A classifier of rare cases, whose loss weighs them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0]))

    def epoch(self) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model(INPUTS), LABELS).backward()
        self.optimizer.step()

    def measure(self) -> dict[str, float]:
        chosen = self.model(INPUTS).argmax(1)
        return {"recall": (chosen[LABELS == 1] == 1).float().mean().item()}

    def adapted(self, **more: Any) -> Any:
        settings: Any = {"maximize": "recall", "adapt_every": 3, "try_for": 1, **more}
        bind = {"rare": tensor_value(self.loss, "weight.1")}
        return adapt(6, state=[self.model, self.optimizer], space=WEIGHTS, bind=bind, **settings)


def test_the_weight_of_a_loss_is_adapted_in_place() -> None:
    training = WeightedLoss()
    own = training.loss.weight
    for epoch in training.adapted():
        training.epoch()
        assert training.loss.weight is own
        assert own.tolist() == [1.0, epoch["rare"]]
        epoch.report(training.measure())


def test_a_dry_run_is_the_plain_loop() -> None:
    plain, dry = WeightedLoss(), WeightedLoss()
    for _ in range(6):
        plain.epoch()
    for epoch in dry.adapted(dry_run=True):
        dry.epoch()
        epoch.report(dry.measure())
    assert torch.equal(plain.model.weight, dry.model.weight)
    assert dry.loss.weight.tolist() == [1.0, 1.0]


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = WeightedLoss()
        return torch_trainer(
            state=[training.model, training.optimizer],
            train_epoch=lambda values: training.epoch(),
            evaluate=training.measure,
            bind={"rare": tensor_value(training.loss, "weight.1")},
        )

    check_trainer(make, WEIGHTS, epochs=1, another_process=False)


def test_a_weight_that_the_loop_resets_is_caught() -> None:
    training = WeightedLoss()

    def train() -> None:
        for epoch in training.adapted():
            training.epoch()
            training.loss.weight.fill_(1.0)
            epoch.report(training.measure())

    with raises(ValueNotInForce):
        train()


def test_a_module_that_was_moved_or_cast_is_looked_up_afresh() -> None:
    training = WeightedLoss()
    bound = tensor_value(training.loss, "weight.1")
    training.loss.double()
    bound.set(0.3)
    assert training.loss.weight.tolist() == [1.0, 0.3]


@given(
    value=st.floats(0.001, 1000).map(lambda value: float(f"{value:.2g}")),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]),
)
def test_what_was_written_is_read_whatever_the_type_of_the_tensor(value: float, dtype: Any) -> None:
    bound = tensor_value(torch.zeros((), dtype=dtype))
    bound.set(value)
    assert bound.get() == value


def test_numbers_of_other_kinds() -> None:
    assert number_in(torch.tensor(3)) == 3
    assert number_in(torch.tensor(float("inf"))) == float("inf")
    assert str(number_in(torch.tensor(float("nan")))) == "nan"
    assert number_in(torch.tensor(1 / 3, dtype=torch.float64)) == 1 / 3


class Fading(nn.Module):
    """Has a buffer that decides something."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("strength", torch.tensor(0.5))


@pytest.mark.parametrize(
    ("root", "path"),
    [
        (Fading(), "strenght"),
        (SimpleNamespace(w=torch.ones(2)), "v"),
        (torch.ones(2), ""),
        (torch.ones(2), "2"),
        (torch.ones(2), "x"),
        (torch.ones(()), "0"),
        (SimpleNamespace(w=0.5), "w"),
        (torch.ones(1).expand(3), "1"),
        (nn.Linear(1, 1), "bias"),
        (Fading(), 3),
    ],
)
def test_no_number_of_a_tensor(root: Any, path: Any) -> None:
    with raises(SettingsError):
        tensor_value(root, path)


@pytest.mark.parametrize("value", [True, "1", None])
def test_no_number(value: Any) -> None:
    with raises(SettingsError):
        tensor_value(Fading(), "strength").set(value)


def test_a_fraction_in_a_tensor_of_whole_numbers_is_not_cut_off() -> None:
    bound = tensor_value(torch.tensor([1, 2]), "1")
    bound.set(5)
    with raises(SettingsError):
        bound.set(0.5)
    assert bound.get() == 5


def test_the_kind_is_the_name_of_the_tensor() -> None:
    kinds = [
        tensor_value(nn.CrossEntropyLoss(torch.ones(2)), "weight.1"),
        tensor_value(torch.ones(1)),
    ]
    assert [each.kind for each in kinds] == ["weight", ""]  # type: ignore[attr-defined]
