"""Whether a value has an effect: on more than where it is kept, and in its own epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from numbers import Number
from typing import Any

from dynhp.records import Candidate, Value
from dynhp.selfcheck.contents import shown
from dynhp.testing.arrays import Spare
from dynhp.testing.difference import difference_beyond
from dynhp.testing.laws.lines import Line, follow
from dynhp.testing.laws.probe import Subject, broken, values_of
from dynhp.trainer import State

LAW = "force"
LONG = 8  # epochs, before a value is said to have no effect


def check_effect(subject: Subject, name: str) -> str:
    """A note where there was nothing to compare; an error where nothing made a difference."""
    candidates = subject.candidates(LAW)
    compared: list[Value] = []
    for base in candidates:
        lines = list(_lines(subject, name, base))
        compared += [value for value, _ in lines]
        for (a, first), (b, second) in combinations(lines, 2):
            if _has_effect(subject, candidates[0], first, second, echo(a, b, scaled=True)):
                _is_not_late(subject, candidates[0], (a, first), (b, second))
                return ""
    values = list(dict.fromkeys(compared))
    if len(values) < 2:
        return f"the effect of {name!r} was not judged: fewer than two of its values can be trained"
    if _has_effect_later(subject, name, candidates[0], values):
        return ""
    raise broken(
        LAW,
        f"{name} made no difference: {', '.join(map(shown, values))} led to the same training "
        f"over {LONG} epochs, apart from where the value itself is kept",
        "train_k does not pass the value on, or sets it where nothing reads it (a copy of the "
        "optimiser's groups, an attribute that was read before)",
        "set the value where training reads it, in every call of train_k; or take "
        f"{name} out of the space",
    )


def _lines(subject: Subject, name: str, base: Candidate) -> Iterator[tuple[Value, Line]]:
    """The lines of the candidates along one axis that can be trained."""
    for candidate in dict.fromkeys([base, *(base.but({name: v}) for v in subject.values(name))]):
        if not subject.failure(candidate):
            yield candidate[name], subject.line(1, candidate)


def echo(a: Value, b: Value, *, scaled: bool) -> Spare:
    """Spares a pair of leaves that only says which values were given; also ``scaled`` ones."""

    def spared(x: Any, y: Any) -> bool:
        if isinstance(x, str) and isinstance(y, str):
            return x.replace(str(a), "?") == y.replace(str(b), "?")
        return (_same(x, a) and _same(y, b)) or (scaled and _in_proportion(x, y, a, b))

    return spared


def _same(x: Any, value: Any) -> bool:
    try:
        return bool(x == value) or math.isclose(x, value, rel_tol=1e-6)
    except Exception:
        return False


def _in_proportion(x: Any, y: Any, a: Any, b: Any) -> bool:
    try:
        return bool(x and y) and math.isclose(x * b, y * a, rel_tol=1e-6)
    except Exception:
        return False


def _is_small(x: Any, y: Any) -> bool:
    """Single numbers and texts: among them are values in other units."""
    return isinstance(x, Number | str | None) and isinstance(y, Number | str | None)


def _has_effect(
    subject: Subject, candidate: Candidate, first: Line, second: Line, spare: Spare
) -> bool:
    if difference_beyond(first.series, second.series, "metrics()", spare):
        return True
    if not difference_beyond(first.state, second.state, "state", spare):
        return False
    if difference_beyond(first.state, second.state, "state", _is_small):
        return True
    # Single numbers differ. If they are the value in another form, one epoch with a common value
    # makes them equal; if they are weights, they stay different.
    return _lasts(subject, candidate, first.state, second.state, spare) is not False


def _lasts(
    subject: Subject, candidate: Candidate, first: State, second: State, spare: Spare
) -> bool | None:
    """Whether two states still differ after an epoch with the same value; None where one fails."""
    lines = []
    for state in (first, second):
        trainer = subject.fresh_at(state)
        try:
            lines.append(follow(trainer, candidate, 1))
        except Exception:
            return None
    return any(
        difference_beyond(a, b, "", spare) is not None
        for a, b in ((lines[0].state, lines[1].state), (lines[0].series, lines[1].series))
    )


def _is_not_late(
    subject: Subject,
    candidate: Candidate,
    first: tuple[Value, Line],
    second: tuple[Value, Line],
) -> None:
    """Values without effect in their first epoch must have none in the epoch after with another."""
    spare = echo(first[0], second[0], scaled=False)
    early = [(line.early, line.series[:1]) for _, line in (first, second)]
    if difference_beyond(early[0], early[1], "", spare) is not None:
        return
    if _lasts(subject, candidate, first[1].early, second[1].early, spare) is True:
        raise broken(
            LAW,
            f"{shown(first[0])} and {shown(second[0])} trained the same epoch, and a difference "
            f"came in the epoch after, trained with {values_of(candidate)} both times",
            "the value is put in force at the end of train_k, or the one before is used first",
            "set the value before the first step of train_k",
        )


def _has_effect_later(subject: Subject, name: str, base: Candidate, values: list[Value]) -> bool:
    """Some values count only after a while, as after a warm-up: train the ends for longer."""
    ends = [min(values, key=_rank), max(values, key=_rank)]
    lines = []
    for value in ends:
        trainer = subject.fresh_at(subject.plain(LAW).states[0])
        try:
            lines.append(follow(trainer, base.but({name: value}), LONG))
        except Exception:  # it ends earlier: then this is no answer
            return False
    return _has_effect(subject, base, lines[0], lines[1], echo(ends[0], ends[1], scaled=True))


def _rank(value: Value) -> tuple[bool, Any]:
    return (isinstance(value, str), value if isinstance(value, str) else float(value or 0))
