"""The command ``dynhp``: its own sub-commands and those of other packages."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from dynhp.cli import check, journal, new_integration, plan, report
from dynhp.errors import DynhpError, Hint

__all__ = ["main"]

GROUP = "dynhp.commands"
BUILT_IN = {
    "check": check,
    "journal": journal,
    "new-integration": new_integration,
    "plan": plan,
    "report": report,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, and return its exit code.

    0 is success, 1 failure, 2 misuse, 130 an interrupt, 141 an output that nobody reads any more.

    >>> main(["check", "dynhp.testing.toys:example", "--here"])
    dynhp.testing.toys:example
      ok       restore (not tried in another process: not asked for)
      ok       isolation
      ok       composition
      ok       purity
      ok       force
      ok       order
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        parsed = _parser(arguments).parse_args(arguments)
        with _hints_in_a_line():
            code = int(parsed.func(parsed) or 0)
            sys.stdout.flush()
            return code
    except SystemExit as end:  # from argparse, which has printed its message, or from the command
        return _exit_code(end.code)
    except DynhpError as error:
        print(f"dynhp: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # as by `| head`; what is left goes nowhere, also when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _exit_code(given: object) -> int:
    """The code of ``sys.exit(given)``, as Python understands it: a text is an error message."""
    if given is None:
        return 0
    if isinstance(given, int):
        return given
    print(given, file=sys.stderr)
    return 1


@contextmanager
def _hints_in_a_line() -> Iterator[None]:
    """Show hints without the line of code that they come from: here it is never the user's."""
    usual = warnings.formatwarning

    def in_a_line(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if category is Hint:
            return f"hint: {message}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = in_a_line
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole command, with the plug-ins that these arguments need."""
    parser = argparse.ArgumentParser(
        prog="dynhp", description="Changes hyperparameters while a model trains."
    )
    try:
        version = metadata.version("dynhp")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    parser.add_argument("--version", action="version", version=f"dynhp {version}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in BUILT_IN.values():
        command.register(subparsers)
    _add_plugins(subparsers, arguments)
    return parser


def _add_plugins(subparsers: Any, arguments: Sequence[str]) -> None:
    """Load only the plug-in that is asked for, or all of them if none of that name is known."""
    asked = next((word for word in arguments if not word.startswith("-")), None)
    if asked in BUILT_IN:
        return
    points = {point.name: point for point in metadata.entry_points(group=GROUP)}
    needed = [asked] if asked in points else sorted(points)
    for name in needed:
        try:
            points[name].load()(subparsers)
        except Exception as error:  # a broken plug-in must not stop the other commands
            if name == asked:
                print(
                    f"dynhp: note: the command {name!r} could not be loaded from "
                    f"{points[name].value!r}: {type(error).__name__}: {error}",
                    file=sys.stderr,
                )
