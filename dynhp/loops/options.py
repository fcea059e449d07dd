"""The options of ``adapt`` that integrations pass on as they are, said once."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar

from dynhp.adapter import Callback
from dynhp.criteria import Criterion
from dynhp.display import Display
from dynhp.errors import SettingsError, nearest, shown
from dynhp.loops.adapt import adapt
from dynhp.loops.bindings import Binding
from dynhp.loops.driver import LoopDriver
from dynhp.loops.loop import Loop
from dynhp.loops.parts import Part
from dynhp.main_line import Snapshots
from dynhp.proposers import Proposer
from dynhp.records import Value
from dynhp.selection import Selection
from dynhp.spaces import Space, SpaceLike
from dynhp.tails import Correction, Tail
from dynhp.triggers import Trigger

__all__ = ["CallbackSettings", "LoopOptions", "with_options"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class LoopOptions(TypedDict, total=False):
    """Keyword arguments of ``dynhp.adapt`` that mean the same in every framework.

    ``adapt`` of an integration takes them as ``**options: Unpack[LoopOptions]`` and hands them on;
    a test compares them with the arguments of ``dynhp.adapt``, where each is described.

    >>> options = LoopOptions(minimize="val_loss", seed=1)
    >>> options["seed"]
    1
    """

    when: Trigger | None
    start_from: Literal["here", "best", "before"]
    snapshots: Snapshots | None
    max_rounds: int | None
    max_rescues: int
    record_every: int | None
    steps: int | None
    criterion: Criterion | None
    minimize: str | None
    maximize: str | None
    proposer: Proposer | None
    selection: Selection | None
    tail: Tail | None
    keep: Literal["winner", "value"]
    then: Correction | None
    keep_best: bool | Criterion
    randomness: Literal["common", "independent"] | None
    initial: Mapping[str, Value] | None
    seed: int
    callbacks: Callback | Sequence[Callback]
    progress: bool | Display
    check: Literal["first", "every", "off"]
    tolerance: float | None
    dry_run: bool


def with_options(function: _Function) -> _Function:
    """Let ``help`` show a function's ``**options`` by their names, as ``adapt`` has them.

    >>> @with_options
    ... def train(rounds: int, **options: Any) -> None: ...
    >>> list(inspect.signature(train).parameters)[:3]
    ['rounds', 'when', 'start_from']
    """
    core, here = inspect.signature(adapt), inspect.signature(function)
    own = [each for each in here.parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = [core.parameters[name] for name in LoopOptions.__annotations__]
    vars(function)["__signature__"] = here.replace(parameters=[*own, *options])
    return function


class CallbackSettings:
    """What the callback of a framework was given: refused at once or made into a loop later.

    >>> settings = CallbackSettings({"lr": [0.1, 0.3]}, adapt_every=4, try_for=1,
    ...                             options={"minimize": "loss"}, way_out="leave it out")
    >>> settings
    {'lr': [0.1, 0.3]}, adapt_every=4, try_for=1
    >>> len(settings.loop(adapt, 12, state=[Part(get=int, set=print)], bind={}))
    12
    """

    def __init__(
        self,
        space: SpaceLike,
        *,
        adapt_every: int | None,
        try_for: float,
        options: LoopOptions,
        way_out: str,
    ) -> None:
        self._given = space
        self._lengths = {"adapt_every": adapt_every, "try_for": try_for}
        self.options: dict[str, Any] = dict(options)
        for name in self.options:
            if name not in LoopOptions.__annotations__:
                known = ["adapt_every", "try_for", "bind", *LoopOptions.__annotations__]
                raise TypeError(
                    f"Adapt() got an unexpected keyword argument {name!r}{nearest(name, known)}"
                )
        if (steps := self.options.pop("steps", None)) is not None:
            raise SettingsError(f"Adapt counts in epochs, got steps={shown(steps)}; {way_out}")
        self.space = space if isinstance(space, Space) else Space(space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nothing = Part(get=lambda: None, set=lambda _: None)
            LoopDriver(self.loop(adapt, 2**31, state=[nothing], bind={}))

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name}={length!r}" for name, length in self._lengths.items())
        return f"{self._given!r}, {lengths}"

    def loop(
        self,
        made_by: Callable[..., Loop],
        epochs: int,
        *,
        state: Sequence[Any],
        bind: Mapping[str, Binding],
    ) -> Loop:
        """The loop that drives the training which is about to begin."""
        return made_by(
            epochs, state=state, space=self.space, bind=bind, **self._lengths, **self.options
        )
