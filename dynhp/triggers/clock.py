"""Triggers that look at nothing but the number of the epoch: every so often, or at set moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dynhp._checks import is_number, plain_int, require_count
from dynhp.errors import SettingsError, shown
from dynhp.triggers.contract import Due, LineSoFar

_DUE = Due()  # it never changes, and a run may ask for it a thousand times


@dataclass(frozen=True, slots=True)
class Every:
    """A round every ``n`` epochs, the first one at once: the paper's way, ``adapt_every`` in short.

    If a run was stopped in a round and goes on, the next round begins there.

    >>> Every(10)(LineSoFar(epoch=10, began=0)), Every(10)(LineSoFar(epoch=9, began=0))
    (Due(because='', healthy=None, alarm=False), None)
    """

    n: int
    metrics: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", require_count("Every: n", self.n))

    def __call__(self, line: LineSoFar) -> Due | None:
        """When ``n`` epochs have passed since the last round began."""
        due = line.began is None or line.stopped or line.epoch - line.began >= self.n
        return _DUE if due else None

    def next_look(self, line: LineSoFar) -> int:
        """When they will have passed."""
        return max(line.epoch + 1, (line.began or 0) + self.n)


@dataclass(frozen=True, slots=True)
class At:
    """A round at each of these moments: epochs, or shares of the run from 0 up to below 1.

    A moment that passes while a round is under way is made up for after its tries, once.

    >>> At([0, 30])(LineSoFar(epoch=30, fired=[0])).because
    'epoch 30'
    >>> At([0.5]).next_look(LineSoFar(epoch=3, planned=40))
    20
    """

    moments: Sequence[float]
    metrics: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        given = self.moments
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise SettingsError(
                f"At: moments must be a list of epochs or of shares of the run, got {shown(given)};"
                " write At([30, 60]) or At([0.5, 0.75])"
            )
        moments = tuple(map(plain_int, given))
        for moment in moments:
            whole = isinstance(moment, int)
            if not is_number(moment) or moment < 0 or not (whole or moment < 1):
                raise SettingsError(
                    "At: a moment must be an epoch, a whole number from 0 on, or a share of the "
                    f"run from 0.0 up to below 1.0, got {shown(moment)}"
                )
        object.__setattr__(self, "moments", moments)

    def __call__(self, line: LineSoFar) -> Due | None:
        """When the last moment up to now has had no round yet."""
        last = max((epoch for epoch in self._epochs(line) if epoch <= line.epoch), default=None)
        if last is None or any(fired >= last for fired in line.fired):
            return None
        return Due(because=f"epoch {last}")

    def next_look(self, line: LineSoFar) -> int | None:
        """The next moment, or the next epoch if one has passed without a round."""
        if self(line) is not None:
            return line.epoch + 1
        return min((epoch for epoch in self._epochs(line) if epoch > line.epoch), default=None)

    def _epochs(self, line: LineSoFar) -> list[int]:
        if line.planned is None and any(isinstance(moment, float) for moment in self.moments):
            raise SettingsError(
                f"{self!r}: a share of the run needs its planned epochs; call run(n), or give "
                "epochs= to the adapter"
            )
        return [
            moment if isinstance(moment, int) else int(moment * (line.planned or 0) + 1e-9)
            for moment in self.moments
        ]
