"""What looks at the main line while a driver trains a stretch of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynhp.records import Metrics, Round
from dynhp.triggers import Due
from dynhp.triggers.contract import looks_at, next_look

if TYPE_CHECKING:
    from dynhp.main_line.line import MainLine

__all__ = ["StretchWatch"]


class StretchWatch:
    """Looks at the main line epoch by epoch, or as seldom as triggers and snapshots allow."""

    def __init__(
        self, main: MainLine, rounds: Sequence[Round], under_way: Due | None, *, max_rescues: int
    ) -> None:
        self._main = main
        self._rounds, self._under_way = rounds, under_way  # which counts as one of them
        self._max_rescues = max_rescues
        self._look = next_look(main.trigger, main.seen.line)
        self.needs_metrics = bool(looks_at(main.trigger)) or main.held.start_from == "best"

    def looks_within(self, epochs: int) -> bool:
        """Whether anything must be looked at before that many epochs have passed."""
        if epochs == 0:
            return False
        main = self._main
        always = not main.clockwork or main.held.start_from != "here"
        return always or (self._look is not None and self._look < main.seen.line.epoch + epochs)

    def until(self) -> int | None:
        """Up to which epoch the main line may be trained without a look; None: to the end."""
        epoch = self._main.seen.line.epoch
        if self._max_rescues or self._look == epoch + 1:
            return epoch + 1
        looks = (self._look, self._main.held.next_due(epoch))
        return min((look for look in looks if look is not None), default=None)

    def look(self, epoch: int, metrics: Metrics | None) -> bool:
        """Look at the main line after this epoch; whether it ends here, because a round is due."""
        main = self._main
        line = main.seen.look(epoch, metrics)
        if self._look is not None and epoch >= self._look:
            if main.ask(line, self._rounds, self._under_way) is not None:
                return True
            self._look = next_look(main.trigger, line)
        if main.held.start_from != "here":
            main.hold(epoch, metrics)
        return False

    def rescues(self) -> bool:
        """Whether an exception on the main line begins a round instead of ending the run."""
        if not self._max_rescues:
            return False
        return self._main.had(self._rounds, self._under_way)[True] < self._max_rescues
