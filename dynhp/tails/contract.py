"""The contracts of a tail, a schedule and a correction, and how long tries and tails are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dynhp._checks import (
    is_number,
    is_whole,
    plain_int,
    plain_value,
    require_count,
    require_instance,
    takes,
)
from dynhp.errors import ContractError, DynhpError, SettingsError, nearest, shown
from dynhp.records import Candidate, Try
from dynhp.records.units import Unit
from dynhp.spaces import Space


@runtime_checkable
class Tail(Protocol):
    """What a try runs after its own epochs, before it is judged: it is then thrown away.

    Each of its epochs is trained with the values in the middle of that epoch, whatever they are:
    they need not lie in the space. Where hooks of a framework move them within an epoch, it is each
    of its steps.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Halved:  # two epochs with half the value
    ...     def length(self, planned, unit): return 2
    ...     def at(self, candidate, progress): return candidate.but({"lr": candidate["lr"] / 2})
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=4, try_for=1, tail=Halved())
    >>> [(try_.epochs, try_.tail) for try_ in adapter.step().tries]
    [(3, 2), (3, 2)]
    """

    def length(self, planned: int | None, unit: Unit) -> int:
        """How many epochs it has, in a run of ``planned`` epochs (None: that is not known).

        ``unit`` says whether both are "epochs", or the "steps" of a loop over steps.
        """
        ...

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The values at this point of the tail of a candidate, from 0.0 up to 1.0."""
        ...


class Searched(NamedTuple):
    """What a correction may look at besides the winner's values.

    Attributes:
        space: the hyperparameters and their values.
        tries: all tries of the round; none when a policy is checked before its run.
        planned: the epochs of the run, None if they are not known.

    >>> Searched(Space({"lr": [0.1, 0.3]})).tries
    ()
    """

    space: Space
    tries: Sequence[Try] = ()
    planned: int | None = None


@runtime_checkable
class Correction(Protocol):
    """What becomes of the winner's value before the main line goes on with it.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> from dynhp.spaces import Around
    >>> def halved(candidate, searched): return candidate.but({"lr": candidate["lr"] / 2})
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": Around(0.3)}, criterion=lowest("loss"),
    ...                              adapt_every=4, try_for=1, then=halved)
    >>> round_ = adapter.step(); round_.winner.candidate, round_.candidate
    (Candidate(lr=0.948683), Candidate(lr=0.4743415))
    """

    def __call__(self, candidate: Candidate, searched: Searched) -> Candidate:
        """The values that are put in force, which must lie in the space."""
        ...


@runtime_checkable
class Course(Protocol):
    """How values go along the main line, as a schedule of a learning rate does.

    Each epoch (or step) is trained with the values in its middle, in tries as well, but not in
    tails; where hooks of a framework move the values within an epoch, each of its steps is. What is
    chosen, and what records call the value in force, is what it makes them of. One with
    ``needs_end = False`` also suits a run whose length is not known beforehand (``until=``).

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> class Falling:  # in a straight line
    ...     def at(self, candidate, progress):
    ...         return candidate.but({"lr": candidate["lr"] * (1 - progress)})
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 1.0]}, minimize="loss",
    ...                              adapt_every=4, try_for=1, course=Falling())
    >>> round_ = adapter.run(4)[0]
    >>> round_.candidate, round_.scheduled
    (Candidate(lr=1.0), {'lr': (0.875, 0.625, 0.375, 0.125)})
    """

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The values at this point of the run, from 0.0 up to 1.0."""
        ...


def require_course(course: Any, space: Space, current: Candidate) -> None:
    """Refuse what is no schedule, or one that does not suit the space."""
    if course is None:
        return
    require_instance("course", course, Course, "a schedule such as scheduled('lr', 'wsd')")
    check = getattr(course, "require_space", None)
    if check is not None:
        check(space)
    values_at(course, current, 0.5)


def course_values(
    course: Course | None,
    candidate: Candidate,
    first: int,
    epochs: int,
    planned: int | None,
    per_epoch: int = 1,
) -> tuple[Candidate, ...]:
    """The values that each of these epochs is trained with; () without a course.

    If they move within an epoch, there are so many ``per_epoch``, one for each step of it.

    >>> from dynhp.tails import scheduled
    >>> values = course_values(scheduled("lr", "linear"), Candidate({"lr": 1.0}), 2, 2, 4)
    >>> [round(each["lr"], 2) for each in values]
    [0.38, 0.13]
    """
    if course is None:
        return ()
    if planned is None:
        raise SettingsError(
            f"course={shown(course)} needs the planned epochs; call run(n), or give epochs= to "
            "the adapter"
        )
    return tuple(
        values_at(course, candidate, (number + 0.5) / (planned * per_epoch))
        for number in range(first * per_epoch, (first + epochs) * per_epoch)
    )


def require_floats(setting: object, name: str, space: Space, *, purpose: str) -> None:
    """Refuse a name that is not in the space, or that has values other than floats there."""
    if name not in space:
        raise SettingsError(f"{setting!r}: no hyperparameter {name!r}{nearest(name, space)}")
    for value in space[name].grid():
        if not isinstance(value, float) or not is_number(value):
            raise SettingsError(
                f"{setting!r}: {name} must be a float to be {purpose}, got {shown(value)}; "
                "write 1.0 for 1, and leave words and counts alone"
            )


def require_tail(tail: Any, space: Space, current: Candidate) -> None:
    """Refuse what is no tail, or one that does not suit the space."""
    if tail is None:
        return
    require_instance("tail", tail, Tail, "a tail such as annealed('lr', epochs=0.05)")
    check = getattr(tail, "require_space", None)
    if check is not None:
        check(space)
    values_at(tail, current, 0.5)


def tail_length(tail: Tail | None, planned: int | None, unit: Unit) -> int:
    """The epochs of a tail; 0 without one."""
    if tail is None:
        return 0
    length = _answer(
        f"length of {shown(tail)}",
        lambda: tail.length(planned, unit),
        "it gets the planned epochs (None if that is not known) and their unit, 'epochs' or "
        "'steps', and gives a number of them",
    )
    return require_count(f"the length of {shown(tail)}", length)


def values_at(tail: Tail | Course, candidate: Candidate, progress: float) -> Candidate:
    """The values at one point of a tail or a schedule, or an error that says what is wrong."""
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


def tail_values(
    tail: Tail, candidate: Candidate, epochs: int, per_epoch: int = 1
) -> tuple[Candidate, ...]:
    """The values that each epoch of a tail is trained with: those in its middle.

    If they move within an epoch, there are so many ``per_epoch``, one for each step of it.

    >>> from dynhp.tails import annealed
    >>> tail = annealed("lr", epochs=2, warm_up=0.0)
    >>> [each["lr"] for each in tail_values(tail, Candidate({"lr": 2.0}), 2)]
    [1.5, 0.5]
    """
    steps = epochs * per_epoch
    return tuple(values_at(tail, candidate, (place + 0.5) / steps) for place in range(steps))


def require_correction(then: Any, space: Space) -> None:
    """Refuse what is no correction, or one that leads out of the space."""
    if then is None:
        return
    if not callable(then) or isinstance(then, type) or not takes(then, 2):
        raise SettingsError(
            "then must be a correction such as scale(0.3), or a function of a candidate and of "
            f"what was searched, got {shown(then)}"
        )
    check = getattr(then, "require_space", None)
    if check is not None:
        check(space)
    for name, axis in space.items():
        for value in axis.grid():
            start = space.start().but({name: value})
            values = _corrects(then, start, Searched(space))
            try:
                _admitted(then, start, values, space)
            except ContractError as error:
                raise SettingsError(
                    f"{error}; an axis without ends, as Around({value!r}), holds them all"
                ) from None


def corrected(then: Correction, candidate: Candidate, searched: Searched) -> Candidate:
    """The winner's values as they are put in force."""
    values = _corrects(then, candidate, searched)
    return _admitted(then, candidate, values, searched.space)


