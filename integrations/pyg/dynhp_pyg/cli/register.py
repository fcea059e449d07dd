"""``dynhp linkpred``: train with adaptation, audit a split, or reproduce the paper."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import wraps
from typing import Any

from dynhp.errors import SettingsError
from dynhp_pyg.cli.audit import audit_command
from dynhp_pyg.cli.options import OneLineParser, add_audit, add_data, add_training, one_line
from dynhp_pyg.cli.reproduce import add_reproduction, reproduce_command
from dynhp_pyg.cli.train import train_command

__all__ = ["register"]

Command = Callable[[argparse.Namespace], int]


def register(subparsers: Any) -> None:
    """Add ``linkpred`` to the commands of dynhp."""
    parser = subparsers.add_parser(
        "linkpred",
        help="link prediction on graphs",
        description="Train GCN link prediction with adaptation, look for leaks in a split, or "
        "reproduce the AdaGrid paper.",
    )
    parser.error = one_line
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="train|audit|reproduce", parser_class=OneLineParser
    )
    for name, summary, add_options, command in (
        ("train", "train, adapt, report", (add_data, add_training), train_command),
        ("audit", "count the leaks of a split", (add_data, add_audit), audit_command),
        (
            "reproduce",
            "all tables of the AdaGrid paper, published and reproduced",
            (add_reproduction,),
            reproduce_command,
        ),
    ):
        action = actions.add_parser(name, help=summary, allow_abbrev=False)
        for add in add_options:
            add(action)
        action.set_defaults(func=_in_one_line(command))


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
