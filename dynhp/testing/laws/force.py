"""Force: values have an effect, unknown names are refused, and what is read back is true."""

from __future__ import annotations

import math
from itertools import combinations
from numbers import Number
from typing import Any

from dynhp.errors import ValueNotInForce
from dynhp.read_back import check_in_force
from dynhp.records import Candidate, Value
from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.difference import Ignore, difference, difference_beyond
from dynhp.testing.laws.experiments import (
    Line,
    Subject,
    broken,
    copy_of,
    error_line,
    follow,
    refuse,
    values_of,
)
from dynhp.trainer import ReadsBack, State, Trainer

LAW = "force"
UNKNOWN = "no_such_hyperparameter"
LONG = 8  # epochs, before a value is said to have no effect


def check(subject: Subject) -> tuple[str, ...]:
    """Try values against each other on every axis, an unknown name, and the read-back."""
    candidates = subject.candidates(LAW)
    notes = [_middle_values_can_be_trained(subject, candidates[0], name) for name in subject.space]
    if subject.repeatable():
        notes += [_has_effect_in_time(subject, name) for name in subject.space]
    else:
        names = ", ".join(map(repr, subject.space))
        notes.append(
            f"the effect of {names} was not judged: no result is the same twice, see restore"
        )
    _unknown_is_refused(subject, candidates[0])
    if len(subject.space) > 1:
        _names_count(subject, candidates[0])
    if subject.offers(ReadsBack):
        _are_told_before_training(subject)
        _names_are_shared(subject, candidates[0])
        _values_are_true(subject, subject.every(LAW))
        _are_set_without_an_epoch(subject, subject.every(LAW))
    return tuple(note for note in notes if note)


def _middle_values_can_be_trained(subject: Subject, base: Candidate, name: str) -> str:
    """A note on values that fail; an error if values on both sides of one can be trained."""
    values = subject.values(name)
    failures = [subject.failure(base.but({name: value})) for value in values]
    trained = [i for i, failure in enumerate(failures) if not failure]
    for i, failure in enumerate(failures):
        if failure and trained[0] < i < trained[-1]:
            raise broken(
                LAW,
                f"{name}={shown(values[i])} raised {failure}, though {values[trained[0]]!r} and "
                f"{values[trained[-1]]!r} can be trained",
                "the value is looked up in a table, or checked, where it is not known",
                "let train_k accept it, or take it out of the space",
            )
    bad = [f"{values[i]!r} ({failure})" for i, failure in enumerate(failures) if failure]
    return f"{name}: could not be trained: {', '.join(bad)}" if bad else ""


def _has_effect_in_time(subject: Subject, name: str) -> str:
    """A note if there was nothing to compare; an error if nothing made a difference, or late."""
    candidates = subject.candidates(LAW)
    compared: list[Value] = []
    for base in candidates:
        along = dict.fromkeys([base, *(base.but({name: v}) for v in subject.values(name))])
        trained = [candidate for candidate in along if not subject.failure(candidate)]
        lines = [(candidate[name], subject.line(1, candidate)) for candidate in trained]
        compared += [value for value, _ in lines]
        for (a, first), (b, second) in combinations(lines, 2):
            if _has_effect(subject, candidates[0], first, second, _echo(a, b, scaled=True)):
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


def _echo(a: Value, b: Value, *, scaled: bool) -> Ignore:
    """Ignore a pair of leaves that only says which values were given; also ``scaled`` ones."""

    def same(x: Any, value: Any) -> bool:
        try:
            return bool(x == value) or math.isclose(x, value, rel_tol=1e-6)
        except Exception:
            return False

    def in_proportion(x: Any, y: Any) -> bool:
        first: Any = a
        second: Any = b
        try:
            return bool(x and y) and math.isclose(x * second, y * first, rel_tol=1e-6)
        except Exception:
            return False

    def ignored(x: Any, y: Any) -> bool:
        if isinstance(x, str) and isinstance(y, str):
            return x.replace(str(a), "?") == y.replace(str(b), "?")
        return (same(x, a) and same(y, b)) or (scaled and in_proportion(x, y))

    return ignored


def _is_small(x: Any, y: Any) -> bool:
    """Single numbers and texts: among them are values in other units."""
    return isinstance(x, Number | str | None) and isinstance(y, Number | str | None)


def _has_effect(
    subject: Subject, candidate: Candidate, first: Line, second: Line, ignore: Ignore
) -> bool:
    if difference_beyond(first.series, second.series, "metrics()", ignore=ignore):
        return True
    if not difference_beyond(first.state, second.state, "state", ignore=ignore):
        return False
    if difference_beyond(first.state, second.state, "state", ignore=_is_small):
        return True
    # Single numbers differ. If they are the value in another form, one epoch with a common value
    # makes them equal; if they are weights, they stay different.
    return _lasts(subject, candidate, first.state, second.state, ignore) is not False


def _lasts(
    subject: Subject, candidate: Candidate, first: State, second: State, ignore: Ignore
) -> bool | None:
    """Whether two states still differ after an epoch with the same value; None if one fails."""
    lines = []
    for state in (first, second):
        trainer = subject.fresh_at(state)
        try:
            lines.append(follow(trainer, candidate, 1))
        except Exception:
            return None
    return any(
        difference_beyond(a, b, "", ignore=ignore) is not None
        for a, b in ((lines[0].state, lines[1].state), (lines[0].series, lines[1].series))
    )


