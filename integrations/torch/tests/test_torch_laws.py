"""The laws of trainers on torch's kinds of state: broken ones are refused, sound ones never."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from dynhp.errors import LawBroken
from dynhp.testing import check_trainer, difference, trainer_checks
from dynhp.testing.laws import purity
from tests.support.messages import raises

LR = {"lr": [0.01, 0.05, 0.1]}
INPUTS = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))
TARGETS = INPUTS.sum(1, keepdim=True)


class Torch:
    """An ordinary trainer with a scheduler, dropout and a shuffled loader: sound."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = self.build()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda e: 0.9**e)
        self.generator = torch.Generator().manual_seed(5)
        data = TensorDataset(INPUTS, TARGETS)
        self.loader = DataLoader(data, batch_size=8, shuffle=True, generator=self.generator)

    def build(self) -> Any:
        return nn.Sequential(
            nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.2), nn.Linear(4, 1)
        )

    def get_state(self) -> Any:
        return copy.deepcopy(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "generator": self.generator.get_state(),
                "global": torch.get_rng_state(),
            }
        )

    def set_state(self, state: Any) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["global"])

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.train_epoch(**hyperparameters)

    def train_epoch(self, lr: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = lr * 0.9**self.scheduler.last_epoch
        self.model.train()
        for inputs, targets in self.loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(inputs), targets).backward()
            self.optimizer.step()
        self.scheduler.step()

    def metrics(self) -> Any:
        self.model.eval()
        with torch.no_grad():
            return {"loss": float(nn.functional.mse_loss(self.model(INPUTS), TARGETS))}


class Whole(Torch):
    """Its state is a deep copy of model, optimiser and scheduler together."""

    def get_state(self) -> Any:
        parts = (self.model, self.optimizer, self.scheduler)
        return *copy.deepcopy(parts), self.generator.get_state(), torch.get_rng_state()

    def set_state(self, state: Any) -> None:
        self.model, self.optimizer, self.scheduler = copy.deepcopy(state[:3])
        self.generator.set_state(state[3])
        torch.set_rng_state(state[4])


class Hooked(Whole):
    """Its model has a hook, which torch counts through the process."""

    def build(self) -> Any:
        model = super().build()
        model[0].register_forward_hook(hook)
        return model


def hook(module: Any, inputs: Any, output: Any) -> None:
    """Does nothing."""


class Saved(Torch):
    """Its state are the bytes of a file of torch."""

    def get_state(self) -> Any:
        stream = io.BytesIO()
        torch.save(super().get_state(), stream)
        return stream.getvalue()

    def set_state(self, state: Any) -> None:
        super().set_state(torch.load(io.BytesIO(state), weights_only=False))


class Pickled(Torch):
    def get_state(self) -> Any:
        return pickle.dumps(super().get_state())

    def set_state(self, state: Any) -> None:
        super().set_state(pickle.loads(state))


class TiedLayers(Torch):
    """Two of its layers share their weights."""

    def build(self) -> Any:
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1))
        model[2].weight = model[0].weight
        return model


class Half(Torch):
    """Its weights are bfloat16."""

    def build(self) -> Any:
        return nn.Sequential(Cast(torch.bfloat16), nn.Linear(4, 1).bfloat16(), Cast(torch.float32))


class Cast(nn.Module):
    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: Any) -> Any:
        return x.to(self.dtype)


class Extra(Torch):
    """Its state holds tensors of rare kinds."""

    def get_state(self) -> Any:
        weight = next(self.model.parameters()).detach()
        return {
            **super().get_state(),
            "sparse": weight.to_sparse(),
            "meta": torch.empty(2, device="meta"),
            "quantised": torch.quantize_per_tensor(weight, 0.1, 10, torch.quint8),
            "complex": torch.complex(weight, weight),
            "generator object": self.generator.clone_state(),
            "size": weight.shape,
            "dtype": weight.dtype,
        }


SOUND = [Torch, Whole, Hooked, Saved, Pickled, TiedLayers, Half, Extra]


@pytest.mark.filterwarnings("ignore")  # of torch, about copied schedulers and quantised tensors
@pytest.mark.parametrize("make", SOUND)
def test_a_sound_trainer_is_never_accused(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity, "WAIT", 0.0)
    check_trainer(make, LR, epochs=1, another_process=False)


class Live(Torch):
    """Hands out the tensors that it goes on to train."""

    def get_state(self) -> Any:
        return {**super().get_state(), "model": self.model.state_dict()}


