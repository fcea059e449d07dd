"""Adaptation inside an existing torch loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import dynhp
from dynhp.adapter import Callback
from dynhp.criteria import Criterion
from dynhp.loops import Binding, Loop, Part
from dynhp.loops.everything import named_state
from dynhp.proposers import Proposer
from dynhp.records import Value
from dynhp.selection import Selection
from dynhp.spaces import SpaceLike
from dynhp_torch.parts import read_state, require_whole, torch_generators, torch_part

__all__ = ["adapt"]


def adapt(
    epochs: int,
    *,
    state: Sequence[Any] | Literal["auto"],
    space: SpaceLike,
    criterion: Criterion,
    adapt_every: int,
    try_for: int,
    bind: Mapping[str, Binding] | None = None,
    proposer: Proposer | None = None,
    selection: Selection | None = None,
    keep: Literal["winner", "value"] = "winner",
    randomness: Literal["common", "independent"] | None = None,
    initial: Mapping[str, Value] | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    as_part: Callable[[Any], Part] = torch_part,
) -> Loop:
    """Adapt hyperparameters in a torch loop of your own: ``dynhp.adapt`` that knows torch.

    Args:
        epochs: the epochs of the main line.
        state: all that decides the future: modules, optimisers, schedulers, scalers, generators,
            samplers, loaders, averaged weights. The global generators of torch, numpy and Python
            are always included. ``everything(...)`` of dynhp lists it for you, and ``"auto"`` takes
            it from the names that the code around sees.
        space: the hyperparameters and their values.
        criterion: how tries are judged, as ``lowest("val_loss")``.
        adapt_every: the epochs of a round.
        try_for: the epochs of a try.
        bind: where values live, by name, so that they are set and read back for you; the other
            values are read from the epoch.
        proposer: which candidates a round tries; all of the grid without it.
        selection: which tries go on and which is kept; the best without it.
        keep: keep the winner's state, or its value only.
        randomness: whether all tries of a round meet the same random numbers.
        initial: the values of the first round; without it a bound value that is on the grid.
        seed: seeds what the adapter itself draws.
        callbacks: functions that are given the events of the run.
        as_part: how the state of one object is taken and set.

    >>> import torch
    >>> from dynhp import lowest
    >>> from dynhp_torch import optimizer_param
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.SGD([weight], lr=0.1)
    >>> loop = adapt(6, state=[weight, optimizer], space={"lr": [0.01, 0.1, 0.5]},
    ...              criterion=lowest("loss"), adapt_every=3, try_for=1,
    ...              bind={"lr": optimizer_param(optimizer, "lr")})
    >>> for epoch in loop:
    ...     optimizer.zero_grad()
    ...     loss = weight.square().sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     epoch.report(loss=weight.item() ** 2)
    >>> [round_.candidate["lr"] for round_ in loop.history]
    [0.5, 0.5]
    """
    things = named_state(state)
    require_whole(things, bind)
    listed = isinstance(things, Sequence) and not isinstance(things, str) and len(things)
    return dynhp.adapt(
        epochs,
        state=(*things, *torch_generators()) if listed else things,
        space=space,
        criterion=criterion,
        adapt_every=adapt_every,
        try_for=try_for,
        bind=bind,
        proposer=proposer,
        selection=selection,
        keep=keep,
        randomness=randomness,
        initial=initial,
        seed=seed,
        callbacks=callbacks,
        as_part=as_part,
        read=read_state,
    )
