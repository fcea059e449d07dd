"""``dynhp check``: checks the laws of trainers, for a factory of yours or for all installed."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from dynhp.errors import SettingsError
from dynhp.spaces import SpaceLike
from dynhp.testing.laws import Make, verdicts

GROUP = "dynhp.trainers"


@dataclass(frozen=True, slots=True)
class Example:
    """What a factory gives: a trainer's maker, its space, and the laws it cannot keep and why."""

    make: Make
    space: SpaceLike
    expected_failures: Mapping[str, str] = field(default_factory=dict)


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
        metavar="module:factory",
        help="what to check; without any, every trainer of the installed packages",
    )
    parser.add_argument("--epochs", type=int, default=2, help="how long to train (default 2)")
    parser.add_argument("--here", action="store_true", help="start no other process")
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Check each factory and print a line for each law: 0 where all hold, 1 where one is broken."""
    with _current_directory_importable():
        if parsed.factories:
            examples = [(name, _named(name)) for name in parsed.factories]
            held = [_check(name, example, parsed) for name, example in examples]
        else:
            held = _check_installed(parsed)
    return 0 if all(held) else 1


def _check(name: str, example: Example, parsed: argparse.Namespace) -> bool:
    print(name)
    held = []
    for verdict in verdicts(
        example.make,
        example.space,
        epochs=parsed.epochs,
        another_process=not parsed.here,
        expected_failures=example.expected_failures,
    ):
        print(f"  {verdict}", flush=True)
        held.append(verdict.status != "BROKEN")
    return all(held)


def _check_installed(parsed: argparse.Namespace) -> list[bool]:
    """Check the trainers of all installed packages; one that is broken does not hide the others."""
    held = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name):
        try:
            example = _example(point.name, point.load())
            held.append(_check(point.name, example, parsed))
        except ImportError as error:
            print(f"{point.name}\n  skipped  {error}")
        except (SettingsError, AttributeError) as error:
            print(f"{point.name}\n  BROKEN   {error}")
            held.append(False)
    if not held:
        raise SettingsError(
            f"no installed package offers a trainer in the entry points {GROUP!r}; name one as "
            "module:factory"
        )
    return held


def _named(name: str) -> Example:
    try:
        return _example(name, _load(name))
    except ImportError as error:
        raise SettingsError(f"{name}() needs a package that is missing: {error}") from error


def _load(name: str) -> Callable[[], object]:
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise SettingsError(f"a factory is named module:factory, got {name!r}")
    try:
        factory: Any = importlib.import_module(module)
        for part in path.split("."):
            factory = getattr(factory, part)
    except Exception as error:
        raise SettingsError(
            f"cannot find {name!r}: {type(error).__name__}: {error}. The module must be installed "
            "or lie in the current directory"
        ) from error
    if not callable(factory):
        raise SettingsError(f"{name} must be a function without arguments, got {factory!r}")
    return factory  # type: ignore[no-any-return]


def _example(name: str, factory: Callable[[], object]) -> Example:
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


@contextmanager
def _current_directory_importable() -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before
