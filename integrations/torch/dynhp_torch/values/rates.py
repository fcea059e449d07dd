"""The rate of a torch optimiser: a policy that searches for it, and a schedule that ends at 0."""

from __future__ import annotations

from functools import partial
from numbers import Integral

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from dynhp import Policy, recommended
from dynhp.errors import SettingsError, advise, shown
from dynhp.planning.presets import Ending
from dynhp.tails import wsd
from dynhp.tails.schedules import Shape

__all__ = ["recommended_lr", "wsd_schedule"]


def recommended_lr(
    *,
    default: float | None = None,
    epochs: int | None = None,
    loss: str | None = None,
    val_loss: str = "val_loss",
    maximize: str | None = None,
    ending: Ending | None = "schedule",
    schedule: Shape = "wsd",
) -> Policy:
    """Search for the rate of the one optimiser before the run: ``recommended("lr")`` of dynhp.

    Args:
        default: where to start; the optimiser's own rate where it is left out.
        epochs: the planned epochs (or steps); those of the loop where it is left out.
        loss: the training loss that the loop reports; "train_loss" where it is left out.
        val_loss: a loss on held-out data, which has a say where it is reported.
        maximize: in place of both, a metric of which more is better.
        ending: "schedule", "average" or None; see ``recommended``.
        schedule: "wsd", "cosine" or "linear", if no scheduler of the state drives the rate.

    >>> recommended_lr(default=0.1).space
    Space(lr=Around(0.1, anchor=1.0))
    """
    return recommended(
        "learning_rate",
        name="lr",
        default=default,
        epochs=epochs,
        loss=loss,
        val_loss=val_loss,
        maximize=maximize,
        ending=ending,
        schedule=schedule,
    )


def wsd_schedule(
    optimizer: Optimizer, steps: int, *, warm_up: float = 0.02, decay_from: float = 0.7
) -> LambdaLR:
    """Warm up, stay, and decay to zero, as torch's ``LambdaLR``: call its ``step()`` every step.

    Args:
        optimizer: whose rate is scheduled; what it has now is the height.
        steps: how often ``step()`` is called in the run.
        warm_up: the share of the run in which the rate rises.
        decay_from: how far the run is when it begins to fall.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> schedule = wsd_schedule(optimizer, 100)
    >>> rates = []
    >>> for _ in range(100):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step(); schedule.step()
    >>> rates[:3], rates[50], rates[-2:]
    ([0.025, 0.075, 0.1], 0.1, [0.005, 0.0017])
    """
    if not isinstance(optimizer, Optimizer):
        raise SettingsError(
            f"wsd_schedule: an optimizer of torch is needed, got {shown(optimizer)}; give the one "
            "whose step() trains the model"
        )
    if not isinstance(steps, Integral) or isinstance(steps, bool) or steps < 1:
        raise SettingsError(
            f"wsd_schedule: steps must be a whole number above 0, got {shown(steps)}; count the "
            "calls of step() in the whole run"
        )
    wsd(0.0, warm_up=warm_up, decay_from=decay_from)  # refuses what cannot work
    return LambdaLR(optimizer, partial(_factor, int(steps), warm_up, decay_from))


def _factor(steps: int, warm_up: float, decay_from: float, step: int) -> float:
    if step > steps + 1:  # one too many is made by those who step before they train
        advise(
            f"wsd_schedule(optimizer, steps={steps}): step() has been called {step} times, and the "
            f"rate is 0 from {steps} on, so nothing is learned; steps is how often it is called in "
            "the whole run: the batches of an epoch times the epochs where that is every batch",
            about=("wsd_schedule", steps),
        )
    return wsd((step + 0.5) / steps, warm_up=warm_up, decay_from=decay_from)
