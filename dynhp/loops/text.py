"""A loop as the short table that ``print`` shows."""

from __future__ import annotations

from dynhp.adapter import DynamicGridAdapter
from dynhp.planning.budget import plan_for
from dynhp.records.text import text_table

__all__ = ["loop_text"]


def loop_text(adapter: DynamicGridAdapter, unit: str) -> str:
    """What a loop adapts, how, at what cost, and how far it is; ``unit`` is epochs or steps.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> print(adapt(steps=20, state=[Quadratic()], space={"lr": [0.01, 0.1, 1.0]}, minimize="loss",
    ...             adapt_every=5, try_for=1))
    lr     0.01, 0.1, 1.0
    start  lr=0.1
    every  5 steps, tries of 1
    by     lowest('loss')
    plan   20 steps on the main line + 9 overhead = 29: 1.45 runs, 48% of a complete search of 3
    done   0 of 20 steps
    """
    planned = adapter.epochs or 0
    in_force = ", ".join(f"{name}={value}" for name, value in adapter.current.items())
    rows = [
        *((name, _shown(axis.grid())) for name, axis in adapter.space.items()),
        ("now" if adapter.history else "start", in_force),
        ("every", f"{adapter.adapt_every} {unit}, tries of {adapter.try_for}"),
        ("by", str(adapter.criterion)[:200]),
        ("plan", str(plan_for(adapter, planned)).replace("epochs", unit)),
        ("done", f"{adapter.epoch} of {planned} {unit}"),
    ]
    return text_table(rows)


def _shown(values: tuple[object, ...]) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:4], "...", *texts[-3:]])[:200]