class LiveMoments(Torch):
    """Trains on the moments that it was handed."""

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.optimizer.load_state_dict(state["optimizer"])


class Without(Torch):
    """One of its parts is not set."""

    part = ""

    def set_state(self, state: Any) -> None:
        super().set_state({**state, self.part: self.get_state()[self.part]})


def without(missing: str) -> type[Without]:
    return type(f"Without_{missing}", (Without,), {"part": missing})


class ModelOnly(Torch):
    """A new optimiser and scheduler for every state."""

    def set_state(self, state: Any) -> None:
        fresh = Torch()
        super().set_state(
            {
                **state,
                "optimizer": fresh.optimizer.state_dict(),
                "scheduler": fresh.scheduler.state_dict(),
            }
        )


class StaysInEvaluation(Torch):
    def __init__(self) -> None:
        super().__init__()
        self.model.train = lambda mode=True: self.model  # type: ignore[method-assign]


class NormsWhileMeasuring(Torch):
    """Measures in training mode, so that the averages of its norm move."""

    def metrics(self) -> Any:
        self.model.train()
        state = torch.get_rng_state()
        with torch.no_grad():
            loss = float(nn.functional.mse_loss(self.model(INPUTS), TARGETS))
        torch.set_rng_state(state)
        return {"loss": loss}


class Tensors(Torch):
    def metrics(self) -> Any:
        return {"loss": torch.tensor(super().metrics()["loss"])}


class CopiedGroups(Torch):
    """Sets the value in a copy of the optimiser's groups, which is in the state."""

    lr = 0.05

    def get_state(self) -> Any:
        return {**super().get_state(), "groups": [{"lr": torch.tensor(self.lr)}]}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.lr = float(state["groups"][0]["lr"])

    def train_epoch(self, lr: float) -> None:
        self.lr = lr
        super().train_epoch(0.05)


class HalfGradients(Torch):
    """Steps every second epoch, and keeps gradients that are not in the state."""

    def train_epoch(self, lr: float) -> None:
        self.optimizer.param_groups[0]["lr"] = lr
        nn.functional.mse_loss(self.model(INPUTS), TARGETS).backward()
        self.scheduler.step()
        if self.scheduler.last_epoch % 2 == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()


class HalfPrecisionState(Torch):
    """Saves memory: its state holds half of the bits."""

    def get_state(self) -> Any:
        state = super().get_state()
        state["model"] = {k: v.bfloat16().to(v.dtype) for k, v in state["model"].items()}
        return state


class Unties(TiedLayers):
    """Its tied layers are two different ones after set_state."""

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.model[2].weight = nn.Parameter(self.model[2].weight.detach().clone())


BROKEN = [
    (Live, "isolation"),
    (LiveMoments, "isolation"),
    *((without(part), "restore") for part in ("optimizer", "scheduler", "generator")),
    (without("global"), "restore"),
    (ModelOnly, "restore"),
    (StaysInEvaluation, "purity"),
    (NormsWhileMeasuring, "purity"),
    (Tensors, "purity"),
    (CopiedGroups, "force"),
    (HalfGradients, "restore"),
    (HalfPrecisionState, "restore"),
    (Unties, "restore"),
]


@pytest.mark.parametrize(("make", "law"), BROKEN)
def test_a_broken_trainer_is_refused_by_its_law(make: Any, law: str) -> None:
    checks = dict(trainer_checks(make, LR, another_process=False))
    with raises(LawBroken) as caught:
        checks[law]()
    assert len(str(caught.value)) < 800


@pytest.mark.filterwarnings("ignore")
def test_tensors_that_numpy_does_not_know_are_compared() -> None:
    ones = torch.ones(2)
    assert difference(ones.bfloat16(), ones) == "state: dtype torch.bfloat16 and torch.float32"
    assert difference(ones.to_sparse(), torch.tensor([1.0, 2.0]).to_sparse()) is not None
    assert difference(ones.to_sparse(), ones.to_sparse()) is None
    quantised = [torch.quantize_per_tensor(x * ones, 0.1, 0, torch.quint8) for x in (1, 1, 2)]
    assert difference(quantised[0], quantised[1]) is None
    assert difference(quantised[0], quantised[2]) is not None
    first, second = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)
    assert difference(first, second) is not None
    assert difference(first, torch.Generator().manual_seed(1)) is None
