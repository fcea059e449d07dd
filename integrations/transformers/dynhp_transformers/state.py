"""All that decides the future of a training under way, as parts of a state."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.scheduler import AcceleratedScheduler
from torch.optim import Optimizer

from dynhp.loops import Part
from dynhp.loops.parts import stateful_part
from dynhp_torch.parts import attributes_part, data_part
from dynhp_transformers.effects import is_reporter

__all__ = ["loader_numbers", "plain_optimizer", "plain_scheduler", "train_state"]


def plain_optimizer(trainer: Any) -> Optimizer:
    """The optimiser itself: ``AcceleratedOptimizer`` around it has neither groups nor hooks."""
    optimizer = trainer.optimizer
    while isinstance(optimizer, AcceleratedOptimizer):
        optimizer = optimizer.optimizer
    return optimizer  # type: ignore[no-any-return]


def plain_scheduler(trainer: Any) -> Any:
    """The scheduler itself, without the wrapper of accelerate."""
    scheduler = trainer.lr_scheduler
    return scheduler.scheduler if isinstance(scheduler, AcceleratedScheduler) else scheduler


def train_state(trainer: Any, loader: Any, hidden: Any) -> list[Any]:
    """The state of a training, as a list for ``dynhp_torch.adapt``.

    Args:
        trainer: the trainer, in ``train``, with its optimiser and scheduler made.
        loader: the loader of the training data, as accelerate has prepared it.
        hidden: the callback that adapts, whose own attributes are no part of the state.
    """
    model, handler = trainer.model, trainer.callback_handler
    return [
        model,
        plain_optimizer(trainer),
        stateful_part(plain_scheduler(trainer)),
        *([stateful_part(trainer.accelerator.scaler)] if trainer.accelerator.scaler else []),
        attributes_part(lambda: model.modules(), name="attributes of the model"),
        attributes_part(lambda: _wrappers(trainer), name="flags of accelerate", data=False),
        # Its wrapper has a state_dict that only works for a stateful loader inside.
        data_part(getattr(loader, "base_dataloader", loader)),
        loader_numbers(loader),
        attributes_part(
            # Reporters are not called in tries, but right after, with what was held back.
            lambda: [
                each for each in handler.callbacks if each is not hidden and not is_reporter(each)
            ],
            name="attributes of the callbacks",
        ),
        Part(
            get=lambda: _progress(trainer),
            set=lambda state: _set_progress(trainer, state),
            name="the trainer's progress",
        ),
        attributes_part(lambda: [trainer.state, trainer.control], name="state and control"),
        attributes_part(lambda: [trainer], name="numbers of the trainer", data=False),
    ]


def loader_numbers(loader: Any) -> Part:
    """What a loader, its samplers and its dataset count."""
    return attributes_part(lambda: _inside(loader), name="numbers of the loader", data=False)


def _wrappers(trainer: Any) -> list[Any]:
    pair = (trainer.optimizer, trainer.lr_scheduler)
    return [each for each in pair if isinstance(each, AcceleratedOptimizer | AcceleratedScheduler)]


def _inside(loader: Any) -> Iterator[Any]:
    """The loader, its samplers and its dataset: each may count its own epochs."""
    ahead: list[Any] = [loader]
    seen: list[Any] = []
    for owner in ahead:
        if hasattr(owner, "__dict__") and not any(owner is each for each in seen):
            seen.append(owner)
            names = ("base_dataloader", "batch_sampler", "sampler", "dataset")
            ahead += [vars(owner).get(name) for name in names]
    return iter(seen)


def _progress(trainer: Any) -> dict[str, Any]:
    """What the self-check compares: counters, and the loss that is being summed up."""
    state = trainer.state
    return {
        "global_step": state.global_step,
        "epoch": state.epoch,
        "loss": trainer._tr_loss.clone(),
        "control": copy.copy(vars(trainer.control)),
    }


@torch.no_grad()
def _set_progress(trainer: Any, state: dict[str, Any]) -> None:
    trainer.state.global_step, trainer.state.epoch = state["global_step"], state["epoch"]
    trainer._tr_loss.copy_(state["loss"])  # in place: the loop of the trainer adds to it
    vars(trainer.control).update(state["control"])
