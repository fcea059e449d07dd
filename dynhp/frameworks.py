"""What integrations know of their frameworks; the core itself knows none by name.

An integration tells what it knows in two ways, whether it is part of dynhp or comes from others:

* Its package calls ``register_integration`` when it is imported.
* Its distribution declares, in the group ``dynhp.integrations`` of its entry points, the frameworks
  that it knows, by the names under which they are imported: ``acme = "dynhp_acme"``. So the core
  can say which package knows an object before that package is imported. The line names
  an ``Integration``, as in ``acme = "dynhp_acme.integration:INTEGRATION"``, if the core should ask
  it as soon as the framework is loaded.

Entry points are read once, when a message or a check needs them, and never import a framework.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Integration", "register_integration"]

GROUP = "dynhp.integrations"
"""The entry points of integrations."""

_KNOWN_TO_THE_CORE = {*sys.stdlib_module_names, "dynhp", "numpy", "__main__"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """What an integration tells the core. Only its package is needed; most tell little more.

    Args:
        package: the name of its package. What runs there, and objects of the classes defined there,
            are not the user's own, so the self-check does not look for forgotten state in them.
        frameworks: the packages whose objects it knows, by the names under which they are imported.
        for_users: modules of the package whose objects are the user's all the same, because they
            are made to be part of a training loop, such as ``"averaging"``.
        loop_owners: packages that run the user's loop, or whose decorators are around it. The code
            that called them is the user's.
        own_adapt: why the plain ``adapt`` refuses objects of the frameworks and what to use, as the
            end of a sentence that begins with "state: " and the name of the object's class.
        better_than_a_copy: the end of the same sentence, for objects that the plain ``adapt`` takes
            by copying them, if the integration has something better.
        unpack: gives what the framework has packed into a file of these bytes, and raises an
            exception if they are no such file.
        hold_generators: remembers the framework's global random generators, and returns a function
            that puts them back.
        kind_of: gives what kind of hyperparameter an attribute is, such as "learning_rate" or
            "shrinkage", from an object of the frameworks and the name of the attribute; None if
            nothing is known beyond the name. ``dynhp.attribute`` asks it.

    >>> Integration(package="dynhp_acme", frameworks=("acme",), loop_owners=("acme",)).package
    'dynhp_acme'
    """

    package: str
    frameworks: tuple[str, ...] = ()
    for_users: tuple[str, ...] = ()
    loop_owners: tuple[str, ...] = ()
    own_adapt: str | None = None
    better_than_a_copy: str | None = None
    unpack: Callable[[bytes], Any] | None = None
    hold_generators: Callable[[], Callable[[], None]] | None = None
    kind_of: Callable[[object, str], str | None] | None = None


_registered: dict[str, Integration] = {}  # by package
_loop_owners: set[str] = set()
_attempted: set[str] = set()  # packages of which entry points were loaded, or could not be


def register_integration(integration: Integration) -> None:
    """Tell the core what an integration knows; its package does so when it is imported.

    >>> register_integration(Integration(package="dynhp_example"))
    >>> registered("dynhp_example") is None
    False
    """
    _registered[integration.package] = integration
    _loop_owners.update(integration.loop_owners)


def registered(package: str) -> Integration | None:
    """The integration whose package this is, or None if it is no integration."""
    return _registered.get(package)


def runs_loops(package: str) -> bool:
    """Whether a package is a framework that runs the user's loop, or is called around it."""
    return package in _loop_owners


def integrations_of(kind: type) -> list[Integration]:
    """The integrations that know objects of this class, or of one that it is made from."""
    roots = {each.__module__.partition(".")[0] for each in kind.__mro__} - _KNOWN_TO_THE_CORE
    if not roots:
        return []
    _load_declared(roots)
    return [each for each in _registered.values() if not roots.isdisjoint(each.frameworks)]


def loaded_integrations() -> list[Integration]:
    """Integrations that are imported, or that want to be asked and whose framework is loaded."""
    _load_declared(sys.modules)
    return list(_registered.values())


def loaded_frameworks() -> list[str]:
    """The frameworks that integrations know and that this process has loaded."""
    names = {point.framework for point in _declared()}
    names.update(name for each in _registered.values() for name in each.frameworks)
    return sorted(name for name in names if sys.modules.get(name) is not None)


def package_for(framework: str) -> str | None:
    """The package of an integration that knows this framework, imported or not."""
    packages = [each.package for each in _registered.values() if framework in each.frameworks]
    packages += [point.package for point in _declared() if point.framework == framework]
    return packages[0] if packages else None


class _EntryPoint(NamedTuple):
    """What the entry points of a distribution say of one framework."""

    framework: str
    package: str
    load: Callable[[], Integration] | None  # None if there is nothing to ask


@functools.cache
def _declared() -> tuple[_EntryPoint, ...]:
    from importlib import metadata  # slow to import, and few runs need it

    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.value)
    return tuple(
        _EntryPoint(point.name, point.module.partition(".")[0], point.load if point.attr else None)
        for point in points
    )


def _load_declared(names: Container[str]) -> None:
    """Load the integrations of these frameworks that want to be asked as soon as they are there."""
    for framework, package, load in _declared():
        known = package in _registered or package in _attempted
        if load is None or known or framework not in names or sys.modules.get(framework) is None:
            continue
        _attempted.add(package)
        try:
            integration = load()
        except Exception:  # it needs another version, or is broken: `dynhp check` says so
            continue
        register_integration(integration)
