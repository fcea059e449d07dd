"""A run as text: its schedule as a small picture, its cost and its choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynhp.advice import doubts
from dynhp.planning.budget import Plan, spent
from dynhp.records import Round, Value
from dynhp.records.history import kept_epochs
from dynhp.records.text import harmless, label
from dynhp.report.luck import luck_of

__all__ = ["cost_parts", "nothing_chosen", "schedule_picture", "summary", "values_seen"]


def schedule_picture(history: Sequence[Round], name: str, *, width: int = 60) -> str:
    """Draw the values of one hyperparameter over the main line.

    Args:
        history: the rounds of the run.
        name: the hyperparameter.
        width: how many columns the epochs are spread over.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> history = complete_search(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                           epochs=10)
    >>> print(schedule_picture(history, "lr", width=10))
    lr
    0.5 ┤██████████
    0.1 ┤
         0       10
    """
    kept = kept_epochs(history)
    epochs = sum(kept)
    seen = values_seen(history, name)
    rows = _rows(seen)
    line = [
        round_.candidate[name]
        for round_, count in zip(history, kept, strict=True)
        for _ in range(count)
    ]
    columns = [line[i * len(line) // width] for i in range(width)]
    margin = max(len(text) for text, _ in rows)
    picture = [name]
    for text, members in rows:
        marks = "".join("█" if value in members else " " for value in columns)
        picture.append(f"{text:>{margin}} ┤{marks}".rstrip())
    end = str(epochs)
    picture.append(" " * (margin + 2) + "0" + " " * (width - 1 - len(end)) + end)
    return "\n".join(picture)


def values_seen(history: Sequence[Round], name: str) -> set[Value]:
    """All values of one hyperparameter that were tried or in force."""
    tried = {try_.candidate[name] for round_ in history for try_ in round_.tries}
    return tried | {round_.candidate[name] for round_ in history}


def summary(history: Sequence[Round], *, plan: Plan | None = None) -> str:
    """Say what a run cost compared with its plan, and what to think of its choices.

    >>> print(summary([]))
    No rounds yet.
    """
    lines = []
    cost = spent(history, candidates=None if plan is None else plan.most.candidates)
    ended = history[-1].ended if history else ""
    if cost.main_line:
        planned = None if plan is None or ended else plan.most.main_line
        lines.append(f"Cost: {cost.text(planned)}.")
        if plan is not None:
            lines.append(f"Plan: {plan}.")
    if ended:
        lines.append(f"It ended after {cost.main_line} {cost.unit}: {harmless(ended)}.")
    tried = [round_ for round_ in history if round_.tries]
    if nothing_chosen(tried):
        nothing = "Nothing was chosen: each round had one value, and none was tried beside it."
        return "\n".join([*lines, nothing])
    if tried:
        lines.append(_checked(tried))
    rescues = sum(round_.rescue for round_ in tried)
    if rescues:
        lines.append(f"The main line was rescued {rescues} times.")
    failed = sum(try_.error is not None for round_ in history for try_ in round_.tries)
    if failed:
        lines.append(f"{failed} tries failed; they trained fewer {cost.unit} than planned.")
    lines.append(str(luck_of(tried)) if tried or not history else "No round was due.")
    lines += [f"Short tries mislead about {name}: {why}." for name, why in doubts(history).items()]
    return "\n".join(lines)


def cost_parts(history: Sequence[Round]) -> dict[str, int]:
    """The epochs of a run by what they were trained for.

    >>> cost_parts([])
    {'main line': 0, 'tries': 0, 'self-check': 0, 'abandoned': 0}
    """
    cost = spent(history)
    checked = sum(round_.checked for round_ in history)
    return {
        "main line": cost.main_line,
        "tries": cost.overhead - checked,
        "self-check": checked,
        "abandoned": cost.abandoned,
    }


def nothing_chosen(history: Sequence[Round]) -> bool:
    """Whether values were only followed: one in each round, and no epoch beside the main line.

    >>> from dynhp import fixed
    >>> from dynhp.testing import Quadratic
    >>> nothing_chosen(fixed(Quadratic(), {"lr": 0.1}, epochs=10))
    True
    """
    tried = [round_ for round_ in history if round_.tries]
    return bool(tried) and all(
        len(round_.tries) == 1 and not round_.overhead and not round_.rescue for round_ in tried
    )


def _checked(history: Sequence[Round]) -> str:
    """Whether tries were shown to leave no trace."""
    checked = [round_ for round_ in history if round_.checked]
    if not checked:
        return "Self-check: none; no try was carried out again."
    tolerance = max(round_.tolerance for round_ in checked)
    how = f"within a tolerance of {tolerance:g}" if tolerance else "to the bit"
    rounds = "1 round" if len(checked) == 1 else f"{len(checked)} rounds"
    return f"Self-check: in {rounds} a try, carried out again, gave the same result {how}."


def _rows(seen: set[Value], most: int = 12) -> list[tuple[str, set[Value]]]:
    """The rows of the picture, highest first: a value each, or a range each if there are many."""
    order: list[Any] = list(seen)
    numbers = all(isinstance(value, int | float) for value in order)
    order.sort(key=None if numbers else str, reverse=True)
    if len(order) <= most:
        return [(label(value), {value}) for value in order]
    groups = [order[i * len(order) // most : (i + 1) * len(order) // most] for i in range(most)]
    return [(label(group[0]), set(group)) for group in groups]