def _corrects(then: Correction, candidate: Candidate, searched: Searched) -> object:
    return _answer(
        f"then={shown(then)}",
        lambda: then(candidate, searched),
        f"it gets a candidate with {', '.join(candidate)}, and what was searched",
    )


def _admitted(then: Correction, candidate: Candidate, values: object, space: Space) -> Candidate:
    if not isinstance(values, Mapping) or not space.admits(values):
        raise ContractError(
            f"then={shown(then)} must lead to values of {shown(space)}, got {shown(values)} for "
            f"{shown(dict(candidate))}"
        )
    return space.cast(values)


def _answer(what: str, ask: Callable[[], object], way_out: str) -> object:
    """What the user's own code answers, or an error that says what went wrong in it."""
    try:
        return ask()
    except DynhpError:
        raise
    except Exception as failure:
        raise ContractError(
            f"{what} raised {type(failure).__name__}: {str(failure)[:200]}; {way_out}"
        ) from failure


def require_length(what: str, value: Any) -> float:
    """A whole number of epochs, or a share of the run between 0 and 1; anything else is refused.

    >>> require_length("try_for", 0.05)
    0.05
    """
    value = plain_int(value)
    if is_whole(value, least=1) or (is_number(value) and 0 < value < 1):
        return value
    raise SettingsError(
        f"{what} must be a whole number above 0, or a share of the run between 0 and 1, got "
        f"{shown(value)}"
    )


def require_try_for(value: Any, tail: object) -> float:
    """The length of a try, which may be 0 if there is a tail to judge it by."""
    if value == 0 and not isinstance(value, bool):
        if tail is None:
            raise SettingsError(
                "try_for must be a whole number above 0, or a share of the run between 0 and 1, "
                f"got {shown(value)}; only a tail can judge a try of no length"
            )
        return 0
    return require_length("try_for", value)


def epochs_of(what: str, length: float, planned: int | None, *, least: int = 1) -> int:
    """The epochs of a length: a share is rounded to the nearest whole number.

    >>> epochs_of("try_for", 0.05, 90), epochs_of("try_for", 0.05, 4), epochs_of("try_for", 7, 90)
    (4, 1, 7)
    """
    if isinstance(length, int):
        return length
    if planned is None:
        raise SettingsError(
            f"{what}: a share of the run needs its planned epochs; call run(n), or give epochs= to "
            "the adapter"
        )
    return max(least, round(length * planned))


def require_one_stage(stages: Sequence[object]) -> None:
    """Refuse tries with a tail that are judged on the way."""
    if len(stages) > 1:
        raise SettingsError(
            f"with a tail all tries are judged once, after it, but this selection judges them in "
            f"{len(stages)} stages; use Best() or BestByMargin(), or leave out the tail"
        )
