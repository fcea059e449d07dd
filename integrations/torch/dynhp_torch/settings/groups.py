"""One rate for the groups of an optimiser that have rates of their own: their ratios stay."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from torch.optim import Optimizer

from dynhp.errors import ValueNotInForce
from dynhp.loops import Binding
from dynhp.records import Value
from dynhp_torch.settings.param import OptimizerParam, groups_of, setting_of

__all__ = ["RateOfGroups", "rate_of_groups"]


class RateOfGroups:
    """The highest rate of all groups; the others stay the same parts of it.

    >>> import torch
    >>> weights = [torch.ones(1, requires_grad=True) for _ in range(2)]
    >>> groups = [{"params": weights[:1], "lr": 0.01}, {"params": weights[1:], "lr": 0.1}]
    >>> optimizer = torch.optim.SGD(groups)
    >>> rate = RateOfGroups(optimizer); rate.get()
    0.1
    >>> rate.set(0.3); [round(group["lr"], 6) for group in optimizer.param_groups]
    [0.03, 0.3]
    """

    kind: ClassVar[str] = "learning_rate"

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        rates = _rates(optimizer)
        self._highest = rates.index(max(rates))
        self._parts = [rate / max(rates) for rate in rates]

    @property
    def driven_by(self) -> str | None:
        """The optimiser, if it averages by itself, as Schedule-Free does: its rate must stay."""
        return OptimizerParam(self.optimizer, "lr", None).driven_by

    def set(self, value: Value) -> None:
        """Write the value into the group with the highest rate, and its parts into the others."""
        for place, part in enumerate(self._parts):
            inner = OptimizerParam(self.optimizer, "lr", (place,))
            inner.set(value * part if isinstance(value, int | float) and part != 1 else value)

    def get(self) -> Value:
        """The highest rate, or an error if a group no longer has its part of it."""
        rates = _rates(self.optimizer)
        rate: float = rates[self._highest]
        wanted = [rate * part for part in self._parts]
        if not all(map(_close, rates, wanted)):
            raise ValueNotInForce(
                f"the rates of the groups of {type(self.optimizer).__name__} should keep their "
                f"ratios, {', '.join(f'{each:.6g}' for each in wanted)}, but they are "
                f"{', '.join(f'{each:.6g}' for each in rates)}; let nothing else write them while "
                "adapt(...) runs, or list the scheduler that does in the state"
            )
        return rate


def rate_of_groups(optimizer: Optimizer) -> Binding:
    """Bind to the rate of all groups, whether it is one or each has its own.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> rate_of_groups(optimizer).get()
    0.1
    """
    rates = _rates(optimizer)
    if len(set(rates)) == 1 or max(rates) <= 0:
        return OptimizerParam(optimizer, "lr", None)
    return RateOfGroups(optimizer)


def _rates(optimizer: Optimizer) -> list[Any]:
    return [setting_of(group, "lr") for _, group in groups_of(optimizer, None)]


def _close(rate: float, wanted: float) -> bool:
    return math.isclose(rate, wanted, rel_tol=1e-5)  # a tensor may hold 32 bits
