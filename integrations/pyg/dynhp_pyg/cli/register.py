"""``dynhp linkpred``: train with adaptation, or audit a split."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from dynhp.errors import SettingsError
from dynhp_pyg.cli.audit import audit_command
from dynhp_pyg.cli.options import OneLineParser, add_audit, add_data, add_training, one_line
from dynhp_pyg.cli.train import train_command

__all__ = ["register"]

Command = Callable[[argparse.Namespace], int]


def register(subparsers: Any) -> None:
    """Add ``linkpred`` to the commands of dynhp."""
    parser = subparsers.add_parser(
        "linkpred",
        help="link prediction on graphs",
        description="Train GCN link prediction with adaptation, or look for leaks in a split.",
    )
    parser.error = _refused
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="train|audit", parser_class=OneLineParser
    )
    for name, summary, add_options, command in (
        ("train", "train, adapt, report", (add_data, add_training), train_command),
        ("audit", "count the leaks of a split", (add_data, add_audit), audit_command),
    ):
        action = actions.add_parser(name, help=summary, allow_abbrev=False)
        for add in add_options:
            add(action)
        action.set_defaults(func=_in_one_line(command))


def _refused(message: str) -> NoReturn:
    """Refuse a sub-command that is not known; of one that is gone, say where it went."""
    if "invalid choice: 'reproduce'" in message:
        raise SettingsError(
            "dynhp linkpred has the commands train and audit, got 'reproduce', which is no longer "
            "part of the package; from a checkout: make reproduce PART=headline"
        )
    one_line(message)


def _in_one_line(command: Command) -> Command:
    """Turn what a user can cause into errors that the command line shows in one line."""

    @wraps(command)
    def wrapped(parsed: argparse.Namespace) -> int:
        try:
            return command(parsed)
        except (MemoryError, RuntimeError) as error:
            # torch has no exception of its own for it
            if isinstance(error, RuntimeError) and "memory" not in str(error):
                raise
            raise SettingsError(
                "there is not enough memory for a model of this size; take a smaller --width"
            ) from error
        except ImportError as error:
            raise SettingsError(
                f"dynhp linkpred needs a package that is missing: {error}; "
                "run `pip install 'dynhp[pyg]'`"
            ) from error

    return wrapped
