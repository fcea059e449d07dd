"""``dynhp check``: checks the laws of trainers, for a factory of yours or for all installed."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from operator import attrgetter
from typing import Any, Literal

from dynhp.errors import SettingsError, nearest
from dynhp.records.text import text_table
from dynhp.spaces import SpaceLike
from dynhp.testing.laws import LAWS
from dynhp.testing.laws.check import verdicts
from dynhp.testing.laws.experiments import Make

GROUP = "dynhp.trainers"


@dataclass(frozen=True, slots=True)
class Example:
    """What a factory gives: a trainer's maker, its space, and the laws it cannot keep and why."""

    make: Make
    space: SpaceLike
    expected_failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a trainer cannot be checked: a package is missing (skipped), or it is BROKEN itself."""

    status: Literal["skipped", "BROKEN"]
    reason: str

    def __str__(self) -> str:
        return f"{self.status:<9}{self.reason}"


def register(subparsers: Any) -> None:
    """Add the command to the others."""
    parser = subparsers.add_parser(
        "check",
        help="check the laws of trainers",
        description="Check the laws that dynhp relies on. A factory is a function without "
        "arguments that returns (make, space) or (make, space, expected_failures); make() "
        "builds a fresh trainer.",
    )
    parser.add_argument(
        "factories",
        nargs="*",
        metavar="name",
        help="what to check: a factory of yours as module:factory, or an installed integration by "
        "its name; without any, all installed ones, with a table at the end",
    )
    parser.add_argument("--epochs", type=int, default=2, help="how long to train (default 2)")
    parser.add_argument("--here", action="store_true", help="start no other process")
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Check each factory and print a line for each law: 0 if all hold, 1 if one is broken."""
    path_before = list(sys.path)
    sys.path.insert(0, os.getcwd())  # a factory may lie in the current directory
    try:
        if parsed.factories:
            examples = [(name, _named(name)) for name in parsed.factories]
            results = [_check(name, example, parsed) for name, example in examples]
        else:
            results = _check_installed(parsed)
    finally:
        sys.path[:] = path_before
    return 1 if any("BROKEN" in statuses for statuses in results) else 0


def _check(name: str, example: Example, parsed: argparse.Namespace) -> list[str]:
    """Print a line for each law, and return their statuses."""
    print(name)
    statuses: list[str] = []
    for verdict in verdicts(
        example.make,
        example.space,
        epochs=parsed.epochs,
        another_process=not parsed.here,
        expected_failures=example.expected_failures,
    ):
        print(f"  {verdict}", flush=True)
        statuses.append(verdict.status)
    return statuses


def _check_installed(parsed: argparse.Namespace) -> list[list[str]]:
    """Check the trainers of all installed packages; a broken one does not hide the others."""
    results: dict[str, list[str]] = {}
    for point in trainer_points():
        name = point.name
        if point.dist is not None and point.dist.name != "dynhp":
            name += f" ({point.dist.name} {point.dist.version})"
        example = _load(point)
        if isinstance(example, Example):
            try:
                results[name] = _check(name, example, parsed)
                continue
            except (Exception, SystemExit) as error:  # the laws could not even begin
                example = Unusable("BROKEN", str(error) or type(error).__name__)
                print(f"  {example}")
        else:
            print(f"{name}\n  {example}")
        results[name] = [example.status, *["-"] * (len(LAWS) - 1)]
    if all("skipped" in statuses for statuses in results.values()):
        raise SettingsError(
            f"no installed package offers a usable trainer in the entry points {GROUP!r}; name one "
            "as module:factory"
        )
    if len(results) > 1:
        print()
        print(text_table([("", *LAWS), *((name, *row) for name, row in results.items())]))
    return list(results.values())


def trainer_points() -> list[metadata.EntryPoint]:
    """The entry points of all installed trainers, by name."""
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)


def _named(name: str) -> Example:
    """The example of a factory, named module:factory, or of an installed integration."""
    module, colon, path = name.partition(":")
    if not colon:
        points = {point.name: point for point in trainer_points()}
        if name not in points:
            raise SettingsError(
                f"a factory is named module:factory, and an installed integration by its name, got "
                f"{name!r}{nearest(name, points)}"
            )
        example = _load(points[name])
        if isinstance(example, Unusable):
            raise SettingsError(f"{name} cannot be checked: {example.reason}")
        return example
    if not (module and path):
        raise SettingsError(f"a factory is named module:factory, got {name!r}")
    try:
        factory = attrgetter(path)(importlib.import_module(module))
    except Exception as error:
        raise SettingsError(
            f"cannot find {name!r}: {type(error).__name__}: {error}. The module must be installed "
            "or lie in the current directory"
        ) from error
    if not callable(factory):
        raise SettingsError(f"{name} must be a function without arguments, got {factory!r}")
    try:
        return _example(name, factory)
    except ImportError as error:
        raise SettingsError(f"{name}() needs a package that is missing: {error}") from error


def _load(point: metadata.EntryPoint) -> Example | Unusable:
    """The example of an installed package, or why there is none; the package raises nothing."""
    try:
        return _example(point.name, point.load())
    except SettingsError as error:
        return Unusable("BROKEN", str(error))
    except (Exception, SystemExit) as error:  # a package that ends the program ends only itself
        missing = _missing_package(error, point) if isinstance(error, ImportError) else None
        if missing is not None:
            return Unusable("skipped", missing)
        return Unusable("BROKEN", f"{point.value}: {type(error).__name__}: {error}")


def _example(name: str, factory: Callable[[], object]) -> Example:
    """Call a factory and refuse what is no example; a missing package stays an ImportError."""
    try:
        made = factory()
    except ImportError:
        raise
    except Exception as error:
        raise SettingsError(f"{name}() raised {type(error).__name__}: {error}") from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise SettingsError(
            f"{name}() must return (make, space) or (make, space, expected_failures), got {made!r}"
        )
    return Example(*made)


def _missing_package(error: ImportError, point: metadata.EntryPoint) -> str | None:
    """What to install, or None if a module of the package itself is missing, which is a bug."""
    text = str(error)
    if "pip install" in text:
        return text
    missing: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError):
            missing.add((cause.name or "").partition(".")[0])
        cause = cause.__cause__
    if not missing - {point.module.partition(".")[0]}:
        return None
    if point.dist is None:
        return text
    extras = point.dist.metadata.get_all("Provides-Extra") or []
    extra = f"[{point.name}]" if point.name in extras else ""
    return f"{text}: pip install '{point.dist.name}{extra}'"
