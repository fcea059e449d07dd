"""A space by optimisers: their settings bind themselves, under a scheduler as a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from torch.optim import Optimizer

from dynhp.errors import SettingsError, advise, shown
from dynhp.loops import Binding
from dynhp.records import Value
from dynhp.spaces import Around, Space
from dynhp_torch.settings.groups import rate_of_groups
from dynhp_torch.settings.heights import Heights
from dynhp_torch.settings.param import optimizer_param
from dynhp_torch.settings.reading import show_scale
from dynhp_torch.settings.scale import ScheduleScale, schedule_scale

__all__ = ["ScheduledRate", "bound_rate", "bound_space", "setting_binding", "show_true_rates"]

_RATES = ("lr", "learning_rate")


class ScheduledRate:
    """A learning rate that a scheduler drives, given as a rate and put in force as a scale.

    The value ``base`` leaves the schedule as it is; another one multiplies all of it. If groups
    have rates of their own, it is that of the group with the highest, and their ratios stay.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> scale = schedule_scale(optimizer)
    >>> rate = ScheduledRate(scale, 0.1); rate.set(0.3); rate.get(), round(scale.get(), 3)
    (0.3, 3.0)
    """

    kind: ClassVar[str] = "learning_rate"

    def __init__(self, scale: ScheduleScale, base: float, driven_by: str = "a scheduler") -> None:
        self.optimizer = scale.optimizer
        self.driven_by = driven_by
        self.scale = scale
        self._base = base
        self._value: Any = base * cast("float", scale.get())  # where an earlier run has left it

    def set(self, value: Value) -> None:
        """Scale the schedule so that this is its rate."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"lr: a learning rate must be a number, got {shown(value)}")
        self.scale.set(value / self._base)
        self._value = value

    def set_in_tail(self, value: Value) -> None:
        """Make this the rate of the next steps, whatever the schedule says."""
        self.set(value)
        self.scale.set_in_tail(self.scale.factor)

    def get(self) -> Value:
        """The rate, or an error where the optimiser no longer uses its scale."""
        self.scale.get()
        return self._value  # type: ignore[no-any-return]

    def enter(self) -> None:
        """A run begins that sets it."""
        self.scale.enter()

    def leave(self) -> None:
        """The run is over: the factor stays, and the next step under it says so."""
        self.scale.leave()


def bound_space(
    space: Any, lr: Any, state: Any, bind: Mapping[str, Binding] | None
) -> tuple[Any, Mapping[str, Binding] | None]:
    """The space by names, and the bindings of the settings that stand below an optimiser.

    Args:
        space: names and axes; below an optimiser, the names of its settings and their axes.
        lr: the axis of the learning rate of the one optimiser in the state.
        state: what the state lists; a scheduler in it makes a learning rate a scale.
        bind: the bindings that were given by hand.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> bound_space({optimizer: {"weight_decay": [0.0, 0.1]}}, [0.1, 0.3], [optimizer], None)[0]
    {'weight_decay': [0.0, 0.1], 'lr': [0.1, 0.3]}
    """
    if space is None and lr is None:
        raise SettingsError(
            "what is adapted must be said: lr=[0.01, 0.1], space={optimizer: {'lr': [...]}} or "
            "space={'name': [...]}"
        )
    settings = _below_optimizers(space)
    if lr is not None:
        settings.append((_only_optimizer(state), {"lr": lr}))
    if not settings:
        return space, bound_rate(space, state, bind) if _starts_in_force(space) else bind
    names = {key: axis for key, axis in (space or {}).items() if not isinstance(key, Optimizer)}
    bound = dict(bind or {})
    for optimizer, axes in settings:
        for name, axis in axes.items():
            if name in names or name in bound:
                raise SettingsError(
                    f"space: two hyperparameters are called {name!r}; give them names of their own "
                    f"in space={{...}} and bind={{'name': optimizer_param(optimizer, {name!r})}}"
                )
            names[name] = axis
            bound[name] = setting_binding(optimizer, name, state)
    return names, bound


def _starts_in_force(space: Any) -> bool:
    """Whether this is the space of a preset, unpacked, that searches around the rate in force."""
    rates = [space[name] for name in _RATES if name in space] if isinstance(space, Space) else []
    return any(isinstance(axis, Around) for axis in rates)


def bound_rate(
    space: Any, state: Any, bind: Mapping[str, Binding] | None
) -> Mapping[str, Binding] | None:
    """The bindings, with one for the rate of the one optimiser where a policy's space names it.

    A name that was bound by hand stays so. Where the state has no optimiser, or several, the rate
    is read from the epoch.

    >>> import torch
    >>> from dynhp import recommended
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> bound_rate(recommended("learning_rate").space, [optimizer], None)["learning_rate"].get()
    0.1
    """
    optimizers = [thing for thing in _listed(state) if isinstance(thing, Optimizer)]
    given = {} if bind is None else bind
    if len(optimizers) != 1 or not isinstance(space, Space) or not isinstance(given, Mapping):
        return bind  # the core says what is wrong, if anything is
    rates = [name for name in _RATES if name in space]
    if len(rates) != 1 or rates[0] in given:
        return bind
    return {**given, rates[0]: setting_binding(optimizers[0], "lr", state, ratios=True)}


