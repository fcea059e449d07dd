"""Gradient clipping as a value: the optimiser clips as the loop would, and it is read back."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.testing import check_trainer
from dynhp_torch import adapt, gradient_clip, torch_trainer
from tests.support.messages import raises

INPUTS = torch.randn(24, 3, generator=torch.Generator().manual_seed(1))
TARGETS = 5 * INPUTS.sum(1, keepdim=True)
NORMS = {"max_norm": [0.1, 1.0, 1e9]}


class ClippedTraining:
    """A linear model whose gradients are large at first."""

    def __init__(self, clip: float | None = 1.0, **settings: Any) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05, **settings)
        self.clip = None if clip is None else gradient_clip(self.optimizer, clip)
        self.scaler = torch.amp.GradScaler("cpu", enabled=False)

    def epoch(self, by_hand: float | None = None) -> float:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(INPUTS), TARGETS)
        self.scaler.scale(loss).backward()
        if by_hand is not None:
            self.scaler.unscale_(self.optimizer)
            clip_grad_norm_(self.model.parameters(), by_hand)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "GradScaler"])
def test_it_clips_as_a_loop_would(scaled: bool) -> None:
    by_hook, by_hand, unclipped = ClippedTraining(0.5), ClippedTraining(None), ClippedTraining(None)
    for training in (by_hook, by_hand, unclipped):
        training.scaler = torch.amp.GradScaler("cpu", enabled=scaled, init_scale=1024.0)
    for _ in range(4):
        by_hook.epoch()
        by_hand.epoch(by_hand=0.5)
        unclipped.epoch()
    assert torch.equal(by_hook.model.weight, by_hand.model.weight)
    assert not torch.equal(by_hook.model.weight, unclipped.model.weight)


def test_other_norms() -> None:
    weight = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    gradient_clip(optimizer, 1.0, norm_type=float("inf"))
    weight.grad = torch.tensor([4.0, 2.0])
    optimizer.step()
    assert weight.tolist() == pytest.approx([-1.0, -0.5], abs=1e-5)


def test_a_dry_run_is_the_loop_that_clips_by_hand() -> None:
    plain, dry = ClippedTraining(None), ClippedTraining(1.0)
    for _ in range(6):
        plain.epoch(by_hand=1.0)
    loop = adapt(
        6,
        state=[dry.model, dry.optimizer],
        space=NORMS,
        bind={"max_norm": dry.clip},  # type: ignore[dict-item]
        minimize="loss",
        adapt_every=3,
        try_for=1,
        dry_run=True,
    )
    for epoch in loop:
        epoch.report(loss=dry.epoch())
    assert torch.equal(plain.model.weight, dry.model.weight)


def test_the_laws_hold() -> None:
    def make() -> Any:
        training = ClippedTraining()
        clip: Any = training.clip
        return torch_trainer(
            state=[training.model, training.optimizer],
            train_epoch=lambda values: training.epoch(),
            evaluate=lambda: {"loss": (training.model(INPUTS) - TARGETS).square().mean().item()},
            bind={"max_norm": clip},
        )

    check_trainer(make, NORMS, epochs=1, another_process=False)


def test_a_hook_that_is_gone_is_caught() -> None:
    training = ClippedTraining()
    clip: Any = training.clip
    loop = adapt(4, state=[training.model, training.optimizer], space=NORMS,
                 bind={"max_norm": clip}, minimize="loss", adapt_every=2, try_for=1)  # fmt: skip

    def train() -> None:
        for epoch in loop:
            training.optimizer._optimizer_step_pre_hooks.clear()  # as a loop that resets hooks
            epoch.report(loss=training.epoch())

    with raises(ValueNotInForce):
        train()


def test_its_optimiser_must_be_in_the_state() -> None:
    training = ClippedTraining()
    clip: Any = training.clip
    with raises(SettingsError):
        adapt(4, state=[training.model], space=NORMS, bind={"max_norm": clip}, minimize="loss",
              adapt_every=2, try_for=1)  # fmt: skip


def test_scaled_gradients_of_a_fused_optimiser_are_not_clipped_unseen() -> None:
    training = ClippedTraining(0.5, fused=True)
    training.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with raises(SettingsError):
        training.epoch()
    training = ClippedTraining(0.5, fused=True)
    training.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    training.epoch(by_hand=float("inf"))  # unscales


def test_it_can_be_removed() -> None:
    training = ClippedTraining(1e-9)
    clip: Any = training.clip
    clip.remove()
    training.epoch()
    assert training.optimizer.state[training.model.weight]["exp_avg"].abs().max() > 0.01


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "1", None])
def test_no_norm(value: Any) -> None:
    training = ClippedTraining()
    clip: Any = training.clip
    with raises(SettingsError):
        clip.set(value)
    with raises(SettingsError):
        gradient_clip(training.optimizer, value)
    with raises(SettingsError):
        gradient_clip(training.model, 1.0)  # type: ignore[arg-type]
    assert repr(clip) == "GradientClip(1.0)"
