"""The keyword arguments of ``adapt`` that integrations accept and pass on unchanged."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dynhp.adapter import Callback
from dynhp.criteria import Criterion
from dynhp.errors import SettingsError, shown
from dynhp.loops.adapt import adapt
from dynhp.loops.bindings import Binding
from dynhp.loops.counting import Length
from dynhp.loops.driver import LoopDriver
from dynhp.loops.loop import Loop
from dynhp.loops.parts import Part
from dynhp.middleware.display import Display
from dynhp.policy import Policy, PolicyFields, policy_from, require_known
from dynhp.records.units import EPOCHS, Unit
from dynhp.spaces import SpaceLike

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RunOptions(PolicyFields, total=False):
    """Options without ``callbacks``, for functions whose callbacks are those of a framework.

    >>> RunOptions(progress=True)
    {'progress': True}
    """

    policy: Policy | None
    steps: Length | None
    keep_best: bool | Criterion | None
    progress: bool | Display


class LoopOptions(RunOptions, total=False):
    """Keyword arguments of ``dynhp.adapt`` that mean the same in every framework.

    The ``adapt`` of an integration takes them as ``**options: Unpack[LoopOptions]`` and passes them
    on without looking at them; the space is a separate argument.

    >>> options = LoopOptions(minimize="val_loss", seed=1)
    >>> options["seed"]
    1
    """

    callbacks: Callback | Sequence[Callback]
    at_most: Length | None
    unit: Unit


def with_options(function: _Function) -> _Function:
    """Let ``help`` show the ``**options`` of an integration's function as ``adapt`` has them.

    >>> @with_options
    ... def train(rounds: int, **options: Any) -> None: ...
    >>> list(inspect.signature(train).parameters)[-2:]
    ['at_most', 'unit']
    """
    core, here = inspect.signature(adapt), inspect.signature(function)
    own = [each for each in here.parameters.values() if each.kind is not each.VAR_KEYWORD]
    named = [name for name in LoopOptions.__annotations__ if name not in here.parameters]
    options = [core.parameters[name] for name in named]
    vars(function)["__signature__"] = here.replace(parameters=[*own, *options])
    return function


def policy_and_others(
    space: SpaceLike | None, options: Mapping[str, Any], *, caller: str
) -> tuple[Policy, dict[str, Any]]:
    """The policy that a space and options describe, and the options that are no part of it.

    >>> policy, others = policy_and_others(
    ...     {"lr": [0.1, 0.3]}, {"adapt_every": 4, "try_for": 1, "minimize": "loss", "steps": 9},
    ...     caller="adapted_train")
    >>> policy.when, others
    (Every(n=4), {'steps': 9})
    """
    require_known(options, LoopOptions.__annotations__, caller=caller)
    others = dict(options)
    fields = {name: others.pop(name) for name in PolicyFields.__annotations__ if name in others}
    given = {"space": space, **fields}
    return policy_from(others.pop("policy", None), given, caller=caller), others


def require_planned_end(policy: Policy, others: Mapping[str, Any], *, caller: str) -> None:
    """Refuse a run without a planned end, where what dynhp belongs to says how long it trains.

    >>> from dynhp.planning import settled
    >>> require_planned_end(settled("val_loss"), {}, caller="Adapt")
    Traceback (most recent call last):
    dynhp.errors.SettingsError: Adapt is told how long to train, got until=Settled(...)...
    """
    given = {"until": policy.until} | {name: others.get(name) for name in ("at_most", "unit")}
    for name, value in given.items():
        if value is not None and (name, value) != ("unit", EPOCHS):  # which is what it would be
            raise SettingsError(
                f"{caller} is told how long to train, got {name}={shown(value)}; leave it out, and "
                "use the early stopping of what trains, or write the loop yourself (adapt)"
            )


class CallbackSettings:
    """The settings of a framework's callback: checked at once, turned into a loop for training.

    ``way_out`` ends the error for ``steps=``: what to use instead.

    >>> settings = CallbackSettings({"space": {"lr": [0.1, 0.3]}, "adapt_every": 4, "try_for": 1,
    ...                              "minimize": "loss"}, way_out="leave it out")
    >>> settings
    {'lr': [0.1, 0.3]}, adapt_every=4, try_for=1
    >>> len(settings.loop(adapt, 12, state=[Part(get=int, set=print)], bind={}))
    12
    """

    def __init__(self, options: Mapping[str, Any], *, way_out: str) -> None:
        # Callbacks take bind= themselves; it is listed so that it is suggested for a misspelt name.
        known = {"space": SpaceLike, **LoopOptions.__annotations__, "bind": None}
        require_known(options, known, caller="Adapt")
        self._given = dict(options)
        others = dict(options)
        space = others.pop("space", None)
        if (steps := others.pop("steps", None)) is not None:
            raise SettingsError(f"Adapt counts in epochs, got steps={shown(steps)}; {way_out}")
        self.policy, self.options = policy_and_others(space, others, caller="Adapt")
        require_planned_end(self.policy, self.options, caller="Adapt")
        # A loop is made and thrown away so that its errors come now, not when training starts.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Whether anything averages weights is known when a training begins.
            nothing = Part(get=lambda: None, set=lambda _: None, deliver=lambda: None)
            any_length = 2**31
            LoopDriver(self.loop(adapt, any_length, state=[nothing], bind={}))

    def __repr__(self) -> str:
        space = self._given.get("space")
        parts = [] if space is None else [repr(space)]
        for name in ("policy", "adapt_every", "when", "try_for"):
            if self._given.get(name) is not None:
                parts.append(f"{name}={self._given[name]!r}")
        return ", ".join(parts)

    def loop(
        self,
        made_by: Callable[..., Loop],
        epochs: int,
        *,
        state: Sequence[Any],
        bind: Mapping[str, Binding],
    ) -> Loop:
        """The loop for the training that is about to begin."""
        return made_by(epochs, state=state, policy=self.policy, bind=bind, **self.options)
