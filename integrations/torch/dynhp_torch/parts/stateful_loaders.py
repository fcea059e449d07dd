"""The position of a ``StatefulDataLoader`` of torchdata: between epochs and within one."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp.loops.parts import HasStateDict, Parts, stateful_part

__all__ = ["is_stateful_loader", "position_part"]

_OWNER = "torchdata.stateful_dataloader"


def is_stateful_loader(thing: Any) -> bool:
    """Whether it is a ``StatefulDataLoader``; torchdata is not imported for that.

    >>> is_stateful_loader([])
    False
    """
    return any(
        kind.__name__ == "StatefulDataLoader" and kind.__module__.startswith(_OWNER)
        for kind in type(thing).__mro__
    )


def position_part(loader: Any) -> Part:
    """Where the loader is, and the state of its dataset where that has one.

    ``loader.state_dict()`` alone will not do: it makes an iterator where there is none, and each
    iterator draws a seed from a generator, so asking would change what follows; and an iterator
    that the loop holds would not be put back. Here nothing is made by asking, and the iterator that
    the loop holds goes back too. Generators must be put back after this part.

    >>> from torchdata.stateful_dataloader import StatefulDataLoader
    >>> loader = StatefulDataLoader(range(6), batch_size=2)
    >>> part = position_part(loader); batches = iter(loader); _ = next(batches)
    >>> state = part.get(); next(batches).tolist()
    [2, 3]
    >>> part.set(state); next(batches).tolist()
    [2, 3]
    """
    position = Part(get=lambda: _get(loader), set=lambda state: _set(loader, state))
    dataset = [stateful_part(loader.dataset)] if isinstance(loader.dataset, HasStateDict) else []
    whole = Parts([*dataset, position])
    return Part(get=whole.get_state, set=whole.set_state)


def _get(loader: Any) -> dict[str, Any]:
    """The place in words: new, ended, loaded (by the user, not begun) or within an epoch."""
    iterator, waits = loader._iterator, loader._initial_iter_for_state_dict
    if iterator is None:
        loaded = loader.next_iter_state
        return (
            {"place": "new"} if loaded is None else {"place": "loaded", "state": deepcopy(loaded)}
        )
    del iterator  # so that who else holds it can be counted
    if loader._iterator._finished or not (waits or _is_held(loader)):
        return {"place": "ended"}  # the next epoch depends on generators only
    _require_middle(loader)
    return {"place": "within", "state": deepcopy(loader._iterator.state_dict()), "waits": waits}


def _set(loader: Any, state: dict[str, Any]) -> None:
    iterator, place = loader._iterator, state["place"]
    loader.load_state_dict({})
    loader.next_iter_state = deepcopy(state["state"]) if place in ("loaded", "within") else None
    if place == "within":
        loader.state_dict()  # makes an iterator that is at this place, and waits to be asked for
        if iterator is not None:
            _become(iterator, loader._iterator)
            loader._iterator = iterator
            loader._initial_iter_for_state_dict = state["waits"]
    elif iterator is not None and loader.num_workers == 0:
        _exhaust(iterator)
        if place == "ended":
            loader._iterator = iterator


def _become(iterator: Any, other: Any) -> None:
    """Let the iterator that the loop may hold be at the place of the other."""
    vars(iterator).clear()
    vars(iterator).update(vars(other))


def _exhaust(iterator: Any) -> None:
    iterator._sampler_iter = iter(())
    iterator._finished = True


def _require_middle(loader: Any) -> None:
    if loader.num_workers:
        raise SettingsError(
            f"state: a StatefulDataLoader with num_workers={loader.num_workers} cannot be put back "
            "in the middle of an epoch, which is in its processes; give num_workers=0, or let "
            "rounds and tries end with epochs of the data"
        )
    sampler = loader.sampler
    random = hasattr(sampler, "generator") and not isinstance(sampler, HasStateDict)
    if random and not type(sampler).__module__.startswith(_OWNER):
        raise SettingsError(
            f"state: the middle of an epoch cannot be put back, since {type(sampler).__name__} "
            "does not know the order that it drew; give StatefulDataLoader shuffle=True or a "
            "sampler with state_dict, or let rounds and tries end with epochs of the data"
        )


class _Holder:
    """Stands for a loader whose iterator is held by nothing else."""

    def __init__(self) -> None:
        self._iterator = _Holder.__new__(_Holder)


def _references(owner: Any) -> int:
    return sys.getrefcount(owner._iterator)


_ALONE = _references(_Holder())


def _is_held(loader: Any) -> bool:
    """Whether the loop can go on with the iterator; one left with ``break`` is forgotten."""
    return _references(loader) > _ALONE
