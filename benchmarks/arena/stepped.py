"""A task of torch as a trainer of dynhp: epochs of steps, a rate, and a factor for each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, Literal, TypeAlias

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from benchmarks.arena.tasks.contract import LearningTask, Measured
from dynhp.errors import SettingsError, nearest
from dynhp_torch import AveragedWeights

__all__ = ["Averaging", "MakeOptimizer", "SteppedTrainer", "usual_optimizer"]

MakeOptimizer = Callable[[Iterable[torch.nn.Parameter], float], torch.optim.Optimizer]
Averaging: TypeAlias = Literal["epoch", "tenth"]


def usual_optimizer(task: LearningTask) -> MakeOptimizer:
    """The optimiser that a task is usually trained with; fused, which is the fastest form."""
    if task.optimizer == "adam":
        return lambda parameters, rate: torch.optim.Adam(parameters, lr=rate, fused=True)
    if task.optimizer == "adamw":
        return lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, fused=True)
    return lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9, fused=True)


class SteppedTrainer:
    """Trains a task of torch with a real optimiser of torch; an epoch is a number of steps.

    Args:
        make: makes the task; the weights are drawn from the seed.
        seed: of the weights and the batches.
        steps: of an epoch.
        factors: what the rate is multiplied with at each step of the run, None for 1; after the
            last one it stays.
        optimizer: what makes another optimiser than the usual one.
        rate: the rate where none is passed to ``train_k``.
        averaged: the weights that are averaged: over an "epoch", to be measured as well, or the
            last "tenth" of the run so far, to be measured as the model.
    """

    kinds: Mapping[str, str] = {"lr": "learning_rate"}

    def __init__(
        self,
        make: Callable[[int], LearningTask],
        *,
        seed: int,
        steps: int,
        factors: Sequence[float] | None = None,
        optimizer: MakeOptimizer | None = None,
        rate: float = 1.0,
        averaged: Averaging | None = None,
    ) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.task = make(seed)
        self._steps, self._factors = steps, factors
        chosen = optimizer or usual_optimizer(self.task)
        self.optimizer: Any = chosen(self.task.model.parameters(), rate)
        self._batches = torch.Generator().manual_seed(seed)
        self._step = 0
        self.rate = rate
        self._loss = math.nan
        self._average: AveragedWeights | None = None
        if averaged == "epoch":
            self._average = AveragedWeights(self.task.model, horizon=max(2, steps))
        elif averaged == "tenth":
            self._average = AveragedWeights(self.task.model, share=0.1)
        self._delivers = averaged == "tenth"

    def get_state(self) -> dict[str, Any]:
        """Copy all that decides the future."""
        world = self.task.world
        state = {
            "model": self.task.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "batches": self._batches.get_state(),
            "world": None if world is None else world[0](),
            "average": None if self._average is None else self._average.average.state_dict(),
        }
        return {**deepcopy(state), "step": self._step, "loss": self._loss}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to a state."""
        self.task.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(deepcopy(state["optimizer"]))
        self._batches.set_state(state["batches"])
        if self._average is not None:
            self._average.average.load_state_dict(state["average"])
        if self.task.world is not None:
            self.task.world[1](deepcopy(state["world"]))
        self._step, self._loss = state["step"], state["loss"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Train ``k`` epochs with this rate, times the factor of each step."""
        known = ["lr", *self.task.settings]
        for name in hyperparameters:
            if name not in known:
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, known)}")
        values = dict(hyperparameters)
        self.rate = float(values.pop("lr", self.rate))
        self.task.settings.update(values)
        if self._factors is None:  # in force also if no step follows
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate
        self._mode("train")
        for _ in range(k):
            if self._is_lost():
                continue
            losses = [self.one_step() for _ in range(self._steps)]
            self._loss = self.task.train_loss(math.fsum(losses) / len(losses))

    @property
    def train_loss(self) -> float:
        """That of the last epoch, nan before it."""
        return self._loss

    def metrics(self) -> dict[str, float]:
        """The training loss of the last epoch, and what validation says now."""
        score, loss = self.measure("validation")
        measured = {"train_loss": self._loss, "val_loss": loss, "val": score}
        if self._average is not None and not self._delivers:
            measured |= self._average.evaluate(
                lambda: {"val_loss": self.measure("validation").loss}
            )
        return measured

    def measure(self, part: Any, *, delivered: bool = True) -> Measured:
        """Measure on held-out data; with the averaged weights, if these are what is delivered."""
        self._mode("eval")
        with self._as_delivered() if delivered else nullcontext():
            self.task.model.eval()
            with torch.no_grad():
                measured = self.task.measure(part)
            self.task.model.train()
        return measured

    def _as_delivered(self) -> AbstractContextManager[Any]:
        if self._average is None or not self._delivers or not self._step:
            return nullcontext()
        return self._average.swapped(batches=self._normalised_on())

    def _normalised_on(self) -> Sequence[torch.Tensor] | None:
        normalised = any(isinstance(each, _BatchNorm) for each in self.task.model.modules())
        return self.task.normalised_on if normalised else None

    def hyperparameters(self) -> dict[str, float]:
        """The rate in force, without the factor of the step."""
        rate = self.rate
        if self._factors is None and self._step:
            rate = self.optimizer.param_groups[0]["lr"]
        return {"lr": rate, **self.task.settings}

    def deliver(self) -> None:
        """Give the model the averaged weights."""
        if self._average is not None:
            self._average.deliver(batches=self._normalised_on())

    def reseed(self, seed: int) -> None:
        """Draw all batches that follow from another seed."""
        self._batches.manual_seed(seed)

    def _is_lost(self) -> bool:
        """Whether the last weights, which all scores depend on, are no numbers any more.

        So they stay, whatever is trained: every loss and every score after it is nan, too.
        """
        if not math.isnan(self._loss):
            return False
        *_, last = self.task.model.parameters()
        return self._step > 0 and bool(last.isnan().all())

    def one_step(self) -> float:
        """Train a step with the rate in force, and give its loss."""
        factor = 1.0
        if self._factors is not None:
            factor = self._factors[min(self._step, len(self._factors) - 1)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        self.optimizer.zero_grad()
        try:
            loss = self.task.batch_loss(self._batches)
            loss.backward()
        except FloatingPointError:
            return math.nan  # an agent that cannot act any more learns nothing
        finally:
            self._step += 1
        self.optimizer.step()
        if self._average is not None:
            self._average.update()
        return float(loss.detach())

    def _mode(self, name: str) -> None:
        """Schedule-Free optimisers have weights to train and weights to use."""
        switch = getattr(self.optimizer, name, None)
        if switch is not None:
            switch()
