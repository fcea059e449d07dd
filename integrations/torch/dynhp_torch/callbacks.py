"""What callbacks that adapt have in common, whatever framework of torch calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from dynhp.errors import LoopError, SettingsError, nearest, shown
from dynhp.loops import Binding, CallbackSettings, Loop, LoopOptions, Part, attribute
from dynhp.records import History
from dynhp.spaces import SpaceLike
from dynhp_torch.loop import adapt

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AdaptsTraining", "DrivenTraining", "Place", "bindings_of", "require_metrics"]

Place: TypeAlias = str | Binding | Callable[[Any], Binding]
"""A path in the module, a binding, or a function of the trainer that makes one."""


class DrivenTraining(Protocol):
    """One training under way, driven from hooks."""

    stop_wanted: bool

    @property
    def trying(self) -> bool:
        """Whether a try is under way."""
        ...


class AdaptsTraining:
    """The settings of a callback that adapts, and the run of the last training.

    >>> AdaptsTraining({"lr": [0.1, 0.3]}, minimize="val_loss", adapt_every=4, try_for=1)
    AdaptsTraining({'lr': [0.1, 0.3]}, adapt_every=4, try_for=1)
    """

    _begins: ClassVar[str] = "the training"
    _instead_of_steps: ClassVar[str] = "leave it out"

    def __init__(
        self,
        space: SpaceLike | None = None,
        *,
        bind: Mapping[str, Place] | None = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        given = {"space": space, **options}
        self._settings = CallbackSettings(given, way_out=self._instead_of_steps)
        self._places: Mapping[str, Place] = bind or {}
        names = self._settings.policy.space
        for name in self._places:
            if name not in names:
                raise SettingsError(
                    f"Adapt: bind names {shown(name)}, which has no values in the space"
                    f"{nearest(name, names)}"
                )
        self._loop: Loop | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    @property
    def loop(self) -> Loop:
        """The run of the last training: its ``history``, its ``adapter``, its best epoch."""
        if self._loop is None:
            raise LoopError(f"Adapt has no run before {self._begins} has begun to train")
        return self._loop

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.loop.history

    def _new_loop(
        self,
        training: DrivenTraining,
        epochs: int,
        state: Sequence[Any],
        bound: Mapping[str, Binding],
    ) -> Loop:
        """The loop of a training that begins; whether it is to stop is a part of its state."""
        stop = Part(
            get=lambda: training.stop_wanted,
            set=lambda wanted: setattr(training, "stop_wanted", wanted),
            name="whether to stop",
        )
        self._loop = self._settings.loop(adapt, epochs, state=[*state, stop], bind=bound)
        return self._loop


def require_metrics(
    wanted: Iterable[str], given: Mapping[str, float], *, epoch: int, way_out: str
) -> None:
    """Refuse an epoch of a try that lacks what tries are judged by; an old value is none.

    >>> require_metrics(["val_loss"], {"val_loss": 0.1}, epoch=0, way_out="log it")
    """
    missing = [name for name in wanted if name not in given]
    if given and not missing:
        return
    close = get_close_matches(missing[0], given, n=1, cutoff=0.8) if missing else []
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise SettingsError(
        f"Adapt: every epoch of a try needs {', '.join(missing) or 'a metric'}{meant}, but epoch "
        f"{epoch} gave {', '.join(given) or 'nothing'}; {way_out}"
    )


def bindings_of(
    names: Iterable[str],
    places: Mapping[str, Place],
    trainer: Any,
    *,
    module: Any,
    optimizers: Sequence[Any],
    setting: Callable[[str], Binding | None],
) -> dict[str, Binding]:
    """A binding for every name of a space, once the optimisers of a framework are there.

    Args:
        names: of the space.
        places: where values live, for those that were given a place.
        trainer: what a function in ``places`` is given.
        module: the module in which a path is looked up, and a name that is no setting.
        optimizers: those of the training, whose settings an error lists.
        setting: gives the binding of a setting of an optimiser, or None where none has it.

    >>> import torch
    >>> net = torch.nn.Dropout(0.1)
    >>> bound = bindings_of(["p"], {}, None, module=net, optimizers=[], setting=lambda name: None)
    >>> bound["p"].get()
    0.1
    """

    def bound(name: str, place: Place | None) -> Binding:
        if isinstance(place, str):
            return attribute(module, place)
        if isinstance(place, Binding):
            return place
        if place is not None:
            return place(trainer)
        of_optimizer = setting(name)
        if of_optimizer is not None:
            return of_optimizer
        try:
            return attribute(module, name)
        except SettingsError:
            raise SettingsError(_nowhere(name, module, optimizers)) from None

    return {name: bound(name, places.get(name)) for name in names}


def _nowhere(name: str, module: Any, optimizers: Sequence[Any]) -> str:
    settings = sorted({key for each in optimizers for key in each.param_groups[0]} - {"params"})
    return (
        f"Adapt: {shown(name)} is no setting of the optimiser ({', '.join(settings)}) and no "
        f"attribute of {type(module).__name__}; say where it lives, as in "
        f"bind={{{name!r}: 'net.2.p'}}"
    )
