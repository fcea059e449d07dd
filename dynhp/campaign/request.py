"""What a campaign is asked for: a function, the settings of its runs, what they cost."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

from dynhp._checks import require_name
from dynhp.campaign.data import canonical, plain
from dynhp.errors import SettingsError

__all__ = ["CampaignRequest", "Function", "Settings", "product", "request_of"]

Settings: TypeAlias = Mapping[str, Any]
"""The settings of one run: plain data that JSON can carry, the arguments of the function."""

Function: TypeAlias = Callable[..., Mapping[str, Any]]
"""What a campaign calls: settings in, a mapping of names to plain data out."""


def product(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Give the settings of every combination, the last axis changing fastest.

    Args:
        axes: the values of each setting, by its name.

    >>> product(method=["grid", "random"], seed=range(2))[1]
    {'method': 'grid', 'seed': 1}
    """
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise SettingsError(
                f"an axis must be a list of values, got {name}={values!r}; a single value is "
                f"{name}=[{values!r}]"
            )
    combinations = itertools.product(*axes.values())
    return [dict(zip(axes, values, strict=True)) for values in combinations]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """What a campaign is asked for, checked; the canonical text of its settings names a run."""

    function: Function
    name: str
    """What the ledger calls the function."""
    runs: Mapping[str, Settings]
    costs: Mapping[str, float]
    """What each run costs, compared with the others."""


def request_of(
    function: Function,
    runs: Iterable[Settings],
    *,
    name: str | None = None,
    cost: Callable[[Settings], float] | None = None,
) -> CampaignRequest:
    """Check what a campaign is asked for, before anything is written.

    >>> request = request_of(product, [{"seed": [0]}], name="combinations")
    >>> request.name, request.runs, request.costs
    ('combinations', {'{"seed":[0]}': {'seed': [0]}}, {'{"seed":[0]}': 1.0})
    """
    ledger_name = name_of(function, name)
    checked = _runs(function, runs)
    costs = {key: 1.0 if cost is None else _cost(cost, run) for key, run in checked.items()}
    return CampaignRequest(function=function, name=ledger_name, runs=checked, costs=costs)


def name_of(function: Any, name: str | None = None) -> str:
    """Name a function for the ledger, by its import path or the name given, and what is bound.

    >>> name_of(product), name_of(partial(product, seed=[1]))
    ('dynhp.campaign.request:product', 'dynhp.campaign.request:product {"seed":[1]}')
    >>> name_of(product, "combinations"), name_of(partial(product, seed=[1]), "combinations")
    ('combinations', 'combinations {"seed":[1]}')
    """
    if name is not None:
        require_name("name", name)
    inner, bound = function, ""
    if isinstance(function, partial):
        inner = function.func
        bound = f" {canonical(_bound(function))}"
    path = getattr(inner, "__qualname__", "<nameless>")
    if "<" in path or inspect.ismethod(inner):
        raise SettingsError(
            "a campaign needs a function that its import path describes fully, because its results "
            f"are read again: one of a module, or functools.partial of one, got {function!r}"
        )
    return (f"{inner.__module__}:{path}" if name is None else name) + bound


def _bound(function: partial[Any]) -> dict[str, Any]:
    try:
        named: dict[str, Any] = plain(function.keywords, "functools.partial")
        return {**named, "*": plain(function.args, "args")} if function.args else named
    except TypeError as error:
        raise SettingsError(
            "what functools.partial binds must be plain data, because it is part of the "
            f"function's name: {error}; let the function make the rest"
        ) from None


def _runs(function: Function, runs: Iterable[Settings]) -> dict[str, dict[str, Any]]:
    """The settings of each run, checked, by their canonical names."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have none: anything may fit
        signature = inspect.signature(lambda *args, **settings: None)
    checked: dict[str, dict[str, Any]] = {}
    for run in runs:
        settings = _settings(run)
        try:
            signature.bind(**settings)
        except TypeError as error:
            raise SettingsError(
                f"the function cannot be called with the settings {settings!r}: {error}"
            ) from None
        key = canonical(settings)
        if key in checked:
            raise SettingsError(f"a run must be asked for once, got {settings!r} twice")
        checked[key] = settings
    return checked


def _settings(run: Any) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise SettingsError(
            f"the settings of a run must be a mapping of names to plain data, got {run!r:.200}; "
            "runs are a list of such mappings, as product(...) gives"
        )
    if "error" in run:
        raise SettingsError(
            "a setting cannot be called 'error', because the table has a column of that name, got "
            f"{dict(run)!r:.200}; choose another name"
        )
    try:
        settings: dict[str, Any] = plain(run, "run")
    except TypeError as error:
        raise SettingsError(f"the settings of a run must be plain data: {error}") from None
    return settings


def _cost(cost: Callable[[Settings], float], run: Settings) -> float:
    value: Any = cost(run)
    number = float(value) if isinstance(value, Real) else math.nan
    if not 0 < number < math.inf:
        raise SettingsError(f"cost must give a number above 0, got {value!r} for {dict(run)!r}")
    return number
