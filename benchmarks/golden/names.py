"""Names of dynhp that the golden runs use: two versions may keep them in different modules."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

# Where a name is looked for first; after these, in all modules of the package.
HOMES = (
    "dynhp",
    "dynhp.errors",
    "dynhp.executors",
    "dynhp.loops",
    "dynhp.main_line",
    "dynhp.planning",
    "dynhp.presets",
    "dynhp.proposers",
    "dynhp.search",
    "dynhp.spaces",
    "dynhp.storage",
    "dynhp.tails",
    "dynhp.triggers",
    "dynhp.wrappers",
)


def public(name: str) -> Any:
    """The object of this name in the version that is imported, wherever it lives there."""
    for home in HOMES:
        thing = _in_module(home, name)
        if thing is not None:
            return thing
    package = importlib.import_module("dynhp")
    for module in pkgutil.walk_packages(package.__path__, "dynhp."):
        if module.name.endswith("__main__"):
            continue
        thing = _in_module(module.name, name)
        if thing is not None:
            return thing
    raise ImportError(f"this version of dynhp has no {name}")


def _in_module(home: str, name: str) -> Any:
    with contextlib.suppress(ImportError):
        return getattr(importlib.import_module(home), name, None)
    return None


def settings_of(preset: Any, **changed: Any) -> dict[str, Any]:
    """A preset as keywords: a mapping of settings in one version, a policy in the other."""
    if isinstance(preset, Mapping):
        return {**preset, **changed}
    known = {field.name for field in dataclasses.fields(preset)}
    fields = {name: value for name, value in changed.items() if name in known}
    others = {name: value for name, value in changed.items() if name not in known}
    return {"policy": dataclasses.replace(preset, **fields), **others}


def generator_of(stateful: Any) -> Any:
    """The state of the generator that an adapter, or the adapter of a loop, draws from."""
    state = stateful.state_dict()
    while "generator" not in state:
        state = state["adapter"]
    return state["generator"]
