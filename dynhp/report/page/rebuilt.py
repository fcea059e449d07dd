"""Settings made again from their texts in a file, as far as they are dynhp's own."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dynhp import proposers, selection, spaces, triggers
from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import highest
from dynhp.errors import DynhpError
from dynhp.main_line import Snapshots
from dynhp.planning.budget import Plan, plan_for
from dynhp.records import Round, Unit
from dynhp.records.units import EPOCHS
from dynhp.tails import annealed, scale
from dynhp.trainer import trainer_from
from dynhp.triggers.contract import looks_at

__all__ = ["linear_axes", "log_axes", "plan_of", "rebuilt"]

_MODULES = (spaces, proposers, selection, triggers)
_KNOWN: dict[str, Any] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
} | {"Snapshots": Snapshots, "annealed": annealed, "scale": scale}
_NO_ADAPTER: tuple[type[Exception], ...] = (DynhpError, ValueError, TypeError, LookupError)
_NO_ADAPTER += (AttributeError, SyntaxError, RecursionError)
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
            named = {str(each.arg): _value(each.value) for each in node.keywords}
            values = [_value(each) for each in node.args]
            return _KNOWN[name](named) if name == "Space" else _KNOWN[name](*values, **named)
        case ast.Dict(keys=keys, values=items):
            return {_value(key): _value(item) for key, item in zip(keys, items, strict=True) if key}
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Name(id="inf"):
            return math.inf
        case ast.Call() | ast.Name() | ast.Attribute():
            raise ValueError("nothing of dynhp's")
    return ast.literal_eval(node)


def log_axes(settings: Mapping[str, str]) -> frozenset[str]:
    """The names of the hyperparameters whose axis is logarithmic, where the settings tell.

    >>> sorted(log_axes({"space": "Space(lr=Float(0.1, 1.0, log=True), n=Int(1, 3))"}))
    ['lr']
    """
    return _axes(settings, log=True)


def linear_axes(settings: Mapping[str, str]) -> frozenset[str]:
    """The names of those that were declared to be linear; a list of values declares nothing.

    >>> sorted(linear_axes({"space": "Space(a=Float(0.1, 9.0), b=Ordered(0.1, 9.0), n=Int(1, 3))"}))
    ['a', 'n']
    """
    return _axes(settings, log=False)


def _axes(settings: Mapping[str, str], *, log: bool) -> frozenset[str]:
    try:
        space = rebuilt(settings.get("space", ""))
        return frozenset(name for name, axis in space.items() if getattr(axis, "log", None) is log)
    except Exception:  # a text that no adapter has written says nothing
        return frozenset()


def plan_of(
    settings: Mapping[str, str],
    history: Sequence[Round],
    epochs: int | None,
    *,
    unit: Unit = EPOCHS,
) -> Plan | None:
    """The plan that ``plan_for`` made of such an adapter before its first round, or None.

    >>> plan_of({}, (), 10) is None
    True
    """
    try:
        texts = {name: rebuilt(text) for name, text in settings.items() if name != "criterion"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hints were given when the run began
            return plan_for(_adapter(texts, history, unit), epochs)
    except _NO_ADAPTER:
        return None  # a part that is not dynhp's, or a text that no adapter has written


def _adapter(parts: dict[str, Any], history: Sequence[Round], unit: Unit) -> DynamicGridAdapter:
    """An adapter with these settings, around a trainer that is never called."""
    watched = looks_at(parts["when"]) if parts.get("when") else ()
    trainer = trainer_from(
        get_state=lambda: None,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: dict.fromkeys(("score", *watched), 0.0),
    )
    checked = [round_.checked > 0 for round_ in history if round_.tries]
    often = len(checked) > 1 and all(checked)
    check: Any = "every" if often else "off" if checked and not any(checked) else "first"
    trainer = _WithReseed(trainer, unit)
    # The file has the space as it was given; the value at the start may have joined it.
    parts |= {"space": parts["space"].including(parts["initial"])}
    return DynamicGridAdapter(trainer, criterion=highest("score"), check=check, **parts)


class _WithReseed:
    """A trainer that could be reseeded, as independent tries need it."""

    def __init__(self, trainer: Any, unit: Unit) -> None:
        self.unit = unit
        self.get_state, self.set_state = trainer.get_state, trainer.set_state
        self.train_k, self.metrics = trainer.train_k, trainer.metrics

    def reseed(self, seed: int) -> None:
        """Never called."""
