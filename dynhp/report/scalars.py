"""A run as series of numbers for loggers: the main line on one axis, the tries on another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dynhp.records import Candidate, Round, Try, Value

__all__ = ["Scalar", "Totals", "scalars_of"]


class Scalar(NamedTuple):
    """One number of a series.

    ``axis`` says what ``step`` counts: "main" the epochs of the main line, from 0, or "tries" the
    epochs trained in tries so far, one try after the other.

    >>> Scalar("main", "main/val_loss", 7, 0.25).step
    7
    """

    axis: Literal["main", "tries"]
    series: str
    step: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run came to before a round: rounds, epochs in tries, and all epochs trained.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [1, 2]}, criterion=lowest("loss"), epochs=3)
    >>> Totals().after(round_)
    Totals(rounds=1, tried=6, spent=6)
    """

    rounds: int = 0
    tried: int = 0
    spent: int = 0

    def after(self, round_: Round) -> Totals:
        """The same with one round more."""
        return Totals(
            rounds=self.rounds + 1,
            tried=self.tried + sum(map(_length, round_.tries)),
            # An epoch that raised on the main line was trained too.
            spent=self.spent + round_.epochs + round_.overhead + (round_.failure is not None),
        )


def scalars_of(round_: Round, before: Totals) -> list[Scalar]:
    """All numbers of a round, in the order of their steps on each axis.

    ``main/<metric>`` has every epoch of the main line that was measured, those of the kept try
    included, once. ``schedule/<name>`` is the value in force, at the first and the last epoch of
    the round; ``cost/spent`` and ``cost/overhead`` count epochs, up to its end. ``tries/<metric>``
    has every epoch of every try, and at the end of each stand ``values/<name>`` (what it tried),
    ``try/score``, ``try/round`` and ``try/kept``. A value that is no number is a series of its own
    for each choice, 1 where it is in force and 0 where it is not.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 1.0]}, minimize="loss",
    ...                              adapt_every=3, try_for=1, check="off")
    >>> for scalar in scalars_of(adapter.run(3)[0], Totals())[:6]:
    ...     print(scalar.axis, scalar.series, scalar.step, scalar.value)
    main schedule/lr 0 1.0
    main main/loss 0 0.0
    main main/loss 2 0.0
    main schedule/lr 2 1.0
    main cost/spent 2 4.0
    main cost/overhead 2 1.0
    """
    return [*_main_line(round_, before), *_tries(round_, before)]


def _main_line(round_: Round, before: Totals) -> Iterator[Scalar]:
    first, last = round_.start, round_.start + round_.epochs - 1
    if last < first:
        return  # a round that was left before its first epoch
    after = before.after(round_)
    for number, values in _in_force(round_, first, last):
        for name, value in _numbers(values, round_):
            yield Scalar("main", f"schedule/{name}", number, value)
    for number, metrics in round_.measured:
        for name, value in metrics.items():
            yield Scalar("main", f"main/{name}", number, float(value))
    for name, value in _numbers(round_.candidate, round_):
        yield Scalar("main", f"schedule/{name}", last, value)
    yield Scalar("main", "cost/spent", last, float(after.spent))
    yield Scalar("main", "cost/overhead", last, float(after.spent - last - 1))


def _in_force(round_: Round, first: int, last: int) -> Iterator[tuple[int, Candidate]]:
    """From which epochs of a round before its last which values were in force."""
    kept = first
    if round_.corrected is not None and not round_.restarted:  # the try had its own value
        yield first, round_.winner.candidate
        kept += round_.winner.own.epochs
    if kept < last:
        yield kept, round_.candidate


def _tries(round_: Round, before: Totals) -> Iterator[Scalar]:
    start = before.tried
    for place, try_ in enumerate(round_.tries):
        for epoch, metrics in try_.measured:
            for name, value in metrics.items():
                yield Scalar("tries", f"tries/{name}", start + epoch, float(value))
        start += _length(try_)
        for name, value in _numbers(try_.candidate, round_):
            yield Scalar("tries", f"values/{name}", start - 1, value)
        yield Scalar("tries", "try/score", start - 1, try_.score)
        yield Scalar("tries", "try/round", start - 1, float(round_.index))
        yield Scalar("tries", "try/kept", start - 1, float(place == round_.chosen))


def _length(try_: Try) -> int:
    return max(1, try_.epochs)  # so that each try has a place of its own


def _numbers(candidate: Candidate, round_: Round) -> Iterator[tuple[str, float]]:
    """The values of a try, or of the main line, as numbers."""
    for name, value in candidate.items():
        if isinstance(value, int | float):  # True is 1
            yield name, float(value)
            continue
        choices: dict[Value, None] = dict.fromkeys(
            [round_.previous[name], *(each.candidate[name] for each in round_.tries)]
        )
        for choice in choices:
            yield f"{name}={choice}", float(choice == value)
