"""The contracts of a tail, which a try runs before it is judged, and of a winner's correction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from dynhp._checks import plain_value, require_count, require_instance, takes
from dynhp.errors import ContractError, DynhpError, SettingsError, shown
from dynhp.records import Candidate
from dynhp.spaces import Space

__all__ = ["Correction", "Tail", "corrected", "require_correction", "require_tail", "tail_length"]
__all__ += ["tail_values", "values_at"]


@runtime_checkable
class Tail(Protocol):
    """What a try runs after its own epochs, before it is judged: it is then thrown away.

    Each of its epochs is trained with the values in the middle of that epoch, whatever they are:
    they need not lie in the space.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Halved:  # two epochs with half the value
    ...     def length(self, planned): return 2
    ...     def at(self, candidate, progress): return candidate.but({"lr": candidate["lr"] / 2})
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=4, try_for=1, tail=Halved())
    >>> [(try_.epochs, try_.tail) for try_ in adapter.step().tries]
    [(3, 2), (3, 2)]
    """

    def length(self, planned: int | None) -> int:
        """How many epochs it has, in a run of so many planned epochs (None: nobody knows)."""
        ...

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The values at this point of the tail of a candidate, from 0.0 up to 1.0."""
        ...


@runtime_checkable
class Correction(Protocol):
    """What becomes of the winner's value before the main line goes on with it.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> from dynhp.spaces import Around
    >>> def halved(candidate): return candidate.but({"lr": candidate["lr"] / 2})
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": Around(0.3)}, criterion=lowest("loss"),
    ...                              adapt_every=4, try_for=1, then=halved)
    >>> round_ = adapter.step(); round_.winner.candidate, round_.candidate
    (Candidate(lr=0.948683), Candidate(lr=0.4743415))
    """

    def __call__(self, candidate: Candidate) -> Candidate:
        """The values that are put in force, which must lie in the space."""
        ...


def require_tail(tail: Any, space: Space, current: Candidate) -> None:
    """Refuse what is no tail, or one that does not suit the space."""
    if tail is None:
        return
    require_instance("tail", tail, Tail, "a tail such as annealed('lr', epochs=0.05)")
    check = getattr(tail, "require_space", None)
    if check is not None:
        check(space)
    values_at(tail, current, 0.5)


def tail_length(tail: Tail | None, planned: int | None) -> int:
    """The epochs of a tail; none where there is no tail."""
    if tail is None:
        return 0
    length = _answer(
        f"length of {shown(tail)}",
        lambda: tail.length(planned),
        "it gets the planned epochs (None where nobody knows) and gives a number of epochs",
    )
    return require_count(f"the length of {shown(tail)}", length)


def values_at(tail: Tail, candidate: Candidate, progress: float) -> Candidate:
    """The values at one point of a tail, or an error that says what is wrong with them."""
    values = _answer(
        f"at of {shown(tail)}",
        lambda: tail.at(candidate, progress),
        f"it gets a candidate with {', '.join(candidate)} and a progress from 0.0 to 1.0",
    )
    if not isinstance(values, Mapping) or values.keys() != candidate.keys():
        raise ContractError(
            f"{shown(tail)} must give a value for each of {', '.join(candidate)}, got "
            f"{shown(values)}; change some of them, as in candidate.but(...)"
        )
    return Candidate({name: plain_value(name, value) for name, value in values.items()})


def tail_values(tail: Tail, candidate: Candidate, epochs: int) -> tuple[Candidate, ...]:
    """The values that each epoch of a tail is trained with: those in its middle.

    >>> from dynhp.tails import annealed
    >>> tail = annealed("lr", epochs=2, warm_up=0.0)
    >>> [each["lr"] for each in tail_values(tail, Candidate({"lr": 2.0}), 2)]
    [1.5, 0.5]
    """
    return tuple(values_at(tail, candidate, (place + 0.5) / epochs) for place in range(epochs))


def require_correction(then: Any, space: Space) -> None:
    """Refuse what is no correction, or one that leads out of the space."""
    if then is None:
        return
    if not callable(then) or isinstance(then, type) or not takes(then, 1):
        raise SettingsError(
            f"then must be a correction such as scale(0.3), or a function of a candidate, got "
            f"{shown(then)}"
        )
    for name, axis in space.items():
        for value in axis.grid():
            start = space.start().but({name: value})
            values = _corrects(then, start)
            try:
                _admitted(then, start, values, space)
            except ContractError as error:
                raise SettingsError(
                    f"{error}; an axis without ends, as Around({value!r}), holds them all"
                ) from None


def corrected(then: Correction | None, candidate: Candidate, space: Space) -> Candidate | None:
    """The winner's values as they are put in force; None where nothing corrects them."""
    if then is None:
        return None
    return _admitted(then, candidate, _corrects(then, candidate), space)


def _corrects(then: Correction, candidate: Candidate) -> object:
    return _answer(
        f"then={shown(then)}",
        lambda: then(candidate),
        f"it gets a candidate with {', '.join(candidate)}",
    )


def _admitted(then: Correction, candidate: Candidate, values: object, space: Space) -> Candidate:
    if not isinstance(values, Mapping) or not space.admits(values):
        raise ContractError(
            f"then={shown(then)} must lead to values of {shown(space)}, got {shown(values)} for "
            f"{shown(dict(candidate))}"
        )
    return space.cast(values)


def _answer(what: str, ask: Callable[[], object], way_out: str) -> object:
    """What somebody's own code answers, or an error that says when it is at fault."""
    try:
        return ask()
    except DynhpError:
        raise
    except Exception as failure:
        raise ContractError(
            f"{what} raised {type(failure).__name__}: {str(failure)[:200]}; {way_out}"
        ) from failure
