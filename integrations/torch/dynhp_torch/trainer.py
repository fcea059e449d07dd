"""A trainer made of a torch training epoch and an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn

from dynhp import Trainer, trainer_from
from dynhp.errors import MetricError, SettingsError, nearest
from dynhp.loops import Binding, Part, bindings
from dynhp.loops.parts import Parts, global_generators, parts_of
from dynhp.read_back import plain_metrics
from dynhp.records import Candidate, Metrics, Value
from dynhp_torch.parts import modes_part, require_whole, torch_generators, torch_part
from dynhp_torch.values.hints import look_at_values

__all__ = ["torch_trainer"]


def torch_trainer(
    *,
    state: Sequence[Any],
    train_epoch: Callable[[Mapping[str, Value]], object],
    evaluate: Callable[[], Mapping[str, float]],
    bind: Mapping[str, Binding] | None = None,
    reads: Sequence[str] = (),
    as_part: Callable[[Any], Part] = torch_part,
) -> Trainer:
    """Make a trainer of ``train_epoch(values)`` and ``evaluate()``, with snapshots of ``state``.

    Args:
        state: all that decides the future, as in ``dynhp_torch.adapt``.
        train_epoch: trains one epoch; it is given the values by name.
        evaluate: measures, and gives names and numbers. Random generators and train/eval modes are
            put back after it.
        bind: where values live, by name: set before every epoch, read back before and after it.
        reads: the names of the values that ``train_epoch`` takes from its argument; a name that is
            neither here nor in ``bind`` is refused.
        as_part: how the state of one object is taken and set.

    >>> import torch
    >>> from dynhp_torch import optimizer_param
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.SGD([weight], lr=0.1)
    >>> def train_epoch(values):
    ...     optimizer.zero_grad()
    ...     weight.square().sum().backward()
    ...     optimizer.step()
    >>> trainer = torch_trainer(
    ...     state=[weight, optimizer], train_epoch=train_epoch,
    ...     evaluate=lambda: {"loss": weight.item() ** 2},
    ...     bind={"lr": optimizer_param(optimizer, "lr")},
    ... )
    >>> trainer.train_k(2, {"lr": 0.5}); trainer.metrics(), trainer.hyperparameters()
    ({'loss': 0.0}, {'lr': 0.5})
    """
    for role, function in (("train_epoch", train_epoch), ("evaluate", evaluate)):
        if not callable(function):
            raise SettingsError(f"torch_trainer: {role} must be a function, got {function!r}")
    require_whole(state, bind)
    bound = bindings.require_bindings(bind)
    look_at_values(bound, state)
    known = _names(bound, reads)
    values = (Part(get=binding.get, set=binding.set) for binding in bound.values())
    generators = (*torch_generators(), *global_generators())
    whole = Parts((*parts_of(state, as_part), *values, *generators))
    unmoved = Parts(  # by an evaluation
        [part for part in whole.parts if part.reseed is not None]
        + [modes_part(thing) for thing in state if isinstance(thing, nn.Module)]
    )

    def train_k(k: int, hyperparameters: Mapping[str, Value]) -> None:
        candidate = Candidate(hyperparameters)
        for name in candidate:
            if name not in known:
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, known)}")
        bound_here = {name: binding for name, binding in bound.items() if name in candidate}
        if not k:
            bindings.apply(bound_here, candidate)  # in force also where no epoch follows
        for _ in range(k):
            bindings.apply(bound_here, candidate)
            train_epoch(candidate)
            bindings.verify(bound_here, candidate, "after the epoch")

    def metrics() -> Metrics:
        before = unmoved.get_state()
        try:
            measured = evaluate()
            if not isinstance(measured, Mapping):
                raise MetricError(
                    f"evaluate() must return a mapping of names to floats, got {measured!r}"
                )
            return plain_metrics(measured)
        finally:
            unmoved.set_state(before)

    return trainer_from(
        get_state=whole.get_state,
        set_state=whole.set_state,
        train_k=train_k,
        metrics=metrics,
        hyperparameters=(lambda: bindings.read(bound)) if bound else None,
        reseed=whole.reseed,
    )


def _names(bound: Mapping[str, Binding], reads: Any) -> tuple[str, ...]:
    if isinstance(reads, str) or not isinstance(reads, Sequence):
        raise SettingsError(f"reads must be a list of names, got {reads!r}")
    if not bound and not reads:
        raise SettingsError("torch_trainer needs hyperparameters: name them in bind or in reads")
    return (*bound, *reads)
