"""What objects keep in plain attributes: numbers, lists, tensors, generators; the rest stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from dynhp.loops import Part
from dynhp_torch.parts.contents import GENERATORS, Notes, is_plain

__all__ = ["Unseen", "attributes_part"]

# Of every module: they are in its own part, or wired once and for all.
_OF_MODULES = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"}


class Unseen:
    """A state that is put back but not compared: attributes may hold times, names of files.

    >>> Unseen({"seconds": 3.5})
    Unseen(...)
    """

    __slots__ = ("state",)

    def __init__(self, state: Any) -> None:
        self.state = state

    def __repr__(self) -> str:
        return "Unseen(...)"

    def __reduce__(self) -> Any:
        # What a try leaves in weights and metrics is compared bit by bit; this is not.
        return Unseen, (None,)


def attributes_part(owners: Callable[[], Iterable[Any]], *, name: str, data: bool = True) -> Part:
    """All that these objects store under names, as one part; what others own stays as it is.

    Args:
        owners: gives the objects, the same ones in the same order each time.
        name: what messages call this part.
        data: whether lists, tensors and arrays are copied; without it only numbers, texts and
            generators are, as in a dataset, whose content does not change.

    >>> class Meter: pass
    >>> meter = Meter(); meter.steps, meter.losses = 1, [0.5]
    >>> part = attributes_part(lambda: [meter], name="the meter"); state = part.get()
    >>> meter.steps = 9; meter.losses.append(0.4); meter.new = True
    >>> part.set(state); vars(meter)
    {'steps': 1, 'losses': [0.5]}
    """

    def get() -> Unseen:
        mine = list(owners())
        notes = Notes(mine)
        return Unseen([_stored(owner, data, notes) for owner in mine])

    def set_state(state: Unseen) -> None:
        put_back = Notes.put_back()
        for owner, saved in zip(owners(), state.state, strict=True):
            values = {key: put_back(note) for key, note in saved.items()}
            if data:
                for key in _names(owner).keys() - values.keys():
                    del vars(owner)[key]
            vars(owner).update(values)

    return Part(get=get, set=set_state, name=name)


def _names(owner: Any) -> dict[str, Any]:
    stored = vars(owner)
    if not isinstance(owner, nn.Module):
        return dict(stored)
    return {
        key: value
        for key, value in stored.items()
        if key not in _OF_MODULES and "_hooks" not in key
    }


def _stored(owner: Any, data: bool, notes: Notes) -> dict[str, Any]:
    stored = _names(owner)
    if not data:
        stored = {k: v for k, v in stored.items() if is_plain(v) or isinstance(v, GENERATORS)}
    return {key: notes.of(value) for key, value in stored.items()}
