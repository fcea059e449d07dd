"""A state that lists itself: all with a state of its own that a loop's names lead to."""

from __future__ import annotations

import io
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dynhp.errors import Hint, SettingsError
from dynhp.loops.parts import CopyOf, Part, copied, is_copied_whole, require_list
from dynhp.selfcheck.contents import attributes, has_methods
from dynhp.selfcheck.reach import in_reach, is_module, loop_names
from dynhp.selfcheck.things import Things, kind_of, of_module, read_state, unreadable

_MOST_NAMES = 12


def everything(*things: Any) -> list[Any]:
    """List all that has a state of its own in these things, for ``state=``; one line says what.

    Modules, optimisers, schedulers, scalers, generators (also those inside of loaders), averaged
    copies, estimators, environments and ``Counter``; ``state="auto"`` takes them from the names
    that the loop's code sees. A ``Part`` is taken as it is. What cannot be put back is refused by
    its name.

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
        if not _take({name: thing}):
            raise SettingsError(
                f"everything: {name} ({kind_of(thing)}) holds nothing with a state of its own; "
                "give copied(thing) of dynhp.loops or Part(get=..., set=...) for it"
            )
    return _listed(_take(names), stacklevel=3)


def named_state(state: Any) -> Sequence[Any]:
    """The things of a state: those listed, the one given, or all that names lead to ("auto")."""
    if not isinstance(state, str) or state != "auto":
        if has_methods(state, "state_dict") or has_methods(state, "get_state"):
            return [state]
        require_list(state)
        return state  # type: ignore[no-any-return]
    if taken := _take(loop_names()):
        return _listed(taken, stacklevel=4)
    raise SettingsError(
        'state="auto" takes what the code around the loop has names for, but none of its names '
        "leads to a model, an optimiser or a generator; list the objects instead"
    )


def _listed(taken: Mapping[str, Any], *, stacklevel: int) -> list[Any]:
    names = [
        f"{name} (a copy of {kind_of(thing.thing)})"
        if isinstance(thing, CopyOf)
        else f"{name} ({kind_of(thing)})"
        for name, thing in taken.items()
    ]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    line = f"the state is: {', '.join(names[:_MOST_NAMES])}{more}"
    warnings.warn(line, Hint, stacklevel=stacklevel)
    return list(taken.values())


def _take(names: Mapping[str, Any]) -> dict[str, Any]:
    """All with a state of its own that these names lead to, in the order in which it appears."""
    parts = {name: thing for name, thing in names.items() if isinstance(thing, Part)}
    copies = {id(part.thing) for part in parts.values() if isinstance(part, CopyOf)}
    reached = {name: thing for name, thing in in_reach(names).items() if id(thing) not in copies}
    modules = Things(lambda module: lambda: None, {})
    taken: dict[str, Any] = {}
    for name, thing in reached.items():
        if is_module(thing):
            tensors = any(not is_module(part) for part in of_module(thing))  # a loss has none
            if tensors and not modules.covers(thing):
                modules.meet(name, thing)
                taken[name] = thing
            continue
        owners = (
            each for owner, each in taken.items() if name.startswith((f"{owner}.", f"{owner}["))
        )
        if not any(map(is_copied_whole, owners)) and _has_a_state(name, thing):
            taken[name] = thing
    once = {name: thing for name, thing in taken.items() if not _is_saved(name, thing, taken)}
    return {**once, **dict(_loose_parameters(taken, reached, modules)), **parts}


def _has_a_state(name: str, thing: Any) -> bool:
    """Whether a thing has a state; one that cannot be put back is refused by its name."""
    if read_state(thing) is not None:
        return True
    if has_methods(thing, "step", "reset"):
        try:
            copied(thing)
        except SettingsError as error:
            raise SettingsError(f"state: {name}: {error}") from error
        return True
    finished = isinstance(thing, types.GeneratorType) and thing.gi_frame is None
    if finished or isinstance(thing, io.IOBase):
        return False
    if why := unreadable(thing):
        raise SettingsError(
            f"state: {name} ({kind_of(thing)}) cannot be put back: {why}. If the loop does not use "
            f"it, write `del {name}` before; otherwise list the state by hand, with "
            "Part(get=..., set=...) or copied(thing) of dynhp.loops for it"
        )
    return False


def _is_saved(name: str, thing: Any, taken: Mapping[str, Any]) -> bool:
    """Whether it is a module in the state of what holds it, as an average of weights is.

    One that is trained is taken all the same: its gradients and modes are in no ``state_dict``.
    """
    if not is_module(thing):
        return False
    tensors = [part for part in of_module(thing) if not is_module(part)]
    trained = {id(tensor) for each in taken.values() for tensor in _trained(each)}
    if any(id(tensor) in trained for tensor in tensors):
        return False
    owners = (each for owner, each in taken.items() if name.startswith(f"{owner}."))
    states = (read() for read in map(read_state, owners) if read is not None)
    return any({_address(tensor) for tensor in tensors} <= _addresses(state) for state in states)


def _trained(thing: Any) -> Iterator[Any]:
    """The parameters of an optimiser; nothing else has any."""
    for group in attributes(thing).get("param_groups", ()):
        yield from group["params"]


def _addresses(state: Any) -> set[int]:
    """Where all that a state holds is in memory."""
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
    """Where a thing is in memory; a ``state_dict`` may have new tensors around the same memory."""
    pointer = thing.data_ptr() if has_methods(thing, "data_ptr") else 0  # 0 also if it is split
    return pointer or id(thing)


def _loose_parameters(
    taken: Mapping[str, Any], reached: Mapping[str, Any], modules: Things
) -> Iterator[tuple[str, Any]]:
    """Parameters that an optimiser trains and that are in no module."""
    known = {id(thing): name for name, thing in reversed(list(reached.items()))}
    met: set[int] = set()
    for name, thing in taken.items():
        for place, tensor in enumerate(_trained(thing)):
            if not modules.covers(tensor) and id(tensor) not in met:
                met.add(id(tensor))
                yield known.get(id(tensor), f"{name}: parameter {place}"), tensor
