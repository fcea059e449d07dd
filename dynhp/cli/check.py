"""``dynhp check``: checks the laws of trainers, for a factory of yours or for all installed."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dynhp.cli.installed import GROUP, Example, Unusable, example_of, load, title, trainer_points
from dynhp.errors import SettingsError, nearest
from dynhp.records.text import text_table
from dynhp.testing.laws import LAWS, verdicts


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
    """Check each factory and print a line for each law: 0 where all hold, 1 where one is broken."""
    with _current_directory_importable():
        if parsed.factories:
            examples = [(name, _named(name)) for name in parsed.factories]
            results = [_check(name, example, parsed) for name, example in examples]
        else:
            results = _check_installed(parsed)
    return 0 if not any("BROKEN" in statuses for statuses in results) else 1


def _check(name: str, example: Example, parsed: argparse.Namespace) -> list[str]:
    """Print a line for each law, and give what each came to."""
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
    """Check the trainers of all installed packages; one that is amiss does not hide the others."""
    results: dict[str, list[str]] = {}
    for point in trainer_points():
        example = load(point)
        if isinstance(example, Example):
            try:
                results[title(point)] = _check(title(point), example, parsed)
                continue
            except (Exception, SystemExit) as error:  # the laws could not even begin
                example = Unusable("BROKEN", str(error) or type(error).__name__)
                print(f"  {example}")
        else:
            print(f"{title(point)}\n  {example}")
        results[title(point)] = [example.status, *["-"] * (len(LAWS) - 1)]
    if all("skipped" in statuses for statuses in results.values()):
        raise SettingsError(
            f"no installed package offers a usable trainer in the entry points {GROUP!r}; name one "
            "as module:factory"
        )
    if len(results) > 1:
        print()
        print(text_table([("", *LAWS), *((name, *row) for name, row in results.items())]))
    return list(results.values())


def _named(name: str) -> Example:
    if ":" not in name:
        return _installed(name)
    try:
        return example_of(name, _load(name))
    except ImportError as error:
        raise SettingsError(f"{name}() needs a package that is missing: {error}") from error


def _installed(name: str) -> Example:
    """The example of an installed integration, by its name alone."""
    points = {point.name: point for point in trainer_points()}
    if name not in points:
        raise SettingsError(
            f"a factory is named module:factory, and an installed integration by its name, got "
            f"{name!r}{nearest(name, points)}"
        )
    example = load(points[name])
    if isinstance(example, Unusable):
        raise SettingsError(f"{name} cannot be checked: {example.reason}")
    return example


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


@contextmanager
def _current_directory_importable() -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before
