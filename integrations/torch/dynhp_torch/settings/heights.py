"""How high a schedule is: the rate of each group that stands for the schedule as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.optim import Optimizer

from dynhp_torch.settings.param import setting_of

__all__ = ["Heights"]


class Heights:
    """The peak of each group's schedule where it has one, else its start.

    Attributes:
        peaks: the peaks of all groups, where only the scheduler knows them (``CyclicLR``).

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> heights = Heights(optimizer)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01)
    >>> optimizer.param_groups[0]["lr"], heights.of(0)
    (0.001, (0.1, 'initial'))
    """

    def __init__(self, optimizer: Optimizer, scheduler: Any = None) -> None:
        self._optimizer = optimizer
        self.peaks: Sequence[Any] | None = getattr(scheduler, "max_lrs", None)
        groups = optimizer.param_groups  # what they have now stands where no scheduler left more
        self._before = [setting_of(group, "lr") if "lr" in group else 0.0 for group in groups]

    def of(self, place: int) -> tuple[Any, str]:
        """The height of the group at this place, and what it is: "peak" or "initial"."""
        group = self._optimizer.param_groups[place]
        if self.peaks is not None and place < len(self.peaks):
            return float(self.peaks[place]), "peak"
        if "max_lr" in group:
            return setting_of(group, "max_lr"), "peak"
        if "initial_lr" in group or place >= len(self._before):  # a group that was added later
            return setting_of(group, "initial_lr" if "initial_lr" in group else "lr"), "initial"
        return self._before[place], "initial"
