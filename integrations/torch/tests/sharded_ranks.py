"""What each of two ranks does with a model that ``fully_shard`` has spread over them.

Run as ``sharded_ranks.py RANK FOLDER``; it prints JSON.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from dynhp import DynamicGridAdapter, lowest
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp_torch import AveragedWeights, Distributed, optimizer_param, torch_trainer
from dynhp_torch.parts import torch_part

torch.set_num_threads(1)
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(
    "gloo",
    init_method=f"file://{folder}/meet",
    rank=rank,
    world_size=2,
    timeout=datetime.timedelta(days=1),
)
mesh = init_device_mesh("cpu", (2,))
alone = init_device_mesh("cpu", (2, 1), mesh_dim_names=("all", "own"))["own"]
RATES, EPOCHS = [0.003, 0.03, 0.3], 12


class ShardedTraining:
    """A small model, of which no layer divides evenly by two, its data and its optimiser."""

    def __init__(self, mesh: Any = mesh) -> None:
        torch.manual_seed(0)  # the same weights on both ranks
        self.model = torch.nn.Sequential(
            torch.nn.Linear(5, 7),
            torch.nn.BatchNorm1d(7),
            torch.nn.Dropout(),
            torch.nn.Linear(7, 1),
        )
        fully_shard(self.model[0], mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=RATES[0])
        generator = torch.Generator().manual_seed(rank)  # each rank has data of its own
        self.x = torch.randn(32, 5, generator=generator)
        self.y = self.x.sum(1, keepdim=True)
        torch.manual_seed(rank)

    def epoch(self, values: Any = None) -> None:
        self.model.train()
        self.optimizer.zero_grad()
        F.mse_loss(self.model(self.x), self.y).backward()
        self.optimizer.step()

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        self.model.eval()  # leaves the parameters of the root whole, as FSDP2 does
        return {"loss": F.mse_loss(self.model(self.x), self.y).item()}

    def trainer(self) -> Any:
        return Distributed(
            torch_trainer(
                state=[self.model, self.optimizer],
                train_epoch=self.epoch,
                evaluate=self.measure,
                bind={"lr": optimizer_param(self.optimizer, "lr")},
            )
        )

    def adapter(self, **settings: Any) -> DynamicGridAdapter:
        return DynamicGridAdapter(
            self.trainer(),
            {"lr": RATES},
            criterion=lowest("loss"),
            adapt_every=4,
            try_for=2,
            **settings,
        )

    def whole(self) -> Any:
        """All weights and all memory of the optimiser, as torch itself gathers them."""
        options = StateDictOptions(full_state_dict=True)
        model, optimizer = get_state_dict(self.model, self.optimizer, options=options)
        kept = optimizer["state"]
        return {
            "weights": {name: value.tolist() for name, value in model.items()},
            "optimizer": {
                f"{name}.{key}": value.tolist()
                for name, memory in kept.items()
                for key, value in memory.items()
            },
            "drawn": torch.rand(2).tolist(),
        }


def plain(rates: list[float]) -> Any:
    training = ShardedTraining()
    for rate in rates:
        training.optimizer.param_groups[0]["lr"] = rate
        training.epoch()
        training.measure()
    return training.whole()


def run(training: ShardedTraining, **settings: Any) -> Any:
    adapter = training.adapter(**settings)
    history = adapter.run(EPOCHS)
    return {"chosen": [round_.candidate["lr"] for round_ in history], **training.whole()}


def raised(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def resumed() -> Any:
    """Half of the run with one model, the rest with another that takes over its checkpoint."""
    saved = f"{folder}/rank{rank}"
    run_with_checkpoints(ShardedTraining().adapter(), EPOCHS // 3, checkpoint=saved)
    training = ShardedTraining()
    run_with_checkpoints(training.adapter(), EPOCHS, checkpoint=saved)
    return training.whole()


shards = torch_part(ShardedTraining().model).get()
layers = (torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7), torch.nn.Dropout())
whole = torch.nn.Sequential(*layers, torch.nn.Linear(7, 1))
results = {
    "plain": plain([RATES[0]] * EPOCHS),
    "dry": run(ShardedTraining(), dry_run=True, check="every"),
    "adapted": (adapted := run(ShardedTraining())),
    "replayed": plain([rate for rate in adapted["chosen"] for _ in range(4)]),
    "resumed": resumed(),
    "other spread": raised(lambda: torch_part(whole).set(shards)),
    "smaller": raised(lambda: torch_part(ShardedTraining(alone).model).set(shards)),
    "averaged": raised(lambda: AveragedWeights(ShardedTraining().model, horizon=2)),
}
dist.barrier()
print(json.dumps(results), flush=True)
os._exit(0)  # the groups of the meshes need no farewell
