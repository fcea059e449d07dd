"""The states of the main line that are held, so that a round can start from one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynhp.main_line.snapshots import Snapshots
from dynhp.trainer import State
from dynhp.triggers import Due

__all__ = ["HeldState", "HeldStates"]


@dataclass(frozen=True, slots=True)
class HeldState:
    """A state of the main line that is held: after how many epochs, its score, and its key."""

    epoch: int
    score: float
    key: Hashable


_Held: TypeAlias = tuple[HeldState, ...]  # the oldest first; a change makes a new one


class HeldStates:
    """The newest few states (``start_from="before"``), the best one (``"best"``), or none.

    Those that a round adds count once it is recorded; where it is not, they are forgotten.
    """

    def __init__(self, start_from: str, snapshots: Snapshots) -> None:
        self.start_from = start_from
        self._k, self._every = snapshots.k, snapshots.every
        self._store = snapshots.store()
        self._before: tuple[int, _Held] = (0, ())  # the round of this index
        self._after: tuple[int, _Held] = (0, ())  # what is held when the next one begins

    def _held(self, index: int) -> _Held:
        return next((held for at, held in (self._after, self._before) if at == index), ())

    def take_up(self, index: int) -> None:
        """Go on in the middle of the round of this index."""
        if self._after[0] != index + 1:
            self._after = index + 1, self._held(index)

    def pick(self, index: int, due: Due, epoch: int) -> HeldState | None:
        """The state that the round of this index starts from; None: where the main line is."""
        held = self._held(index)
        if self.start_from == "best" or not held:
            return held[-1] if held else None
        if due.healthy is None:
            return None
        healthy = [each for each in held if each.epoch <= min(due.healthy, epoch)]
        return healthy[-1] if healthy else held[0]

    def get(self, held: HeldState) -> State:
        """The state itself."""
        return self._store.get(held.key)

    def newest(self) -> State:
        """The newest state that is held, in the middle of a round."""
        return self.get(self._after[1][-1])

    def best_score(self) -> float:
        """What a state must be better than to be held as the best, in the middle of a round."""
        return self._after[1][-1].score

    def begin(self, index: int, epoch: int, state: State) -> None:
        """A round begins in this state: none that is held is newer, and one is there."""
        held = tuple(each for each in self._held(index) if each.epoch <= epoch)
        if not held or (self.start_from == "before" and self._is_due(held, epoch)):
            held = self._with(held, HeldState(epoch, -math.inf, self._store.put(state)))
        self._before, self._after = (index, held), (index + 1, held)
        self._store.keep_only([each.key for each in held])

    def next_due(self, epoch: int) -> int | None:
        """After how many epochs the next snapshot is taken; None: it does not depend on that."""
        if self.start_from == "before":
            return (epoch // self._every + 1) * self._every
        return None if self.start_from == "here" else epoch + 1

    def look(self, epoch: int, worth: Callable[[], float], state: Callable[[], State]) -> None:
        """Keep the state that the main line is in after this epoch, where that is wanted."""
        index, held = self._after
        if self.start_from == "before" and self._is_due(held, epoch):
            held = self._with(held, HeldState(epoch, -math.inf, self._store.put(state())))
        elif self.start_from == "best":
            score = worth()
            if math.isfinite(score) and score > held[-1].score:
                held = (HeldState(epoch, score, self._store.put(state())),)
        if held is not self._after[1]:
            self._after = index, held
            # Should the round be interrupted, those from before it are needed again.
            self._store.keep_only([each.key for each in (*self._before[1], *held)])

    def _is_due(self, held: _Held, epoch: int) -> bool:
        return epoch % self._every == 0 and held[-1].epoch != epoch

    def _with(self, held: _Held, new: HeldState) -> _Held:
        return (*held, new)[-self._k :]

    def grown(self, index: int) -> list[dict[str, Any]]:
        """What the round of this index, under way, has made of what is held; none: nothing yet."""
        unchanged = self._after[0] != index + 1 or self._after[1] is self._before[1]
        return [] if unchanged else self.plain(index + 1)

    def plain(self, index: int) -> list[dict[str, Any]]:
        """All that is held before the round of this index, with the states."""
        return [
            {
                "epoch": each.epoch,
                "score": each.score if math.isfinite(each.score) else None,
                "state": self.get(each),
            }
            for each in self._held(index)
        ]

    def load(self, index: int, before: Iterable[Any], growing: Iterable[Any] = ()) -> None:
        """Take back what ``plain`` gave: before a round, and in the middle of it."""
        self._before = self._after = (index, self._loaded(before))
        if held := self._loaded(growing):
            self._after = (index + 1, held)

    def _loaded(self, plain: Iterable[Any]) -> _Held:
        return tuple(
            HeldState(
                int(each["epoch"]),
                -math.inf if each["score"] is None else float(each["score"]),
                self._store.put(each["state"]),
            )
            for each in plain
        )
