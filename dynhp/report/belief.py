"""Whether tries that differ can be believed: short ones mislead about some hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynhp.advice import misleading
from dynhp.records import Round

__all__ = ["doubts"]

_LONG = 0.5
"""A try of this share of a run shows what a run shows."""


def doubts(history: Sequence[Round], kinds: Mapping[str, str] | None = None) -> dict[str, str]:
    """What was adapted and is misjudged by short tries, and why; none where tries were long.

    That two values differ for the next epochs says nothing about the end of a run, and no record of
    tries shows by how much they mislead. What is known is known from whole runs, by what a
    hyperparameter is: ``kinds`` says it where names do not. With a name of which nothing is known
    among those adapted, nothing is said.

    >>> doubts([])
    {}
    """
    tried = [round_ for round_ in history if round_.tries]
    if not tried:
        return {}
    epochs = sum(round_.epochs for round_ in history)
    longest = max(try_.epochs for round_ in tried for try_ in round_.tries)
    names = list(tried[0].previous)
    known = misleading(names, kinds)
    if len(known) < len(names) or longest >= _LONG * epochs:
        return {}
    return {name: "; ".join(reasons) for name, reasons in known.items()}
