"""What loggers have in common: each round handed over once, in order, and a rule for errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

from dynhp._checks import require_callable, require_word
from dynhp.errors import CheckpointError, shown
from dynhp.records import Event, Round
from dynhp.report.scalars import Scalar, Totals, scalars_of

__all__ = ["ScalarLog"]


class ScalarLog:
    """A callback that hands the numbers of each round, when it is over, to a function.

    Nothing of a round is handed over before its end, so nothing of a round that is undone is. One
    that was undone after all and comes again is not handed over twice. ``position`` and ``rewind``
    are those of ``dynhp.storage.session.Rewinds``: what it has counted and what waits.

    Args:
        write: called with a list of ``Scalar``. Where it raises, the same list comes again (with
            more behind it), and what it has kept of the first call it must not keep twice.
        name: what errors call the output.
        on_error: ``"stop"`` where numbers cannot be written, or ``"warn"`` and write them later.

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
        """Hand over what a round came to, when it is over."""
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
        """Count on from a position; the output itself is cut back by who owns it."""
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
        """Whether it was handed over before; where it fits nowhere, this is another run."""
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
            warnings.warn(f"{message[:500]}; kept for later", RuntimeWarning, stacklevel=3)
        else:
            self._waiting = []
