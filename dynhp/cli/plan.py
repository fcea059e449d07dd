"""``dynhp plan``: what a run will cost, before anything is trained, and what fits a budget."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from dynhp._checks import require_count
from dynhp.errors import SettingsError
from dynhp.planning.budget import Cost, plan
from dynhp.records.text import text_table
from dynhp.selection import Best, Racing, Selection


class Suggestion(NamedTuple):
    """A pair of lengths, and what it costs."""

    adapt_every: int
    try_for: int
    racing: bool
    cost: Cost


def register(subparsers: Any) -> None:
    """Add the command to the others."""
    parser = subparsers.add_parser(
        "plan",
        help="show what a run will cost",
        description="Show what a run of that many epochs costs with that many candidates, as "
        "plan(...) counts it; with --overhead, which adapt_every and try_for fit a budget by the "
        "rule of docs/how-long.md.",
    )
    parser.add_argument("--epochs", type=int, required=True, help="of the main line")
    parser.add_argument("--candidates", type=int, required=True, help="tried in each round")
    parser.add_argument("--adapt-every", type=int, help="the epochs of a round")
    parser.add_argument("--try-for", type=int, help="the epochs of a try")
    parser.add_argument("--overhead", type=float, help="the most to spend beside the run, in runs")
    parser.add_argument("--racing", action="store_true", help="halve the tries after each stage")
    parser.add_argument("--check", choices=("first", "every", "off"), default="first")
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the table, and a recommendation if a budget was given."""
    epochs = require_count("--epochs", parsed.epochs)
    require_count("--candidates", parsed.candidates)
    if (parsed.adapt_every is None) != (parsed.try_for is None):
        raise SettingsError("--adapt-every and --try-for go together; give both or none")
    if parsed.adapt_every is not None and parsed.overhead is not None:
        raise SettingsError(
            "--overhead asks for lengths that fit, but --adapt-every and --try-for give them; "
            "leave out the one or the others"
        )
    if parsed.adapt_every is not None:
        given = _suggestion(parsed, parsed.adapt_every, parsed.try_for, racing=parsed.racing)
        print(f"{given.cost}")
        return 0
    print(table(_candidates(parsed, epochs)))
    if parsed.overhead is not None:
        print(_recommended(parsed, epochs))
    return 0


def table(rows: list[Suggestion]) -> str:
    """The costs as a table."""
    head = ("adapt_every", "try_for", "rounds", "racing", "overhead", "epochs in all", "runs")
    lines = [
        (
            str(row.adapt_every),
            str(row.try_for),
            str(-(-row.cost.main_line // row.adapt_every)),
            "yes" if row.racing else "no",
            str(row.cost.overhead),
            str(row.cost.total),
            f"{row.cost.runs:.2f}",
        )
        for row in rows
    ]
    return text_table([head, *lines], right=True)


def _suggestion(
    parsed: argparse.Namespace, adapt_every: int, try_for: int, *, racing: bool
) -> Suggestion:
    # Three stages or so: fewer would spare little, more would judge by one epoch each.
    selection: Selection = Racing(every=max(1, try_for // 4)) if racing else Best()
    cost = plan(
        epochs=parsed.epochs,
        adapt_every=adapt_every,
        try_for=try_for,
        candidates=parsed.candidates,
        selection=selection,
        check=parsed.check,
    )
    return Suggestion(adapt_every, try_for, racing, cost)


def _candidates(parsed: argparse.Namespace, epochs: int) -> list[Suggestion]:
    """Four and eight rounds, tries of a half, a quarter and one epoch; all tries, and raced."""
    pairs = dict.fromkeys(
        (every, max(1, min(every, length)))
        for every in (-(-epochs // 4), -(-epochs // 8))
        for length in (every // 2, every // 4, 1)
    )
    kinds = (True,) if parsed.racing else (False, True)
    return [_suggestion(parsed, *pair, racing=racing) for pair in pairs for racing in kinds]


def _recommended(parsed: argparse.Namespace, epochs: int) -> str:
    """What fits: first the length of tries by the rule, then fewer rounds, then shorter tries."""
    if not parsed.overhead > 0:
        raise SettingsError(f"--overhead must be above 0, got {parsed.overhead!r}")
    limit = parsed.overhead * epochs
    for share in range(50, 4, -5):  # of a round, in percent; shorter tries come last
        for rounds in (8, 6, 5, 4):
            every = -(-epochs // rounds)
            length = max(1, every * share // 100)
            for racing in (True,) if parsed.racing else (False, True):
                row = _suggestion(parsed, every, length, racing=racing)
                if row.cost.overhead > limit:
                    continue
                raced = f", selection=Racing(every={max(1, length // 4)})" if racing else ""
                text = (
                    f"Recommended: adapt_every={every}, try_for={length}{raced}: "
                    f"{row.cost.runs:.2f} runs."
                )
                if share < 50:
                    text += (
                        " Tries of half a round would be safer: fewer candidates would pay for "
                        "them."
                    )
                return text
    row = _suggestion(parsed, -(-epochs // 4), 1, racing=True)
    count = -(-epochs // row.adapt_every)
    such = "1 round" if count == 1 else f"{count} rounds"
    return (
        f"Nothing that is worth a try fits {parsed.overhead:g} runs: {such} "
        f"with tries of one epoch cost {row.cost.overhead / epochs:.2f}. Take fewer candidates."
    )
