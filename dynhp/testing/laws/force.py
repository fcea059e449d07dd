"""Force: values have an effect, unknown names are refused, and the read-back is true."""

from __future__ import annotations

from collections.abc import Iterable

from dynhp.errors import ValueNotInForce
from dynhp.records import Candidate
from dynhp.rounds.read_back import check_in_force
from dynhp.testing.laws.probe import Subject, Trace, broken, copy_of, trace_difference
from dynhp.trainer import ReadsBack, State

LAW = "force"
UNKNOWN = "no_such_hyperparameter"
VALUES = 5  # of an axis are tried against each other, at most


def check(subject: Subject) -> tuple[str, ...]:
    """Try values against each other on every axis, an unknown name, and the read-back."""
    candidates = subject.candidates(LAW)
    state = subject.origins(candidates[0])[-1]
    notes = [_has_effect(subject, state, name, candidates) for name in subject.space]
    _unknown_is_refused(subject, candidates[0])
    if isinstance(subject.fresh(), ReadsBack):
        _names_are_shared(subject, candidates[0])
        _values_are_true(subject, candidates)
    return tuple(note for note in notes if note)


def _has_effect(subject: Subject, state: State, name: str, bases: list[Candidate]) -> str:
    """A note where there was nothing to compare; an error where nothing made a difference."""
    compared: list[object] = []
    for base in bases:
        traces: list[Trace] = []
        first, again = (subject.follow(state, base) for _ in range(2))
        if trace_difference(first, again) is not None:
            return (
                f"the effect of {name!r} was not judged: no result is the same twice, see restore"
            )
        for candidate in _along(subject, name, base):
            trace = _followed(subject, state, candidate)
            if trace is None:
                continue
            if traces and trace_difference(traces[0], trace) is not None:
                return ""
            traces.append(trace)
            compared.append(candidate[name])
    values = list(dict.fromkeys(compared))
    if len(values) < 2:
        return f"the effect of {name!r} was not judged: fewer than two of its values can be trained"
    raise broken(
        LAW,
        f"{name} made no difference: {', '.join(map(repr, values))} led to the same state and "
        f"metrics over {subject.epochs + 1} epochs",
        "train_k does not pass the value on, or sets it where nothing reads it (a copy of the "
        "optimiser's groups, an attribute that was read before)",
    )


def _along(subject: Subject, name: str, base: Candidate) -> Iterable[Candidate]:
    """The candidate and its neighbours along one axis, each once."""
    grid = subject.space[name].grid()
    few = grid[:: max(1, (len(grid) - 1) // (VALUES - 1))][:VALUES]
    return dict.fromkeys([base, *(base.but({name: value}) for value in few)])


def _followed(subject: Subject, state: State, candidate: Candidate) -> Trace | None:
    try:
        return subject.follow(state, candidate)
    except Exception:  # this value cannot be trained; another may
        return None


def _unknown_is_refused(subject: Subject, candidate: Candidate) -> None:
    try:
        subject.fresh().train_k(1, candidate.but({UNKNOWN: 0.5}))
    except Exception:
        return
    raise broken(
        LAW,
        f"train_k accepted a hyperparameter called {UNKNOWN!r}",
        "values are looked up by name and the rest is dropped; raise an error for names that are "
        "left over, or a misspelt name will be adapted without effect",
    )


def _names_are_shared(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh()
    assert isinstance(trainer, ReadsBack)
    trainer.train_k(1, candidate)
    names = list(trainer.hyperparameters())
    if not set(names) & set(candidate):
        raise broken(
            LAW,
            f"hyperparameters() has the names {names!r} after training with {dict(candidate)!r}",
            "it uses other names than train_k; nothing can be read back then",
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


def _in_force(trainer: object, candidate: Candidate, after: str) -> None:
    try:
        check_in_force(trainer, candidate)
    except ValueNotInForce as error:
        wanted = str(error).partition(" after")[0]
        raise broken(
            LAW,
            f"after {after} with {dict(candidate)!r}, hyperparameters() says otherwise: {wanted}",
            "set_state brings an old value back and train_k does not set it again, or "
            "hyperparameters() reads a copy",
        ) from error
