"""A torch loop with triggers: rescued where it breaks, the plain loop to the bit where not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import dynhp_torch
from dynhp import rescue, spent
from dynhp.loops import Loop
from dynhp.triggers import OnPlateau
from dynhp_torch import optimizer_param

ROOT = Path(__file__).resolve().parents[3]


def model_and_optimizer(lr: float) -> tuple[Any, Any]:
    torch.manual_seed(3)
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def train(model: Any, optimizer: Any) -> float:
    x = torch.randn(16, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def run(lr: float, epochs: int = 40, **changes: Any) -> tuple[Any, Loop]:
    model, optimizer = model_and_optimizer(lr)
    loop = dynhp_torch.adapt(
        epochs,
        state=[model, optimizer],
        bind={"lr": optimizer_param(optimizer, "lr")},
        policy=rescue("lr", default=lr, loss="loss", lag=1),
        **changes,
    )
    for epoch in loop:
        with epoch:
            epoch.report(loss=train(model, optimizer))
    return model, loop


def test_a_rate_that_is_too_high_is_rescued() -> None:
    plain, optimizer = model_and_optimizer(30.0)
    losses = [train(plain, optimizer) for _ in range(40)]
    assert not losses[-1] < 1e6
    model, loop = run(30.0)
    assert loop.history[-1].metrics["loss"] < 20
    assert loop.history[-1].candidate["lr"] < 1
    assert spent(loop).abandoned > 0
    assert all(map(torch.isfinite, model.weight.flatten()))


def test_where_nothing_breaks_it_is_the_plain_loop() -> None:
    plain, optimizer = model_and_optimizer(0.01)
    for _ in range(40):
        train(plain, optimizer)
    model, loop = run(0.01, when=OnPlateau("loss", patience=99))
    assert torch.equal(model.weight, plain.weight)
    assert spent(loop).total == 40


def test_the_pages_show_what_the_benchmark_prints() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/plateau.py", "--table"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'integrations/torch'}", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    rescues, plateaus = done.stdout.rstrip("\n").split("\n\n")
    assert f"```text\n{rescues}\n```" in (ROOT / "docs/rescue.md").read_text("utf-8")
    assert f"```text\n{plateaus}\n```" in (ROOT / "docs/plateau.md").read_text("utf-8")
