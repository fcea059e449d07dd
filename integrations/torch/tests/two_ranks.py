"""What each of two ranks does, as a script: ``two_ranks.py RANK FOLDER``; it prints JSON."""

from __future__ import annotations

import datetime
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dynhp import DynamicGridAdapter, lowest, trainer_from
from dynhp.errors import ContractError
from dynhp.testing import NoisyQuadratic
from dynhp.testing.toys.fragile import Fragile
from dynhp_torch import optimizer_param, torch_trainer
from dynhp_torch.distributed import Distributed, together

torch.set_num_threads(1)
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(
    "gloo",
    init_method=f"file://{folder}/meet",
    rank=rank,
    world_size=2,
    timeout=datetime.timedelta(days=1),
)
RATES = [0.02, 0.05, 0.1, 0.3]


def run(trainer: Any, rates: Any = RATES, **settings: Any) -> dict[str, Any]:
    adapter = DynamicGridAdapter(
        trainer, {"lr": rates}, criterion=lowest("loss"), adapt_every=4, try_for=2, **settings
    )
    try:
        adapter.run(12)
        raised = None
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    return {
        "raised": raised,
        "chosen": [round_.candidate["lr"] for round_ in adapter.history],
        "tries": [
            [try_.series, try_.error, try_.epochs]
            for round_ in adapter.history
            for try_ in round_.tries
        ],
    }


def noisy() -> NoisyQuadratic:
    return NoisyQuadratic(seed=rank, noise=2.0, dimensions=2)


def fragile(failure: Any) -> Fragile:  # on rank 1 only
    return Fragile(noisy, bad=[0.1] if rank else [], failure=failure)


def model() -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(rank)
    x = torch.randn(32, 3, generator=generator)
    y = x @ torch.tensor([1.0, -2.0, 3.0]) + rank
    linear = torch.nn.Linear(3, 1, bias=False)
    torch.nn.init.zeros_(linear.weight)
    parallel = DistributedDataParallel(linear)

    def train_k(k: int, values: Any) -> None:
        for _ in range(k):
            with together():
                if rank and values["lr"] == 0.05:
                    raise ValueError("a bad batch")
                loss = ((parallel(x)[:, 0] - y) ** 2).mean()
            linear.weight.grad = None
            loss.backward()
            linear.weight.data -= values["lr"] * linear.weight.grad

    def metrics() -> dict[str, float]:
        with torch.no_grad():
            return {"loss": float(((linear(x)[:, 0] - y) ** 2).mean())}

    trainer = trainer_from(
        get_state=lambda: linear.weight.detach().clone(),
        set_state=lambda state: linear.weight.data.copy_(state),
        train_k=train_k,
        metrics=metrics,
    )
    return trainer, linear


results = {"alone": run(noisy())}
results["together"] = run(Distributed(noisy()))
results["max"] = run(Distributed(noisy(), reduce="max"))
results["seeds"] = run(Distributed(noisy()), randomness="independent")
results["raises"] = run(Distributed(fragile("raise")))
results["nan"] = run(Distributed(fragile("nan"), reduce="min"))
results["disagree"] = run(Distributed(noisy()), rates=RATES[rank:])
trainer, linear = model()
results["model"] = run(Distributed(trainer))
results["weights"] = linear.weight.tolist()


def normed() -> tuple[Any, Any]:
    """A model with BatchNorm, whose buffers DistributedDataParallel broadcasts in ``forward``."""
    generator = torch.Generator().manual_seed(rank)
    x = torch.randn(32, 3, generator=generator)
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    parallel = DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)

    def train_epoch(values: Any) -> None:
        with together():  # only what may raise and calls no collective
            if rank and values["lr"] == 0.05:
                raise ValueError("a bad batch")
        optimizer.zero_grad()
        loss = (parallel(x) - 1).square().mean()
        loss.backward()
        optimizer.step()

    def evaluate() -> dict[str, float]:
        with torch.no_grad():  # the module itself: no broadcast that a failed rank could miss
            return {"loss": float((plain.train()(x) - 1).square().mean())}

    trainer = torch_trainer(
        state=[plain, optimizer],
        train_epoch=train_epoch,
        evaluate=evaluate,
        bind={"lr": optimizer_param(optimizer, "lr")},
    )
    return trainer, plain


trainer, plain = normed()
results["normed"] = run(Distributed(trainer))
results["normed weights"] = plain[0].weight.tolist()


class LiesOnRankOne(NoisyQuadratic):
    def hyperparameters(self) -> dict[str, Any]:
        return {"lr": 7.0} if rank and self.steps else super().hyperparameters()


results["lies"] = run(Distributed(LiesOnRankOne()))
trainer = noisy()
state = Distributed(trainer)
state.reseed(5)
results["drawn"] = trainer.rng.random()
unequal = trainer_from(
    get_state=lambda: 0,
    set_state=print,
    train_k=print,
    metrics=lambda: {"loss": 0.0, f"rank{rank}": 1.0},
)
for name, call in {
    "unequal": Distributed(unequal).metrics,
    "apart": state.metrics if rank else lambda: state.train_k(1, {"lr": 0.1}),
}.items():
    try:
        call()
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"
dist.barrier()
if rank == 0:
    print(json.dumps(results), flush=True)
    os._exit(0)  # without notice to the other
try:
    state.metrics()
except ContractError as error:
    results["lost"] = str(error)
print(json.dumps(results))
