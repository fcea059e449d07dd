"""The short table that ``print(loop)`` shows."""

from __future__ import annotations

from dynhp.adapter import DynamicGridAdapter
from dynhp.policy import Policy
from dynhp.proposers.contract import searched_text
from dynhp.records import Candidate
from dynhp.records.text import text_table
from dynhp.records.units import Unit


def loop_text(adapter: DynamicGridAdapter, unit: Unit) -> str:
    """What a loop adapts, how, at what cost, and how far it has come, in epochs or steps.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> print(adapt(steps=20, state=[Quadratic()], space={"lr": [0.01, 0.1, 1.0]}, minimize="loss",
    ...             adapt_every=5, try_for=1))
    lr     0.01, 0.1, 1.0
    start  lr=0.1
    every  5 steps, tries of 1
    by     lowest('loss')
    plan   20 steps on the main line + 10 overhead = 30: 1.50 runs, 50% of a complete search of 3
    done   0 of 20 steps
    """
    from dynhp.planning.budget import plan_for  # only a loop that is printed needs it

    planned, policy = adapter.epochs or 0, adapter.policy
    in_force = ", ".join(f"{name}={value}" for name, value in adapter.current.items())
    tries = f"tries of {policy.try_epochs(planned)}"
    if tail := policy.tail_epochs(planned, unit):
        tries += f" and a tail of {tail}"
    if policy.start_from != "here":
        tries += f" from {policy.start_from}"
    if policy.adapt_every is None:
        when = ("when", f"{str(policy.when)[:200]}, {tries}")
    else:
        when = ("every", f"{policy.adapt_every} {unit}, {tries}")
    rows = [
        *((name, _searched(policy, name, adapter.current)) for name in policy.space),
        *([("now" if adapter.history else "start", in_force), when] if policy.space else []),
        *([] if policy.course is None else [("course", str(policy.course)[:200])]),
        ("by", str(policy.criterion)[:200]),
        ("plan", str(plan_for(adapter, planned))),
        *([] if policy.until is None else [("until", str(policy.until)[:200])]),
        ("done", _done(adapter, planned, unit)),
    ]
    return text_table(rows)


def _done(adapter: DynamicGridAdapter, planned: int, unit: Unit) -> str:
    """How far the run has come, or why it has ended."""
    rounds = adapter.history
    if rounds and rounds[-1].ended:
        return f"{adapter.epoch} {unit}, and ended: {rounds[-1].ended[:200]}"
    most = "" if adapter.policy.until is None else "at most "
    return f"{adapter.epoch} of {most}{planned} {unit}"


def _searched(policy: Policy, name: str, current: Candidate) -> str:
    """The values that may be tried: as the proposer describes them, or else those of the grid."""
    axis = policy.space[name]
    words = searched_text(policy.proposer, axis, current[name])
    if words is not None:
        return words
    values = [str(value) for value in axis.grid()]
    return ", ".join(values if len(values) <= 8 else [*values[:4], "...", *values[-3:]])[:200]
