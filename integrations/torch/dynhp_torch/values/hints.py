"""What can go wrong unseen with the values of a torch loop, said before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from dynhp.errors import advise
from dynhp.loops import Binding
from dynhp.loops.bindings import Attribute
from dynhp.selfcheck.reach import in_reach, loop_names
from dynhp_torch.values.augmentation import require_no_copies
from dynhp_torch.values.batches import BatchSize

__all__ = ["look_at_values"]

_LENGTHS = ("total_steps", "T_max", "T_0", "step_size", "total_iters")


def look_at_values(bind: Mapping[str, Binding] | None, state: Sequence[Any]) -> None:
    """Refuse values of which worker processes keep an old copy, and give hints about others.

    >>> look_at_values({}, [])
    """
    if not bind or not isinstance(bind, Mapping):
        return
    roots = any(getattr(binding, "root", None) is not None for binding in bind.values())
    if roots:
        reached = in_reach(loop_names()).values()
        require_no_copies(bind, [each for each in reached if isinstance(each, DataLoader)])
    for name, binding in bind.items():
        if isinstance(binding, BatchSize):
            _about_schedules(name, binding, state)
        elif isinstance(binding, Attribute) and _is_compiled(binding.root, state):
            advise(
                f"{name}: the model is compiled, and compiled again for every new value of "
                f"{binding.path!r}; hold it in a buffer, as in self.register_buffer('p', "
                "torch.tensor(0.1)), and bind it with tensor_value(model, 'p')"
            )


def _about_schedules(name: str, binding: BatchSize, state: Sequence[Any]) -> None:
    try:
        batches = len(binding.loader)
    except TypeError:  # an iterable dataset need not know its length
        return
    for scheduler in state:
        if isinstance(scheduler, LRScheduler):
            for length, steps in _lengths(scheduler):
                if batches > 1 and steps % batches == 0:
                    advise(
                        f"{name}: {type(scheduler).__name__}({length}={steps}) looks as if it "
                        f"counted batches, {batches} an epoch, which change with the batch size: "
                        "it would come to its end early or late. Let it step once an epoch"
                    )


def _lengths(scheduler: LRScheduler) -> Iterator[tuple[str, int]]:
    for length in _LENGTHS:
        steps = getattr(scheduler, length, None)
        if isinstance(steps, int | float) and steps > 0 and steps == int(steps):
            yield length, int(steps)


def _is_compiled(root: Any, state: Sequence[Any]) -> bool:
    """Whether it is a compiled module, or inside of one that the state lists."""
    modules = [each for each in (root, *state) if isinstance(each, nn.Module)]
    compiled = [
        each
        for each in modules
        if hasattr(each, "_orig_mod") or getattr(each, "_compiled_call_impl", None) is not None
    ]
    return any(root is part for each in compiled for part in each.modules())