def _is_not_late(
    subject: Subject,
    candidate: Candidate,
    first: tuple[Value, Line],
    second: tuple[Value, Line],
) -> None:
    """Values without effect in their first epoch must have none in the epoch after with another."""
    ignore = _echo(first[0], second[0], scaled=False)
    early = [(line.early, line.series[:1]) for _, line in (first, second)]
    if difference_beyond(early[0], early[1], "", ignore=ignore) is not None:
        return
    if _lasts(subject, candidate, first[1].early, second[1].early, ignore) is True:
        raise broken(
            LAW,
            f"{shown(first[0])} and {shown(second[0])} trained the same epoch, and a difference "
            f"came in the epoch after, trained with {values_of(candidate)} both times",
            "the value is put in force at the end of train_k, or the one before is used first",
            "set the value before the first step of train_k",
        )


def _has_effect_later(subject: Subject, name: str, base: Candidate, values: list[Value]) -> bool:
    """Some values count only after a while, as after a warm-up: train the ends for longer."""

    def rank(value: Value) -> tuple[bool, Any]:
        return (isinstance(value, str), value if isinstance(value, str) else float(value or 0))

    ends = [min(values, key=rank), max(values, key=rank)]
    lines = []
    for value in ends:
        trainer = subject.fresh_at(subject.plain(LAW).states[0])
        try:
            lines.append(follow(trainer, base.but({name: value}), LONG))
        except Exception:  # it ends earlier: then this is no answer
            return False
    return _has_effect(subject, base, lines[0], lines[1], _echo(ends[0], ends[1], scaled=True))


def _unknown_is_refused(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh_at(subject.plain(LAW).states[1])
    for when in ("", " after an epoch without it"):
        try:
            trainer.train_k(1, candidate.but({UNKNOWN: 0.5}))
        except Exception:
            trainer = subject.fresh_at(subject.plain(LAW).states[1])
            trainer.train_k(1, candidate)
            continue
        raise broken(
            LAW,
            f"train_k accepted a hyperparameter called {UNKNOWN!r}{when}",
            "values are looked up by name and the rest is dropped",
            "raise an error for names that are left over, or a misspelt name will be adapted "
            "without effect",
        )


def _names_count(subject: Subject, candidate: Candidate) -> None:
    turned_round = Candidate(dict(reversed(list(candidate.items()))))
    after = subject.trained(subject.plain(LAW).states[1], turned_round, [1])
    refuse(
        LAW,
        difference(subject.line(1, candidate).early, after.state),
        f"{values_of(candidate)} and the same values in another order led to different states",
        "train_k takes the values in their order",
        "look each value up by its name",
    )


def _are_told_before_training(subject: Subject) -> None:
    """A run asks a new trainer which value it starts with; one may also be set back first."""
    state = subject.plain(LAW).states[1]
    for made, what in ((subject.fresh(), "new trainer"), (subject.fresh_at(state), "set_state")):
        trainer: Any = made
        try:
            trainer.hyperparameters()
        except Exception as error:
            raise broken(
                LAW,
                f"hyperparameters() raised {error_line(error)} on a trainer that has trained "
                f"nothing yet ({what})",
                "a hyperparameter has no default: its attribute is there only once train_k has set "
                "it",
                "give it a default in __init__, with which training would begin; or leave the name "
                "out of hyperparameters() as long as none is in force",
            ) from error


def _names_are_shared(subject: Subject, candidate: Candidate) -> None:
    trainer: Any = subject.fresh()
    trainer.train_k(1, candidate)
    names = list(trainer.hyperparameters())
    if not set(names) & set(candidate):
        raise broken(
            LAW,
            f"hyperparameters() has the names {shown(names)} after training with "
            f"{values_of(candidate)}",
            "it uses other names than train_k; nothing can be read back then",
            "use the names of train_k in hyperparameters() too",
        )


def _values_are_true(subject: Subject, candidates: list[Candidate]) -> None:
    trainer = subject.fresh()
    state = copy_of(trainer.get_state())
    for candidate in candidates:
        trainer.train_k(1, candidate)
        _in_force(trainer, candidate, "train_k")
        trainer.set_state(copy_of(state))
        trainer.train_k(1, candidate)
        _in_force(trainer, candidate, "set_state and train_k")
        state = copy_of(trainer.get_state())


def _in_force(trainer: Trainer, candidate: Candidate, after: str) -> None:
    try:
        check_in_force(trainer, candidate)
    except ValueNotInForce as error:
        wanted = str(error).partition(" after")[0]
        raise broken(
            LAW,
            f"after {after} with {values_of(candidate)}, hyperparameters() says otherwise: "
            f"{shown(wanted, 200, str)}",
            "set_state brings an old value back and train_k does not set it again, or "
            "hyperparameters() reads a copy",
            "set the value in every call of train_k, and read it where training reads it",
        ) from error


def _are_set_without_an_epoch(subject: Subject, candidates: list[Candidate]) -> None:
    """Where no epoch follows a choice, as at the end of a run, ``train_k(0, …)`` sets the value."""
    trainer = subject.fresh()
    trainer.train_k(1, candidates[0])
    for candidate in reversed(candidates):
        try:
            trainer.train_k(0, candidate)
            check_in_force(trainer, candidate)
        except Exception as error:
            seen = error_line(error).partition(" after training")[0]
            raise broken(
                LAW,
                f"train_k(0, {values_of(candidate)}) must put these values in force: {seen}",
                "they are set in the loop over the epochs, and there are none",
                "set the values first thing in train_k, then train k epochs; a run calls "
                "train_k(0, ...) where it ends with a choice",
            ) from error
