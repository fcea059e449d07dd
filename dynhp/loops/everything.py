"""Find the objects that make up a loop's state, for ``everything(...)`` and ``state="auto"``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dynhp.errors import Hint, SettingsError, warn_caller
from dynhp.loops.parts import CopyOf, Part, copied, is_copied_whole, require_list
from dynhp.selfcheck.contents import attributes, has_methods
from dynhp.selfcheck.reach import in_reach, is_module, loop_names
from dynhp.selfcheck.things import Things, has_ended, kind_of, of_module, read_state, unreadable

_MOST_NAMES = 12


def everything(*things: Any) -> list[Any]:
    """Find every object with state in these things, list it for ``state=``, and say what was found.

    Modules, optimisers, schedulers, scalers, generators (also those inside loaders), averaged
    copies, estimators, environments and ``Counter``; ``state="auto"`` looks for them under the
    names that the loop's code sees. A ``Part`` is taken as it is. An object that cannot be put
    back is refused by name.

    >>> import random, warnings
    >>> from dynhp import Counter
    >>> class Run: pass
    >>> run = Run(); run.rng = random.Random(0); run.steps = Counter(); run.rate = 0.1
    >>> with warnings.catch_warnings(record=True) as lines:
    ...     warnings.simplefilter("always")
    ...     state = everything(run)
    >>> state == [run.rng, run.steps]
    True
    >>> print(lines[0].message)
    the state is: run.rng (Random), run.steps (Counter)
    """
    if not things:
        raise SettingsError(
            "everything() needs what is trained, as in everything(model, optimizer)"
        )
    known = {id(thing): name for name, thing in reversed(loop_names().items())}
    names = {
        known.get(id(thing), f"{kind_of(thing)} {place}"): thing
        for place, thing in enumerate(things, start=1)
    }
    for name, thing in names.items():
        if not _find({name: thing}):
            raise SettingsError(
                f"everything: {name} ({kind_of(thing)}) holds no object with state; give "
                "copied(thing) from dynhp.loops or Part(get=..., set=...) instead"
            )
    return _announce(_find(names))


def named_state(state: Any) -> Sequence[Any]:
    """The objects of a state: those listed, the one given, or all that names lead to ("auto")."""
    if not isinstance(state, str) or state != "auto":
        if has_methods(state, "state_dict") or has_methods(state, "get_state"):
            return [state]
        require_list(state)
        return state  # type: ignore[no-any-return]
    if found := _find(loop_names()):
        return _announce(found)
    raise SettingsError(
        'state="auto" takes what the code around the loop has names for, but none of these names '
        "leads to a model, an optimiser or a generator; list the objects instead"
    )


def _announce(found: Mapping[str, Any]) -> list[Any]:
    """Say in a hint which objects the state consists of, and list them."""
    names = [
        f"{name} (a copy of {kind_of(thing.thing)})"
        if isinstance(thing, CopyOf)
        else f"{name} ({kind_of(thing)})"
        for name, thing in found.items()
    ]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    warn_caller(f"the state is: {', '.join(names[:_MOST_NAMES])}{more}", Hint)
    return list(found.values())


def _find(names: Mapping[str, Any]) -> dict[str, Any]:
    """Every object with state that these names lead to, in the order in which it appears."""
    parts = {name: thing for name, thing in names.items() if isinstance(thing, Part)}
    copies = {id(part.thing) for part in parts.values() if isinstance(part, CopyOf)}
    reached = {name: thing for name, thing in in_reach(names).items() if id(thing) not in copies}
    modules = _register_of_modules()
    taken: dict[str, Any] = {}
    for name, thing in reached.items():
        if is_module(thing):
            if _has_tensors(thing) and not modules.covers(thing):
                modules.meet(name, thing)
                taken[name] = thing
        elif not _is_copied_with_an_owner(name, taken):
            _refuse_what_cannot_be_put_back(name, thing)
            if _has_state(thing):
                taken[name] = thing
    loose = dict(_loose_parameters(taken, reached, modules))
    return {**_without_saved_modules(taken), **loose, **parts}


def _register_of_modules() -> Things:
    """A register that knows which modules and tensors are inside the modules it has met.

    Of ``Things`` only ``meet`` and ``covers`` are used here. ``meet`` leaves out what cannot be
    read, so each module is given a reader, which is never called.
    """

    def reader_of(module: Any) -> Callable[[], Any]:
        return lambda: None

    return Things(reader_of, {})


def _has_tensors(module: Any) -> bool:
    """Whether a module has anything to train or to keep; a loss has not."""
    return any(not is_module(part) for part in of_module(module))


def _is_copied_with_an_owner(name: str, taken: Mapping[str, Any]) -> bool:
    """Whether something that is copied whole holds this thing, and so its state, too."""
    owners = (each for owner, each in taken.items() if name.startswith((f"{owner}.", f"{owner}[")))
    return any(map(is_copied_whole, owners))


def _has_state(thing: Any) -> bool:
    return read_state(thing) is not None or is_copied_whole(thing)


def _refuse_what_cannot_be_put_back(name: str, thing: Any) -> None:
    if read_state(thing) is not None:
        return
    if is_copied_whole(thing):
        try:
            copied(thing)
        except SettingsError as error:
            raise SettingsError(f"state: {name}: {error}") from error
        return
    if has_ended(thing):
        return
    if why := unreadable(thing):
        raise SettingsError(
            f"state: {name} ({kind_of(thing)}) cannot be put back: {why}. If the loop does not use "
            f"it, write `del {name}` before the loop; otherwise list the state by hand, with "
            "Part(get=..., set=...) or copied(thing) from dynhp.loops for this object"
        )


def _without_saved_modules(taken: Mapping[str, Any]) -> dict[str, Any]:
    """All but the modules that are in their owner's own state, such as an average of weights.

    A module that is trained is taken all the same: its gradients and modes are in no
    ``state_dict``.
    """
    trained = {id(tensor) for each in taken.values() for tensor in _trained(each)}

    def is_saved(name: str, thing: Any) -> bool:
        if not is_module(thing):
            return False
        tensors = [part for part in of_module(thing) if not is_module(part)]
        if any(id(tensor) in trained for tensor in tensors):
            return False
        places = set(map(_address, tensors))
        owners = (each for owner, each in taken.items() if name.startswith(f"{owner}."))
        readers = (read for read in map(read_state, owners) if read is not None)
        return any(places <= _addresses(read()) for read in readers)

    return {name: thing for name, thing in taken.items() if not is_saved(name, thing)}


def _trained(thing: Any) -> Iterator[Any]:
    """The parameters of an optimiser; nothing else has any."""
    for group in attributes(thing).get("param_groups", ()):
        yield from group["params"]


def _addresses(state: Any) -> set[int]:
    """Where in memory everything is that a state holds."""
    ahead = [state]
    met: set[int] = set()
    for each in ahead:
        if _address(each) not in met:
            met.add(_address(each))
            if isinstance(each, Mapping):
                ahead.extend(each.values())
            elif isinstance(each, list | tuple):
                ahead.extend(each)
    return met


def _address(thing: Any) -> int:
    """Where a thing is in memory; a ``state_dict`` may hold new tensors that share the memory."""
    pointer = thing.data_ptr() if has_methods(thing, "data_ptr") else 0  # a split tensor has 0 too
    return pointer or id(thing)


def _loose_parameters(
    taken: Mapping[str, Any], reached: Mapping[str, Any], modules: Things
) -> Iterator[tuple[str, Any]]:
    """Parameters that an optimiser trains although they are in no module."""
    known = {id(thing): name for name, thing in reversed(list(reached.items()))}
    met: set[int] = set()
    for name, thing in taken.items():
        for place, tensor in enumerate(_trained(thing)):
            if not modules.covers(tensor) and id(tensor) not in met:
                met.add(id(tensor))
                yield known.get(id(tensor), f"{name}: parameter {place}"), tensor
