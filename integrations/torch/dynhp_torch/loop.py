"""Adaptation inside an existing torch loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import dynhp
from dynhp.errors import nearest
from dynhp.loops import Binding, Loop, LoopOptions, Part, with_options
from dynhp.loops.everything import named_state
from dynhp.records import Value
from dynhp.spaces import Axis, SpaceLike
from dynhp_torch.parts import read_state, require_whole, torch_generators, torch_part
from dynhp_torch.settings.space import bound_rate, bound_space, show_true_rates
from dynhp_torch.values.hints import look_at_values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from dynhp.loops.counting import Length

__all__ = ["OptimizerSpaceLike", "adapt"]

_Values: TypeAlias = Axis | Sequence[Value]

OptimizerSpaceLike: TypeAlias = SpaceLike | Mapping[Any, Any]
"""A space, or one in which the settings of an optimiser stand below it as their key."""


@with_options
def adapt(
    epochs: Length | None = None,
    *,
    state: Sequence[Any] | Literal["auto"],
    space: OptimizerSpaceLike | None = None,
    lr: _Values | None = None,
    bind: Mapping[str, Binding] | None = None,
    as_part: Callable[[Any], Part] = torch_part,
    **options: Unpack[LoopOptions],
) -> Loop:
    """Adapt hyperparameters in a torch loop of your own: ``dynhp.adapt`` that knows torch.

    Args:
        epochs: the epochs of the main line: their number, a range to count as it counts, or what
            else the loop goes through.
        state: all that decides the future: modules, optimisers, schedulers, scalers, generators,
            samplers, loaders, averaged weights. The global generators of torch, numpy and Python
            are always included. ``everything(...)`` of dynhp lists it for you, and ``"auto"`` takes
            it from the names that the code around sees.
        space: the hyperparameters and their values. Settings that stand below an optimiser, as in
            ``{optimizer: {"lr": [0.01, 0.1], "weight_decay": [0.0, 0.1]}}``, bind themselves.
        lr: the learning rates to try, for the one optimiser of the state. Where a scheduler of the
            state drives it, a value is the rate that the schedule starts from (its peak, where it
            has one), and all of the schedule is scaled to it. The rate of a preset, as in
            ``policy=recommended("lr")``, binds itself likewise.
        bind: where values live, by name, so that they are set and read back for you; the other
            values are read from the epoch.
        as_part: how the state of one object is taken and set.
        options: all others as in ``dynhp.adapt``: a ``policy`` or its fields, such as ``minimize``,
            ``adapt_every`` and ``try_for``; ``steps``, ``keep_best``, ``callbacks``, ``progress``.

    >>> import torch
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.SGD([weight], lr=0.1)
    >>> loop = adapt(6, state=[weight, optimizer], lr=[0.01, 0.1, 0.5], minimize="loss",
    ...              adapt_every=3, try_for=1)
    >>> for epoch in loop:
    ...     optimizer.zero_grad()
    ...     loss = weight.square().sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     epoch.report(loss=weight.item() ** 2)
    >>> [round_.candidate["lr"] for round_ in loop.history]
    [0.5, 0.5]
    """
    for name in options:
        if name not in LoopOptions.__annotations__:
            raise TypeError(
                f"adapt() got an unexpected keyword argument {name!r}"
                f"{nearest(name, [*LoopOptions.__annotations__, 'lr', 'space', 'bind'])}. Settings "
                f"of an optimiser stand below it: space={{optimizer: {{{name!r}: [...]}}}}"
            )
    things = named_state(state)
    policy = options.get("policy")
    if policy is not None and space is None and lr is None:
        named, bound = None, bound_rate(getattr(policy, "space", None), things, bind)
    else:
        named, bound = bound_space(space, lr, things, bind)
    require_whole(things, bound)
    look_at_values(bound, things)
    loop = dynhp.adapt(
        epochs,
        state=(*things, *torch_generators()) if things else things,
        space=named,
        bind=bound,
        as_part=as_part,
        read=read_state,
        **options,
    )
    show_true_rates(bound, things)
    return loop
