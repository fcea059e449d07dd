"""Settings made again from their texts in a file, if they are dynhp's own."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dynhp import proposers, selection, spaces, triggers
from dynhp._checks import require_count
from dynhp.criteria import highest
from dynhp.engine import first_memory
from dynhp.errors import DynhpError
from dynhp.planning.budget import Plan, plan_from
from dynhp.policy import policy_from
from dynhp.records import Round
from dynhp.records.units import EPOCHS, Unit
from dynhp.snapshots import Snapshots
from dynhp.tails import annealed, scale, scheduled

__all__ = ["log_scales", "plan_of", "rebuilt"]

_Key = TypeVar("_Key", str, ast.expr)
_MODULES = (spaces, proposers, selection, triggers)
_KNOWN: dict[str, Any] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
} | {"Snapshots": Snapshots, "annealed": annealed, "scale": scale, "scheduled": scheduled}
# What a text raises that is not dynhp's own, or too deeply nested for Python to parse.
_NOT_REBUILT = (
    DynhpError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    SyntaxError,
    MemoryError,
    RecursionError,
)
_MOST = 20_000  # characters; a text of a file may be anything


def rebuilt(text: str) -> Any:
    """What a text stands for: plain data, or a space, a proposer, a selection, a trigger of dynhp.

    >>> rebuilt("Racing(keep=0.5, every=1)"), rebuilt("{'lr': [0.1, None]}")
    (Racing(keep=0.5, every=1), {'lr': [0.1, None]})
    >>> rebuilt("__import__('os')")
    Traceback (most recent call last):
    ...
    ValueError: nothing of dynhp's
    """
    if len(text) > _MOST:
        raise ValueError("too long")
    return _value(ast.parse(text, mode="eval").body)


def _value(node: ast.AST) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _KNOWN:
            named = {_plain(each.arg): _value(each.value) for each in node.keywords}
            values = [_value(each) for each in node.args]
            return _KNOWN[name](named) if name == "Space" else _KNOWN[name](*values, **named)
        case ast.Dict(keys=keys, values=items):
            return {
                _value(_plain(key)): _value(item) for key, item in zip(keys, items, strict=True)
            }
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Name(id="inf"):
            return math.inf
        case ast.Call() | ast.Name() | ast.Attribute():
            raise ValueError("nothing of dynhp's")
    return ast.literal_eval(node)


def _plain(key: _Key | None) -> _Key:
    """The name or key in front of a value; ``**`` has none, and no repr writes it."""
    if key is None:
        raise ValueError("** is not read")
    return key


def log_scales(settings: Mapping[str, str]) -> dict[str, bool]:
    """Whether the axis of each hyperparameter is logarithmic; a list of values does not say it.

    >>> log_scales({"space": "Space(a=Float(0.1, 1.0, log=True), b=Ordered(1, 9), n=Int(1, 3))"})
    {'a': True, 'n': False}
    """
    try:
        axes = rebuilt(settings.get("space", "")).items()
        return {name: axis.log for name, axis in axes if hasattr(axis, "log")}
    except _NOT_REBUILT:  # a text that no adapter has written says nothing
        return {}


def plan_of(
    settings: Mapping[str, str],
    history: Sequence[Round],
    epochs: int | None,
    *,
    unit: Unit = EPOCHS,
) -> Plan | None:
    """The plan that ``plan_for`` made before the first round, or None if it is not known.

    >>> plan_of({}, (), 10) is None
    True
    """
    checked = [round_.checked > 0 for round_ in history if round_.tries]
    often = len(checked) > 1 and all(checked)
    check = "every" if often else "off" if checked and not any(checked) else "first"
    try:
        parts = {name: rebuilt(text) for name, text in settings.items() if name != "criterion"}
        # The file has the space as it was given; the value at the start may have joined it.
        parts["space"] = parts["space"].including(parts["initial"])
        parts |= {"criterion": highest("score"), "check": check}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hints were given when the run began
            policy = policy_from(None, parts, caller="plan_of")
            memory = first_memory(policy.space.candidate(parts["initial"]), seed=policy.seed)
            return plan_from(policy, memory, require_count("epochs", epochs), unit=unit)
    except _NOT_REBUILT:
        return None  # a part that is not dynhp's, or a text that no adapter has written
