"""Force: values have an effect, unknown names are refused, and the read-back is true."""

from __future__ import annotations

from dynhp.errors import ValueNotInForce
from dynhp.records import Candidate
from dynhp.rounds.read_back import check_in_force
from dynhp.selfcheck.contents import shown
from dynhp.testing.difference import difference
from dynhp.testing.laws.effect import LAW as LAW
from dynhp.testing.laws.effect import check_effect
from dynhp.testing.laws.lines import copy_of, seen_now
from dynhp.testing.laws.probe import Subject, broken, refuse, values_of
from dynhp.trainer import ReadsBack, Trainer

UNKNOWN = "no_such_hyperparameter"


def check(subject: Subject) -> tuple[str, ...]:
    """Try values against each other on every axis, an unknown name, and the read-back."""
    candidates = subject.candidates(LAW)
    notes = [_middle_values_can_be_trained(subject, candidates[0], name) for name in subject.space]
    if subject.repeatable():
        notes += [check_effect(subject, name) for name in subject.space]
    else:
        names = ", ".join(map(repr, subject.space))
        notes.append(
            f"the effect of {names} was not judged: no result is the same twice, see restore"
        )
    _unknown_is_refused(subject, candidates[0])
    if len(subject.space) > 1:
        _names_count(subject, candidates[0])
    if subject.offers(ReadsBack):
        _names_are_shared(subject, candidates[0])
        _values_are_true(subject, subject.every(LAW))
    return tuple(note for note in notes if note)


def _middle_values_can_be_trained(subject: Subject, base: Candidate, name: str) -> str:
    """A note on values that fail; an error where values on both sides of one can be trained."""
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
    trainer = subject.fresh_at(subject.plain(LAW).states[1])
    trainer.train_k(1, Candidate(dict(reversed(list(candidate.items())))))
    refuse(
        LAW,
        difference(subject.line(1, candidate).early, seen_now(trainer).state),
        f"{values_of(candidate)} and the same values in another order led to different states",
        "train_k takes the values in their order",
        "look each value up by its name",
    )


def _names_are_shared(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh()
    trainer.train_k(1, candidate)
    names = list(_read_back(trainer).hyperparameters())
    if not set(names) & set(candidate):
        raise broken(
            LAW,
            f"hyperparameters() has the names {shown(names)} after training with "
            f"{values_of(candidate)}",
            "it uses other names than train_k; nothing can be read back then",
            "use the names of train_k in hyperparameters() too",
        )


def _read_back(trainer: Trainer) -> ReadsBack:
    assert isinstance(trainer, ReadsBack)
    return trainer


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
