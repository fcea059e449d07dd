"""A small ready trainer: every epoch of it is a training of a Trainer of transformers."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PrinterCallback, TrainingArguments
from transformers import Trainer as HubTrainer

from dynhp import Ordered, Trainer
from dynhp.loops.parts import Parts, global_generators
from dynhp.records import Value
from dynhp_torch import schedule_scale, torch_trainer
from dynhp_torch.parts import torch_generators

__all__ = ["example", "make"]


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"lr_scale": 3.0})
    >>> list(trainer.metrics())
    ['eval_loss']
    """
    return make, {"lr_scale": Ordered(0.3, 3.0)}


class _Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 1))

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        output = self.net(x)
        return {"loss": nn.functional.mse_loss(output, labels), "logits": output}


@contextlib.contextmanager
def _own_numbers() -> Iterator[None]:
    """Put back the global generators, which a Trainer seeds unasked when it is made."""
    generators = Parts((*global_generators(), *torch_generators()))
    before = generators.get_state()
    try:
        yield
    finally:
        generators.set_state(before)


def make() -> Trainer:
    """Dropout, momentum, a cosine schedule, shuffled batches, and the Trainer's own loop.

    >>> make().hyperparameters()
    {'lr_scale': 1.0}
    """
    with _own_numbers():
        torch.manual_seed(0)
        inputs = torch.randn(24, 4)
        model: Any = _Tiny()
        rows: Any = [{"x": x, "labels": x[:1].sin()} for x in inputs]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scheduler: Any = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
        trainer: Any = HubTrainer(
            model,
            TrainingArguments(
                tempfile.gettempdir(),
                num_train_epochs=1,
                per_device_train_batch_size=8,
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
            ),
            train_dataset=rows[:16],
            optimizers=(optimizer, scheduler),
        )
        trainer.pop_callback(PrinterCallback)
        # Every training would collect all garbage first, which takes longer than the training.
        vars(trainer.accelerator)["free_memory"] = lambda *things: things

    def train_epoch(values: Mapping[str, Value]) -> None:
        trainer.train()

    @torch.no_grad()
    def measure() -> dict[str, float]:
        held_out = inputs[16:]
        return {"eval_loss": model.eval()(held_out, held_out[:, :1].sin())["loss"].item()}

    return torch_trainer(
        state=[model, optimizer, scheduler],
        train_epoch=train_epoch,
        evaluate=measure,
        bind={"lr_scale": schedule_scale(optimizer)},
    )
