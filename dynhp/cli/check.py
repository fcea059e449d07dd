"""``dynhp check``: checks whether your trainers, or all installed ones, obey the laws."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
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
    """What a factory returns: a maker of trainers, the space, and the laws they break and why."""

    make: Make
    space: SpaceLike
    expected_failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a trainer cannot be checked: a package is missing (skipped), or it is broken itself."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of checking one installed trainer."""

    name: str
    statuses: tuple[str, ...]  # of the laws that were checked
    unusable: Unusable | None = None

    @property
    def row(self) -> tuple[str, ...]:
        """Its row in the table: a trainer that could not be checked says so beside its name."""
        name = self.name if self.unusable is None else f"{self.name}: {self.unusable.status}"
        return (name, *self.statuses, *["-"] * (len(LAWS) - len(self.statuses)))

    @property
    def broken(self) -> bool:
        """Whether the trainer or one of its laws is broken."""
        return "BROKEN" in self.statuses or (
            self.unusable is not None and self.unusable.status == "BROKEN"
        )


def run(parsed: argparse.Namespace) -> int:
    """Check trainers and print a line for each law: 0 if all hold, 1 if something is broken."""
    path_before = list(sys.path)
    sys.path.insert(0, os.getcwd())  # a factory may be in the current directory
    try:
        if not parsed.factories:
            return int(_check_installed(parsed))
        examples = [(name, _named(name)) for name in parsed.factories]
        broken = False
        for name, example in examples:
            print(name)
            broken |= "BROKEN" in list(_checked(example, parsed))
        return int(broken)
    finally:
        sys.path[:] = path_before


def _checked(example: Example, parsed: argparse.Namespace) -> Iterator[str]:
    """Check one law after the other: print a line for each, and give its status."""
    for verdict in verdicts(
        example.make,
        example.space,
        epochs=parsed.epochs,
        another_process=not parsed.here,
        expected_failures=example.expected_failures,
    ):
        print(f"  {verdict}", flush=True)
        yield verdict.status


def _check_installed(parsed: argparse.Namespace) -> bool:
    """Check the trainers of all installed packages, and say whether anything is broken."""
    outcomes = [_check_point(point, parsed) for point in trainer_points()]
    if all(each.unusable is not None and each.unusable.status == "skipped" for each in outcomes):
        raise SettingsError(
            f"no installed package offers a usable trainer in the entry points {GROUP!r}; name one "
            "as module:factory"
        )
    if len(outcomes) > 1:
        print()
        print(text_table([("", *LAWS), *(each.row for each in outcomes)]))
    return any(each.broken for each in outcomes)


def _check_point(point: metadata.EntryPoint, parsed: argparse.Namespace) -> Outcome:
    """Check the trainer of one installed package, which raises nothing, so that others follow."""
    name = point.name
    if point.dist is not None and point.dist.name != "dynhp":
        name += f" ({point.dist.name} {point.dist.version})"
    print(name)
    example = _load(point)
    statuses: list[str] = []
    if isinstance(example, Example):
        try:
            statuses.extend(_checked(example, parsed))
            return Outcome(name, tuple(statuses))
        except (Exception, SystemExit) as error:  # before the first law, or in one of them
            example = Unusable("BROKEN", str(error) or type(error).__name__)
    print(f"  {example}")
    return Outcome(name, tuple(statuses), example)


def trainer_points() -> list[metadata.EntryPoint]:
    """The entry points of all installed trainers, by name."""
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)


def _named(name: str) -> Example:
    """The example of the factory ``module:factory``, or of the integration of this name."""
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
            "or be in the current directory"
        ) from error
    if not callable(factory):
        raise SettingsError(f"{name} must be a function without arguments, got {factory!r}")
    try:
        return _example(name, factory)
    except ImportError as error:
        raise SettingsError(f"{name}() needs a package that is missing: {error}") from error


def _load(point: metadata.EntryPoint) -> Example | Unusable:
    """The example of an installed package, or why there is none; no error of it gets out."""
    try:
        return _example(point.name, point.load())
    except SettingsError as error:
        return Unusable("BROKEN", str(error))
    except (Exception, SystemExit) as error:  # a package must not end the program
        missing = _missing_package(error, point) if isinstance(error, ImportError) else None
        if missing is not None:
            return Unusable("skipped", missing)
        return Unusable("BROKEN", f"{point.value}: {type(error).__name__}: {error}")


def _example(name: str, factory: Callable[[], object]) -> Example:
    """Call a factory and check what it returns; an ImportError of it is raised unchanged."""
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
