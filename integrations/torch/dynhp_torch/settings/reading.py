"""What others read of a rate while a scale is on it: the one that steps are made with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.optim import Optimizer

from dynhp_torch.settings.scale import ScheduleScale, scales_on

__all__ = ["show_scale", "true_rates"]


@contextmanager
def true_rates(optimizers: Iterable[Optimizer]) -> Iterator[None]:
    """Let code that reads the groups see the rates that steps are made with; it must not write.

    >>> import torch
    >>> from dynhp_torch import schedule_scale
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> schedule_scale(optimizer).set(5.0)
    >>> with true_rates([optimizer]): print(optimizer.param_groups[0]["lr"])
    0.5
    """
    scales = [scale for optimizer in optimizers for scale in scales_on(optimizer)]
    try:
        for scale in scales:
            scale.scale()
        yield
    finally:
        for scale in scales:
            scale.unscale()


def show_scale(scale: ScheduleScale, scheduler: Any) -> bool:
    """Let ``scheduler.get_last_lr()`` give scaled rates, as long as there are scales on them.

    Only what is read and never written is changed. In ``param_groups`` a scaled rate could not
    stand: who halves what he finds there would have the factor in it twice. And the class of the
    scheduler is replaced, not its method, because its attributes are its ``state_dict``. Says
    whether it can be done.

    >>> import torch
    >>> from dynhp_torch import schedule_scale
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    >>> scale = schedule_scale(optimizer); scale.set(5.0)
    >>> show_scale(scale, scheduler), scheduler.get_last_lr()
    (True, [0.5])
    >>> scale.remove(); scheduler.get_last_lr()
    [0.1]
    """
    kind: Any = type(scheduler)
    optimizer = scale.optimizer
    if not callable(getattr(kind, "get_last_lr", None)):
        return False
    if not hasattr(kind, "_without_scales"):

        def get_last_lr(self: Any) -> list[Any]:
            return _scaled(list(kind.get_last_lr(self)), optimizer)

        def reduced(self: Any, protocol: Any) -> Any:  # copied and pickled as what it was
            _, _, state, *_ = kind.__reduce_ex__(self, 2)
            return kind.__new__, (kind,), state

        names = {"get_last_lr": get_last_lr, "__reduce_ex__": reduced, "_without_scales": kind}
        try:
            scheduler.__class__ = type(kind.__name__, (kind,), names)
        except TypeError:  # where a class lays out the memory of its objects
            return False
    scale.undo.append(lambda: _show_plain(scheduler))
    return True


def _show_plain(scheduler: Any) -> None:
    scheduler.__class__ = getattr(type(scheduler), "_without_scales", type(scheduler))


def _scaled(rates: list[Any], optimizer: Optimizer) -> list[Any]:
    """The rates of all groups as they are in steps: the same products."""
    for scale in scales_on(optimizer):
        if scale.key == "lr":
            for place in scale.places & set(range(len(rates))):
                rates[place] = scale.basis(place, rates[place]) * scale.factor
    return rates
