"""Mixed precision: autocast and the scaler's memory are put back to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dynhp.errors import NotRepeatable
from dynhp.testing import check_trainer
from dynhp_torch import adapt, optimizer_param, torch_trainer
from tests.support.messages import raises

INPUTS = torch.randn(32, 4, generator=torch.Generator().manual_seed(1))
TARGETS = INPUTS.sum(1, keepdim=True)


class MixedPrecision:
    """A model under autocast, with a scaler that grows every second step, and overflows."""

    def __init__(self, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        self.dtype = dtype
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=2)
        self.skipped = 0

    @property
    def state(self) -> list[Any]:
        return [self.model, self.optimizer, self.scaler]

    def epoch(self) -> float:
        self.model.train()
        for _ in range(3):
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=self.dtype):
                loss = nn.functional.mse_loss(self.model(INPUTS).float(), TARGETS)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            before = self.scaler.get_scale()
            self.scaler.update()
            self.skipped += self.scaler.get_scale() < before
        return loss.item()

    def adapted(self, state: list[Any], **more: Any) -> Any:
        return adapt(8, state=state, lr=[0.001, 0.01, 0.1], minimize="loss", adapt_every=4,
                     try_for=2, **more)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_dry_run_is_the_plain_loop(dtype: torch.dtype) -> None:
    plain = MixedPrecision(dtype)
    for _ in range(8):
        plain.epoch()
    dry = MixedPrecision(dtype)
    for epoch in dry.adapted(dry.state, dry_run=True):
        epoch.report(loss=dry.epoch())
    assert dry.scaler.state_dict() == plain.scaler.state_dict()
    assert all(map(torch.equal, dry.model.parameters(), plain.model.parameters()))
    assert (plain.skipped > 0) == (dtype == torch.float16)  # steps that overflowed are put back too


def test_a_scaler_that_was_forgotten_is_caught() -> None:
    training = MixedPrecision(torch.float16)
    scaler = training.scaler

    def train() -> None:
        for epoch in training.adapted([training.model, training.optimizer]):
            epoch.report(loss=training.epoch())

    with raises(NotRepeatable):
        train()
    del scaler


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = MixedPrecision(torch.bfloat16)

        def evaluate() -> dict[str, float]:
            training.model.eval()
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                return {"loss": training.model(INPUTS).float().square().mean().item()}

        return torch_trainer(
            state=training.state,
            train_epoch=lambda values: training.epoch(),
            evaluate=evaluate,
            bind={"lr": optimizer_param(training.optimizer, "lr")},
        )

    check_trainer(make, {"lr": [0.001, 0.01]}, epochs=1, another_process=False)
