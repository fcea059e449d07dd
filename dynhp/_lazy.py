"""Names of a package that are loaded when they are first asked for: programs use few of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, given which names each of its modules has.

    A module of which no name is exported is given with an empty text. Type checkers read the same
    names from imports under ``TYPE_CHECKING``. A name that a module has too must be imported
    at once, because Python makes each module an attribute of its package.

    >>> get, names = lazily("dynhp.criteria", {"metric": "highest lowest"})
    >>> get("lowest")("loss"), get("metric").__name__
    (lowest('loss'), 'dynhp.criteria.metric')
    """
    homes = {name: home for home, listed in names.items() for name in listed.split()}

    def get(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        thing = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, thing)
        return thing

    def names_of_package() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *homes})

    return get, names_of_package


def later(module: str, name: str) -> Any:
    """A function of a layer above, such as one that shows a run: it is loaded when it is needed.

    >>> later("dynhp.records.text", "harmless")("plain")
    'plain'
    """
    return getattr(importlib.import_module(module), name)
