"""The main line as triggers see it, kept up to date without going through all records again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynhp.main_line.settings import longest_round
from dynhp.records import Metrics, Round, Try
from dynhp.records.kept import measured_on
from dynhp.tails.lengths import try_epochs
from dynhp.triggers import LineSoFar

if TYPE_CHECKING:
    from dynhp.rounds.settings import AdapterView

__all__ = ["SeenLine"]


class SeenLine:
    """The line before the next round, and while that goes on.

    What a round adds counts once it is recorded. Where it is not, the line is made anew from the
    records; so it is where they are others than those it was made of.
    """

    def __init__(self, adapter: AdapterView, *, measured: bool) -> None:
        self._adapter = adapter
        self._measured = measured  # whether anybody looks at what was measured
        self._right_before: int | None = None  # the index of the round that it is right before
        self.line = LineSoFar()

    def before(self, rounds: Sequence[Round], epoch: int) -> LineSoFar:
        """The line before the next round."""
        if self._right_before != len(rounds) or self.line.epoch != epoch:
            self.line = self._made_of(rounds, epoch)
            self._right_before = len(rounds)
        self.line.planned = self._adapter.epochs
        return self.line

    def _made_of(self, rounds: Sequence[Round], epoch: int) -> LineSoFar:
        tried = [round_ for round_ in rounds if round_.tries]
        line = LineSoFar(
            measured_on(rounds, until=epoch) if self._measured else (),
            epoch=epoch,
            fired=[round_.start + round_.abandoned for round_ in tried],
        )
        if tried:
            last = tried[-1]
            line.began = last.start
            line.since = last.start + (0 if last.restarted else last.winner.own.epochs)
        self._ended(line, rounds)
        return line

    def _ended(self, line: LineSoFar, rounds: Sequence[Round]) -> None:
        """What the last round says by itself."""
        line.rounds = rounds
        if rounds:
            last, longest = rounds[-1], longest_round(self._adapter)
            line.failure = last.failure
            line.stopped = last.epochs < (
                max(longest, try_epochs(self._adapter)) if last.tries else longest
            )

    def begin(self) -> None:
        """A round begins; until it is recorded, nobody knows whether what it adds will count."""
        self._right_before = None
        self.line.failure, self.line.stopped = None, False

    def tries_ended(self, fired: int, start: int, winner: Try, done: int) -> None:
        """The main line goes on from a kept try, or from the origin where ``done`` is 0."""
        line = self.line
        line.began, line.epoch, line.since = start, start + done, start + done
        line.fired.append(fired)
        if done and self._measured:
            line.measured += [(start + place, metrics) for place, metrics in winner.measured]

    def look(self, epoch: int, metrics: Metrics | None) -> LineSoFar:
        """The line after an epoch of the stretch."""
        self.line.epoch = epoch
        if metrics is not None and self._measured:
            self.line.measured.append((epoch - 1, metrics))
        return self.line

    def recorded(self, rounds: Sequence[Round], *, watched: bool) -> None:
        """A round has been."""
        line, last = self.line, rounds[-1]
        end = last.start + last.epochs
        if not watched:
            line.epoch = end
        if line.epoch == end:  # not so where a loop was left in the middle of an epoch
            self._ended(line, rounds)
            self._right_before = len(rounds)