def setting_binding(
    optimizer: Optimizer, name: str, state: Any, *, ratios: bool = False
) -> Binding:
    """Bind to a setting of an optimiser; a rate that a scheduler of the state drives is scaled.

    With ``ratios`` one rate may stand for groups with rates of their own, whose ratios stay: a
    search that begins at the rates in force means them all, and a list of values does not.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> setting_binding(optimizer, "momentum", [optimizer]).get()
    0
    """
    bound = optimizer_param(optimizer, name)
    if name != "lr":
        return bound
    scheduler = _scheduler_of(optimizer, state)
    if scheduler is None:
        if getattr(optimizer.step, "_wrapped_by_lr_sched", False):
            raise SettingsError(
                f"state: a scheduler was made for {type(optimizer).__name__}, but none is in the "
                "state, so its schedule would go on from try to try; list it too"
            )
        return rate_of_groups(optimizer) if ratios else bound
    base, word = _base_rate(optimizer, scheduler, ratios=ratios)
    advise(
        f"lr: {type(scheduler).__name__} drives the learning rate, so values are tried as factors "
        f"on its whole schedule; a value is its {word} rate, and {base!r} leaves it as it is. "
        "The factor is in force during optimizer.step(), and in scheduler.get_last_lr(); "
        "optimizer.param_groups, read at other times, has the schedule without it",
        about=object(),  # each run is another schedule: say it for each
    )
    return ScheduledRate(schedule_scale(optimizer), base, type(scheduler).__name__)


def show_true_rates(bind: Mapping[str, Binding] | None, state: Any) -> None:
    """Let the schedulers of a state say the rates that steps are made with.

    >>> show_true_rates(None, [])
    """
    for binding in bind.values() if isinstance(bind, Mapping) else ():
        scale = binding.scale if isinstance(binding, ScheduledRate) else binding
        if isinstance(scale, ScheduleScale) and scale.key == "lr":
            scheduler = _scheduler_of(scale.optimizer, state)
            if scheduler is not None:
                scale.heights.peaks = getattr(scheduler, "max_lrs", None)
                show_scale(scale, scheduler)


def _below_optimizers(space: Any) -> list[tuple[Optimizer, Mapping[str, Any]]]:
    if not isinstance(space, Mapping):
        return []
    for key, axes in space.items():
        if not isinstance(key, str | Optimizer):
            raise SettingsError(
                f"space: a key is a name or an optimiser, got {shown(key)}; give a value of a "
                "module a name, and bind={'name': attribute(module, 'dropout.p')}"
            )
        if isinstance(key, str) and isinstance(axes, Mapping):
            raise SettingsError(
                f"space: {key!r} must have a list of values, got {shown(axes)}; for settings of an "
                "optimiser its object is the key, not its name: {optimizer: {'lr': [...]}}"
            )
    settings = [(key, axes) for key, axes in space.items() if isinstance(key, Optimizer)]
    for optimizer, axes in settings:
        if not isinstance(axes, Mapping) or not axes:
            raise SettingsError(
                f"space: below {type(optimizer).__name__} stand its settings and their values, as "
                f"in {{optimizer: {{'lr': [0.01, 0.1]}}}}, got {shown(axes)}"
            )
    return settings


def _names(state: Any) -> str:
    """The kinds of things in a state, in a few words."""
    names = [
        f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
        for thing in _listed(state)
    ]
    return shown(", ".join(names)) if names else "nothing"


def _only_optimizer(state: Any) -> Optimizer:
    optimizers = [thing for thing in _listed(state) if isinstance(thing, Optimizer)]
    if len(optimizers) != 1:
        raise SettingsError(
            f"lr= needs one optimiser in the state, got {len(optimizers)} among {_names(state)}; "
            + (
                "say which with space={optimizer: {'lr': [...]}}"
                if optimizers
                else "list the optimiser itself, as in state=[model, optimizer]"
            )
        )
    return optimizers[0]


def _scheduler_of(optimizer: Optimizer, state: Any) -> Any:
    """What in the state has this optimiser and steps: torch's schedulers, or others like them."""
    for thing in _listed(state):
        drives = getattr(thing, "optimizer", None) is optimizer
        if drives and callable(getattr(thing, "step", None)):
            return thing
    return None


def _base_rate(optimizer: Optimizer, scheduler: Any, *, ratios: bool) -> tuple[float, str]:
    """The rate that stands for the schedule as it is: its peak where it has one, or its start."""
    heights = list(map(Heights(optimizer, scheduler).of, range(len(optimizer.param_groups))))
    rates, (base, word) = [rate for rate, _ in heights], heights[0]
    if not any(rates):
        raise SettingsError(
            f"lr: the {word} rate of {type(optimizer).__name__} must be above 0 where a scheduler "
            f"multiplies it, got {', '.join(map(str, rates))}; make the optimiser with the rate to "
            "start from"
        )
    if ratios:
        base = max(rates)
    elif any(rate != base for rate in rates):
        raise SettingsError(
            f"lr: the groups of {type(optimizer).__name__} have the {word} rates "
            f"{', '.join(map(str, rates))}, so no rate stands for all; adapt a factor on them with "
            "space={'scale': [...]} and bind={'scale': schedule_scale(optimizer)}, of dynhp_torch "
            "(in a callback of Lightning bind={'scale': lambda trainer: "
            "schedule_scale(trainer.optimizers[0])}, of transformers with trainer.optimizer)"
        )
    return float(base), word


def _listed(state: Any) -> Sequence[Any]:
    return state if isinstance(state, Sequence) else ()
