"""A run as series of numbers, and the callback that hands them to a logger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from dynhp._checks import require_callable, require_word
from dynhp.errors import CheckpointError, shown, warn_caller
from dynhp.records import Candidate, Event, Round, Try, Value

__all__ = ["Scalar", "ScalarLog", "Totals", "scalars_of"]


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
    """What was counted before a round: rounds, epochs in tries, and all epochs trained.

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
    the round, and under a ``course`` at each one that was measured; ``cost/spent`` and
    ``cost/overhead`` count epochs, up to its end. ``tries/<metric>`` has every epoch of every try,
    and at the end of each stand ``values/<name>`` (what it tried), ``try/score``, ``try/round`` and
    ``try/kept``. A value that is no number is a series of its own for each choice, 1 if it is in
    force and 0 if it is not.

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
    changes = [
        Scalar("main", f"schedule/{name}", number, value)
        for number, values in _in_force(round_, first, last)
        for name, value in _numbers(values, round_)
    ]
    measured = [
        Scalar("main", f"main/{name}", number, float(value))
        for number, metrics in round_.measured
        for name, value in metrics.items()
    ]
    yield from sorted([*changes, *measured], key=lambda each: each.step)
    for name, value in _numbers(round_.last_values, round_):
        yield Scalar("main", f"schedule/{name}", last, value)
    yield Scalar("main", "cost/spent", last, float(after.spent))
    yield Scalar("main", "cost/overhead", last, float(after.spent - last - 1))


def _in_force(round_: Round, first: int, last: int) -> Iterator[tuple[int, Candidate]]:
    """The values in force before the last epoch of a round, each with its first epoch.

    Under a schedule they change in every epoch: then those of the first epoch, and of all that were
    measured.
    """
    if round_.scheduled:
        values = round_.values_by_epoch
        numbers = dict.fromkeys([first, *(number for number, _ in round_.measured)])
        yield from ((number, values[number - first]) for number in numbers if number < last)
        return
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


class ScalarLog:
    """A callback that hands the numbers of each round, when it is over, to a function.

    A round is handed over when it ends, so one that is undone never is. If a round is undone after
    all callbacks had it, and comes again, it is not handed over twice. With ``position`` and
    ``rewind`` a checkpoint keeps what was counted and what waits.

    Args:
        write: called with a list of ``Scalar``. If it raises, the same list comes again (with more
            behind it), and it must not keep twice what it has kept of the first call.
        name: what errors call the output.
        on_error: if numbers cannot be written, ``"stop"``, or ``"warn"`` and write them later.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> seen = []
    >>> log = ScalarLog(seen.extend, name="example")
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=3, try_for=1, callbacks=[log])
    >>> _ = adapter.run(6)
    >>> [(scalar.step, scalar.value) for scalar in seen if scalar.series == "schedule/lr"]
    [(0, 0.5), (2, 0.5), (3, 0.5), (5, 0.5)]
    """

    def __init__(
        self,
        write: Callable[[Sequence[Scalar]], None],
        *,
        name: str,
        on_error: Literal["stop", "warn"] = "stop",
    ) -> None:
        require_callable("write", write)
        require_word("on_error", on_error, ("stop", "warn"))
        self.name = name
        self.on_error = on_error
        self._write = write
        self._totals = Totals()
        self._waiting: list[Scalar] = []
        self._last: Round | None = None  # the one that was handed over last, in this process

    def __call__(self, event: Event) -> None:
        """Hand over the numbers of a round when it is over."""
        if not isinstance(event, Round) or self._is_there(event):
            return
        before = self._totals, self._waiting
        if self._totals.rounds == 0 < event.index:
            # A logger that joins a run later: what was spent in tries before, it does not know.
            self._totals = Totals(rounds=event.index, spent=event.start)
        self._waiting = [*self._waiting, *scalars_of(event, self._totals)]
        self._totals = self._totals.after(event)
        try:
            self._hand_over()
        except BaseException:
            self._totals, self._waiting = before  # the round is undone, and may come again
            raise
        self._last = event

    def position(self) -> dict[str, Any]:
        """What has been counted, and what could not be written yet, as plain data."""
        self._hand_over()
        totals = self._totals
        return {
            "totals": [totals.rounds, totals.tried, totals.spent],
            "waiting": [list(scalar) for scalar in self._waiting],
        }

    def rewind(self, position: Any) -> None:
        """Count on from a position; the owner of the output cuts it back."""
        match position:
            case {"totals": [int(rounds), int(tried), int(spent)], "waiting": list(waiting)}:
                self._totals = Totals(rounds=rounds, tried=tried, spent=spent)
                self._waiting = [Scalar(*scalar) for scalar in waiting]
                self._last = None
            case _:
                raise CheckpointError(
                    f"{self.name}: not a position of a logger, got {shown(position)}; go on "
                    "without it, or from another checkpoint"
                )

    def _is_there(self, round_: Round) -> bool:
        """Whether it was handed over before; if it fits nowhere, this is another run."""
        if self._totals.rounds in (0, round_.index):
            return False
        last = self._last
        # Undone after all callbacks had it, and carried out again: the same, or nearly.
        near = round_.tolerance > 0 and last is not None and round_.index == last.index
        if near or round_ == last:
            return True
        raise CheckpointError(
            f"{self.name} holds {self._totals.rounds} rounds of a run, and round {round_.index} "
            "does not follow on them; give every run a logger of its own"
        )

    def _hand_over(self) -> None:
        if not self._waiting:
            return
        try:
            self._write(self._waiting)
        except Exception as failure:
            message = f"{self.name} cannot be written: {type(failure).__name__}: {failure}"
            if self.on_error == "stop":
                raise CheckpointError(
                    f"{message[:500]}. The round is undone; mend it and go on, or let the run go "
                    "on without by on_error='warn'"
                ) from failure
            warn_caller(f"{message[:500]}; kept for later", RuntimeWarning)
        else:
            self._waiting = []
