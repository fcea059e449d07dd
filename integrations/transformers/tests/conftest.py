"""A small model with what people give to a trainer, and a training whose traces are recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()

INPUTS = torch.randn(46, 4, generator=torch.Generator().manual_seed(0))
LABELS = (INPUTS[:, 0] * INPUTS[:, 1] > 0).long()
CLOCK = ("_runtime", "_per_second", "_time")


class Rows(Dataset):  # type: ignore[type-arg]
    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": INPUTS[self.start + index], "labels": LABELS[self.start + index]}


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
        self.smoothing = 0.0

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> dict[str, Any]:
        logits = self.net(x)
        if labels is None:
            return {"logits": logits}
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=self.smoothing)
        return {"loss": loss, "logits": logits}


class TrainWatcher(TrainerCallback):
    """Counts and records, as callbacks of users do."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.seen.append(("begin", state.global_step, state.epoch))

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any, **_: Any) -> None:
        self.seen.append((state.global_step, state.epoch, metrics["eval_loss"]))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.seen.append(state.global_step)


def timeless(logs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in logs.items() if not name.endswith(CLOCK)}


def accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def train(
    folder: Path,
    *callbacks: Any,
    resume: Any = None,
    optimizers: Any = None,
    model: Any = Tiny,
    **options: Any,
) -> Any:
    """Train, and give the trainer; ``trainer.watcher`` saw what a callback sees."""
    settings: dict[str, Any] = {
        "num_train_epochs": 6,
        "per_device_train_batch_size": 6,
        "learning_rate": 0.03,
        "eval_strategy": "epoch",
        "save_strategy": "no",
        "logging_strategy": "epoch",
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 0,
        **options,
    }
    transformers.set_seed(0)
    made = model()
    chosen = (None, None) if optimizers is None else optimizers(made)
    arguments = TrainingArguments(str(folder / "out"), **settings)
    trainer: Any = Trainer(
        made,
        arguments,
        train_dataset=Rows(0, 30),
        eval_dataset=Rows(30, 46),
        compute_metrics=accuracy,
        optimizers=chosen,
    )
    trainer.watcher = TrainWatcher()
    for callback in (*callbacks, trainer.watcher):
        trainer.add_callback(callback)
    trainer.pop_callback(transformers.PrinterCallback)
    trainer.output = trainer.train(resume_from_checkpoint=resume and str(resume))
    return trainer


def plain(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items() if not callable(value)}
    if isinstance(state, list | tuple):
        return [plain(value) for value in state if not callable(value)]
    return state


def traces(trainer: Any) -> dict[str, Any]:
    """All that a training left behind, as plain data that can be compared bit for bit."""
    state, best = trainer.state, trainer.state.best_model_checkpoint
    return {
        "weights": plain(trainer.model.state_dict()),
        "optimizer": plain(trainer.optimizer.state_dict()),
        "scheduler": plain(trainer.lr_scheduler.state_dict()),
        "counters": (state.global_step, state.epoch, state.max_steps, state.num_train_epochs),
        "flos": state.total_flos,
        "loss": trainer.output.training_loss,
        "log": [timeless(logs) for logs in state.log_history],
        "best": (state.best_metric, state.best_global_step, best and Path(best).name),
        "watcher": trainer.watcher.seen,
        "generator": torch.random.get_rng_state().tolist(),
    }


def checkpoints(folder: Path) -> dict[str, Any]:
    """The checkpoints of a training by name, each without times and without what Adapt added."""
    files: dict[str, Any] = {}
    for path in sorted((folder / "out").glob("checkpoint-*")):
        state = json.loads((path / "trainer_state.json").read_text())
        state["log_history"] = [timeless(logs) for logs in state["log_history"]]
        best = state["best_model_checkpoint"]
        state["best_model_checkpoint"] = best and Path(best).relative_to(folder).as_posix()
        files[path.name] = {
            "files": sorted(each.name for each in path.iterdir() if each.name != "dynhp.json"),
            "weights": plain(load_file(path / "model.safetensors")),
            "optimizer": plain(torch.load(path / "optimizer.pt")),
            "state": state,
        }
    return files


class TrainKit:
    """What the tests use, so that they need not import this file."""

    Tiny, Watcher = Tiny, TrainWatcher
    train, traces = staticmethod(train), staticmethod(traces)
    checkpoints = staticmethod(checkpoints)


@pytest.fixture(scope="session")
def kit() -> type[TrainKit]:
    return TrainKit
